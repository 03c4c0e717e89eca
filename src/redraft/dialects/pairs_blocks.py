"""Calls and results where both are blocks of messages: each call has one result, in front of any words.

The engine of two rules: how Anthropic and Gemini spell these blocks is in a `Spelling`. Messages of one
role that follow each other are one turn here, as the servers read them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from redraft.dialects.base import Native
from redraft.dialects.frames import FRAME, framed
from redraft.dialects.profile import Violation

__all__ = ["Spelling", "find_pairs", "framed_blocks", "mend_pairs"]

Place = tuple[int, int]
"""A message, and a block in it."""


class Spelling(ABC):
    """How a format spells calls and results."""

    together: bool
    """Whether all results of a turn must stand in one message."""

    @abstractmethod
    def speaks(self, message: Native) -> bool:
        """Whether a message is the model's."""

    @abstractmethod
    def hears(self, message: Native) -> bool:
        """Whether a message may hold results."""

    @abstractmethod
    def blocks(self, message: Native) -> Sequence[Native]:
        """Its blocks; none where its content is plain text."""

    @abstractmethod
    def with_blocks(self, message: Native, blocks: list[Native]) -> Native:
        """The same message with other blocks."""

    @abstractmethod
    def new(self, blocks: list[Native]) -> Native:
        """A message of results."""

    @abstractmethod
    def asks(self, block: Native) -> bool:
        """Whether a block of the model's is a call."""

    @abstractmethod
    def answers(self, block: Native) -> bool:
        """Whether a block is a result."""

    @abstractmethod
    def names(self, calls: Sequence[Native]) -> list[str]:
        """What names each call of a turn."""

    @abstractmethod
    def pairing(self, calls: Sequence[Native]) -> Callable[[Native], str]:
        """Tells which call of a turn each result behind it names, in their order."""

    @abstractmethod
    def far_name(self, block: Native) -> str:
        """What names the call of a result that stands far from it; "" where only its place does."""

    @abstractmethod
    def interrupted(self, call: Native) -> Native:
        """A result for a call that has none."""

    @abstractmethod
    def joined(self, one: Native, other: Native) -> Native:
        """One result of two that answer the same call: first pending or aborted, then final."""

    @abstractmethod
    def as_text(self, result: Native) -> list[Native]:
        """What is left of a result without its call: text that says what it is, and its images."""


@dataclass(slots=True)
class _Turn:
    """A turn of the model's and what the user's messages right behind it answer.

    Attributes:
        at: the message with its last call.
        calls, names: its calls.
        heard: the messages behind it that may hold results.
    """

    at: int
    calls: list[Native] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    heard: list[int] = field(default_factory=list)


def _turns(spelling: Spelling, messages: Sequence[Native], start: int) -> Iterator[_Turn]:
    """The turns with calls from `start` on, and what stands in front of the first as one without."""
    turn, spoke = _Turn(start), False
    for at in range(start, len(messages)):
        message = messages[at]
        if spelling.speaks(message):
            if not spoke:
                yield turn
                turn = _Turn(at)
            calls = [block for block in spelling.blocks(message) if spelling.asks(block)]
            turn.calls += calls
            turn.at = at if calls else turn.at
        elif spelling.hears(message):
            turn.heard.append(at)
        else:
            # Somebody else's words end what may be answered; results behind them are strays.
            yield turn
            turn = _Turn(at)
        spoke = spelling.speaks(message)
    yield turn


def find_pairs(
    rule: str, spelling: Spelling, messages: Sequence[Native], start: int
) -> Iterator[Violation]:
    """Calls without a result, results without a call, and results behind words."""
    for turn in _turns(spelling, messages, start):
        yield from _faults(rule, spelling, messages, turn)


def _faults(
    rule: str, spelling: Spelling, messages: Sequence[Native], turn: _Turn
) -> Iterator[Violation]:
    names = spelling.names(turn.calls)
    waiting, closed, home = list(names), not names, -1
    name_of = spelling.pairing(turn.calls)
    for at in turn.heard:
        blocks = spelling.blocks(messages[at])
        closed = closed or not blocks
        for block in blocks:
            if not spelling.answers(block):
                closed = True
                continue
            name = name_of(block)
            home = at if home < 0 else home
            if name in waiting and not closed and (home == at or not spelling.together):
                waiting.remove(name)
            elif name in waiting:
                waiting.remove(name)
                says = (
                    f"the result of call {name!r} must stand with the others, in front of any words"
                )
                yield Violation(rule, at, says)
            elif name in names and not closed:
                yield Violation(rule, at, f"call {name!r} has a result already")
            else:
                yield Violation(rule, at, f"result {name!r} answers no call right before it")
    for name in waiting:
        yield Violation(rule, turn.at, f"call {name!r} has no result after it")


def mend_pairs(spelling: Spelling, messages: Sequence[Native]) -> list[Native]:
    """Results go right behind their turn, in front of any words; a missing one is put in, a second one
    joins the first, a stray one becomes text."""
    mender = _Mender(spelling, messages)
    for turn in _turns(spelling, messages, 0):
        mender.turn(turn)
    return mender.done()


