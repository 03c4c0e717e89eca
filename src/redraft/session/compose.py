"""What a round's results look like to the model: output, receipts, notices, and the readout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from redraft import prompts
from redraft.budget import cap_output
from redraft.dialects import Content, Dialect
from redraft.session.controller import Controller
from redraft.session.core import Core

__all__ = ["NOTHING", "Around", "Composed", "compose", "fitting", "shares", "size_of", "wrapped"]

Around = Mapping[int, Callable[[str], str]]
"""What stands around an output and is never cut, by the place of its turn."""

NOTHING: Around = MappingProxyType({})

NUDGE_ROOM = 128
"""Raw tokens that a nudge may take; the longest of ours has fewer."""

READOUT_ROOM = 32
"""Raw tokens that a readout may take, with the line break in front of it."""

MARKER_ROOM = 48
"""Raw tokens kept for the line that says what was left out, so that no output vanishes unseen."""

_PIECE = 2_048
_SAMPLES = 64
_CHARS = 16
"""Characters for which a token of room is kept; text longer than that is not counted to its end."""


@dataclass(frozen=True, slots=True)
class Composed:
    """Turns, ready to append.

    Attributes:
        contents: the turns.
        measured: how many of their raw tokens are receipts, notices, readouts, and results that
            redraft wrote itself.
        changed: (call id, whole output) of what the model will not read letter by letter.
        told: whether the receipts and notices found their place.
    """

    contents: tuple[Content, ...]
    measured: int
    changed: tuple[tuple[str, str], ...]
    told: bool


def compose(
    controller: Controller,
    contents: Sequence[Content],
    lines: Sequence[str],
    own: Collection[int] = (),
    around: Around = NOTHING,
) -> Composed:
    """Dress the tool results among the turns that a round brings.

    Outputs are cut to what fits; whatever imitates a notice of redraft in them is escaped. Every
    result shows the context's size without itself; receipts and notices stand once, in the newest that
    can hold words: a screenshot cannot.

    Args:
        controller: the budget, and with it the session's state after the round's edits.
        contents: the turns, results with the tool's whole output; turns of other roles stay as they
            are.
        lines: receipts and notices for the newest result.
        own: places of results that redraft wrote; nothing in them is escaped.
        around: what stands around an output and is never cut; such a turn counts as a result, whatever
            its role.
    """
    return _Round(controller, contents, lines, own, around).composed()


def fitting(controller: Controller, text: str, room: int, *, own: bool = False) -> str:
    """An output as it may join a result that stands already: cut to what fits.

    Args:
        controller: the budget.
        text: the output.
        room: raw tokens that are free, as far as is known.
        own: whether redraft wrote it; then nothing in it is escaped.
    """
    one = _Round(controller, (), (), (0,) if own else (), NOTHING)
    escaped = text if own else prompts.defuse(text, controller.tag)
    return one.cut({0: escaped}, room - NUDGE_ROOM - READOUT_ROOM)[0]


def wrapped(dialect: Dialect, contents: Sequence[Content], around: Around) -> list[Content]:
    """Turns with what stands around their outputs, and nothing else changed."""
    return [
        dialect.write(content, around[at](content.text), (), content.parts)
        if at in around
        else content
        for at, content in enumerate(contents)
    ]


@dataclass(slots=True)
class _Round:
    controller: Controller
    contents: Sequence[Content]
    lines: Sequence[str]
    own: Collection[int]
    around: Around

    @property
    def core(self) -> Core:
        return self.controller.core

    @property
    def tag(self) -> str:
        return self.controller.tag

    def composed(self) -> Composed:
        places = [
            at
            for at, content in enumerate(self.contents)
            if content.role == "tool" or at in self.around
        ]
        texts = {at: self._escaped(at) for at in places}
        kept = self._capped(texts)
        changed = tuple(
            (content.answers or "", content.text)
            for at, content in enumerate(self.contents)
            if at in kept and at not in self.own and kept[at] != content.text
        )
        meter, live = self.core.live.meter, self.core.live
        bare = [
            self._with_text(content, "" if at in self.own else kept.get(at, content.text))
            for at, content in enumerate(self.contents)
        ]
        intake = sum(map(meter.content, bare))
        place = max(filter(self._takes_words, places), default=-1)
        said = [*self.lines, *self._nudge(live.tokens + intake)] if place >= 0 else []
        done: list[Content] = []
        used = live.tokens
        for at, content in enumerate(self.contents):
            if at in kept:
                newest = said if at == place else []
                text = self.around[at](kept[at]) if at in self.around else kept[at]
                content = self._with_text(content, self._dressed(text, newest, used))
            done.append(content)
            used += meter.content(content)
        return Composed(tuple(done), used - live.tokens - intake, changed, place >= 0)

    def _takes_words(self, at: int) -> bool:
        return self._with_text(self.contents[at], ".").text == "."

    def _escaped(self, at: int) -> str:
        text = self.contents[at].text
        return text if at in self.own else prompts.defuse(text, self.tag)

    def _capped(self, texts: Mapping[int, str]) -> dict[int, str]:
        """Each output, as much of it as fits beside everything else that comes with the round."""
        return self.cut(texts, self._room(texts))

    def cut(self, texts: Mapping[int, str], room: int) -> dict[int, str]:
        """Each output, as much of it as fits into `room` raw tokens."""
        count, room = self.core.live.meter.text, max(room, 0)
        sizes = [size_of(text, count, room) for text in texts.values()]
        given = dict(zip(texts, shares(sizes, room), strict=True))
        for at, size in zip(texts, sizes, strict=True):
            if at not in self.own:
                self.controller.saw(size)
            given[at] = max(given[at], min(size, MARKER_ROOM))
        return {
            at: cap_output(text, given[at], count, self._marker)[0] for at, text in texts.items()
        }

    def _marker(self, left_out: int) -> str:
        return prompts.cut_marker(left_out, self.tag)

    def _room(self, texts: Mapping[int, str]) -> int:
        """Raw tokens for the outputs together."""
        core, meter = self.core, self.core.live.meter
        rest = sum(
            meter.content(replace(content, text="") if at in texts else content)
            for at, content in enumerate(self.contents)
        )
        said = sum(meter.text(line) + 1 for line in self.lines) + NUDGE_ROOM
        said += sum(meter.text(dress("")) + 1 for dress in self.around.values())
        return core.raw_limit - core.live.tokens - rest - said - READOUT_ROOM * len(texts)

    def _nudge(self, raw: int) -> list[str]:
        nudge = self.controller.nudge(raw)
        if nudge is None:
            return []
        return [prompts.nudge_notice(nudge, self.core.shown(raw), self.core.limit, self.tag)]

    def _dressed(self, text: str, said: Sequence[str], used: int) -> str:
        readout = prompts.readout_line(self.core.shown(used), self.core.limit, self.tag)
        return "\n".join(part for part in (text.rstrip("\r\n"), *said, readout) if part)

    def _with_text(self, content: Content, text: str) -> Content:
        if text == content.text:
            return content
        return self.core.live.dialect.write(content, text, (), content.parts)


def size_of(text: str, count: Callable[[str], int], room: int) -> int:
    """Tokens of `text`: counted where it may fit into `room`, else estimated from even samples."""
    if len(text) <= max(room * _CHARS, _SAMPLES * _PIECE):
        return count(text)
    stride = len(text) // _SAMPLES
    seen = sum(count(text[at : at + _PIECE]) for at in range(0, _SAMPLES * stride, stride))
    return max(seen * len(text) // (_SAMPLES * _PIECE), 1)


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """How much room each output gets: small ones whole, large ones an equal part of the rest.

    Args:
        sizes: tokens of each output.
        room: tokens for all of them.
    """
    given = [0] * len(sizes)
    left = max(room, 0)
    waiting = sorted(range(len(sizes)), key=lambda at: sizes[at])
    for done, at in enumerate(waiting):
        given[at] = min(sizes[at], left // (len(waiting) - done))
        left -= given[at]
    return given