class _Mender:
    """Puts the list together again; messages that keep the rule stay the same objects."""

    def __init__(self, spelling: Spelling, messages: Sequence[Native]) -> None:
        self._spelling = spelling
        self._messages = messages
        self._taken: set[Place] = set()
        self._kept: set[Place] = set()
        self._homes: dict[int, list[Native]] = {}  # results to put in front of a message's blocks
        self._behind: dict[int, list[Native]] = {}  # results to put in a message behind one
        self._far: dict[str, list[Place]] | None = None
        self._uses: dict[str, list[int]] = {}

    def turn(self, turn: _Turn) -> None:
        """Decide where the results of one turn are."""
        spelling, messages = self._spelling, self._messages
        if next(_faults("", spelling, messages, turn), None) is None:
            self._kept.update(self._results(turn))
            return
        found: list[tuple[str, Native]] = []
        waiting = spelling.names(turn.calls)
        name_of = spelling.pairing(turn.calls)
        names = set(waiting)
        for place in self._results(turn):
            block = self._block(place)
            name = name_of(block)
            if name not in names or place in self._taken:
                continue
            self._taken.add(place)
            if name in waiting:
                waiting.remove(name)
                found.append((name, block))
            else:
                self._join(found, name, block)
        found += self._moved(turn, waiting)
        results = [block for _, block in found] + self._missing(turn, waiting)
        if results:
            self._seat(turn, results)

    def _results(self, turn: _Turn) -> list[Place]:
        return [
            (at, place)
            for at in turn.heard
            for place, block in enumerate(self._spelling.blocks(self._messages[at]))
            if self._spelling.answers(block)
        ]

    def _block(self, place: Place) -> Native:
        return self._spelling.blocks(self._messages[place[0]])[place[1]]

    def _join(self, found: list[tuple[str, Native]], name: str, block: Native) -> None:
        at = max(place for place, (known, _) in enumerate(found) if known == name)
        found[at] = (name, self._spelling.joined(found[at][1], block))

    def _moved(self, turn: _Turn, waiting: list[str]) -> list[tuple[str, Native]]:
        """Results that stand further on, in front of the next use of their name."""
        moved: list[tuple[str, Native]] = []
        for name in list(waiting):
            place = self._later(name, max([turn.at, *turn.heard]))
            if place is not None:
                self._taken.add(place)
                waiting.remove(name)
                moved.append((name, self._block(place)))
        return moved

    def _later(self, name: str, at: int) -> Place | None:
        if self._far is None:
            self._far = {}
            self._index(self._far)
        stop = next((use for use in self._uses.get(name, ()) if use > at), len(self._messages))
        for place in self._far.get(name, ()):
            if at < place[0] < stop and place not in self._taken:
                return place
        return None

    def _index(self, far: dict[str, list[Place]]) -> None:
        """Where calls and results stand, by name; made once, and only for a list with a gap."""
        spelling = self._spelling
        for at, message in enumerate(self._messages):
            for place, block in enumerate(spelling.blocks(message)):
                if spelling.speaks(message) and spelling.asks(block):
                    self._uses.setdefault(spelling.names([block])[0], []).append(at)
                elif spelling.hears(message) and spelling.answers(block):
                    far.setdefault(spelling.far_name(block), []).append((at, place))
        far.pop("", None)

    def _missing(self, turn: _Turn, waiting: list[str]) -> list[Native]:
        names = self._spelling.names(turn.calls)
        missing: list[Native] = []
        for name in waiting:
            missing.append(self._spelling.interrupted(turn.calls[names.index(name)]))
        return missing

    def _seat(self, turn: _Turn, results: list[Native]) -> None:
        """In the first message behind the turn if that has results already, else in one of its own:
        never among words that somebody said."""
        first = turn.heard[0] if turn.heard else -1
        has_some = first >= 0 and any(
            map(self._spelling.answers, self._spelling.blocks(self._messages[first]))
        )
        if has_some:
            self._homes[first] = results
        else:
            self._behind[self._last_of(turn)] = results

    def _last_of(self, turn: _Turn) -> int:
        """The last message of the model's turn."""
        at = turn.at
        while at + 1 < len(self._messages) and self._spelling.speaks(self._messages[at + 1]):
            at += 1
        return at

    def done(self) -> list[Native]:
        """The mended list."""
        out: list[Native] = []
        for at, message in enumerate(self._messages):
            new = self._message(at, message)
            if new is not None:
                out.append(new)
            if at in self._behind:
                out.append(self._spelling.new(self._behind[at]))
        return out

    def _message(self, at: int, message: Native) -> Native | None:
        """The message with what is left of its blocks; None where nothing is."""
        spelling = self._spelling
        if not spelling.hears(message):
            return message
        old = spelling.blocks(message)
        blocks = list(self._homes.get(at, ()))
        for place, block in enumerate(old):
            if not spelling.answers(block) or (at, place) in self._kept:
                blocks.append(block)
            elif (at, place) not in self._taken:
                blocks += spelling.as_text(block)
        if len(blocks) == len(old) and all(a is b for a, b in zip(blocks, old, strict=True)):
            return message
        return spelling.with_blocks(message, blocks) if blocks else None


def framed_blocks(
    members: Sequence[Native], key: str, text_block: Callable[[str], Native]
) -> list[Native]:
    """Members of a result that lost its call, with lines around them that say what they are.

    Args:
        members: texts and images, in order.
        key: where a member has its text.
        text_block: makes a member of text.
    """
    if len(members) == 1 and isinstance(members[0].get(key), str):
        return [text_block(framed(members[0][key]))]
    kept = [_defused(member, key) for member in members if not _is_blank(member.get(key))]
    return [text_block(FRAME[0]), *kept, text_block(FRAME[1])]


def _is_blank(text: object) -> bool:
    return isinstance(text, str) and not text.strip()


def _defused(member: Native, key: str) -> Native:
    """A member that cannot pass for the end of its frame."""
    text = member.get(key)
    if not isinstance(text, str):
        return member
    inner = framed(text)
    return {**member, key: inner[len(FRAME[0]) + 1 : len(inner) - len(FRAME[1]) - 1]}
