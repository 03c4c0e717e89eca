"""The command of an edit that was applied, in one line: a model's own edits are not paid twice.

What a command wrote stands in the context once the edit is applied, and it stands in the command too,
for as long as the turn lives. Right after its round the command is behind everything that the server
has read: the edit broke the prefix in front of it. So one line in its place costs nobody another look
at old text. Later it would, and so a command that had to wait goes only where an edit breaks the prefix
in front of it anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from redraft.context import RECEIPT_CAP, Change, Draft, Gate, Live, Origin, Revision, Turn
from redraft.context.groups import group_at
from redraft.context.plan import reach
from redraft.dialects import Call
from redraft.dialects.arguments import parse_object
from redraft.dialects.capabilities import capabilities_of
from redraft.errors import DialectError
from redraft.prompts.elided import elided_notice
from redraft.prompts.tags import opening
from redraft.session.core import Core, Judged

__all__ = ["MEASURED", "SOURCE", "Elisions", "Issued", "elided", "is_patient", "is_wanted"]

SOURCE = "elide"
"""The source of these revisions; their author is the harness."""

MEASURED: Mapping[str, bool] = {
    "anthropic": True,
    "fenced-chat": True,
    "gemini": True,
    "openai-chat": True,
    "openai-responses": True,
}
"""Whether eliding pays, by wire format: bench/elide.py, and the table in docs/design/session.md."""

Words = Callable[[Call], Callable[[str], bool] | None]
"""Of a call: which of the strings in its arguments are an edit; None where it can be none."""


def is_wanted(setting: Literal["auto", "on", "off"], dialect_name: str) -> bool:
    """Whether commands are elided at all.

    Args:
        setting: `Settings.elide_edits`.
        dialect_name: the wire format.
    """
    return MEASURED.get(dialect_name, False) if setting == "auto" else setting == "on"


def is_patient(model: str, dialect_name: str) -> bool:
    """Whether the model's reasoning minds what stands in front of it or beside it, so that nothing
    may change inside of an exchange that is open. A wire format that is not known is taken to mind.

    Args:
        model: the model's name.
        dialect_name: the wire format.
    """
    try:
        return capabilities_of(model, dialect_name).reasoning != "free"
    except DialectError:
        return True


@dataclass(frozen=True, slots=True)
class Issued:
    """An assistant turn whose calls made edits that were applied.

    Attributes:
        turn: the turn, as the model wrote it.
        edits: place of the call -> number of the edit that it made.
    """

    turn: Turn
    edits: Mapping[int, int] = field(default_factory=dict)


def elided(live: Live, issued: Issued, tag: str, words: Words) -> Draft | None:
    """The turn with its edits' commands in one line each; None where that makes it no smaller.

    Only what edited and did nothing else is elided: a command that printed something explains its
    output. Arguments keep their form; what is not the edit's stays as it is.

    Args:
        live: the live context, in which the turn stands and its calls have their results.
        issued: the turn.
        tag: the session's tag.
        words: what of a call is an edit.
    """
    turn, content = issued.turn, issued.turn.content
    silent = set(_silent(live, turn, tag))
    calls = tuple(
        _shortened(live, call, elided_notice(issued.edits[call.index], tag), words(call))
        if call.index in issued.edits and call.index in silent
        else call
        for call in content.calls
    )
    if calls == content.calls:
        return None
    written = live.dialect.write(content, content.text, calls, content.parts)
    origin = Origin.EDITED if turn.origin is Origin.ORIGINAL else turn.origin
    draft = live.draft(written, origin)
    return draft if draft.tokens < turn.tokens else None


def _silent(live: Live, turn: Turn, tag: str) -> Iterator[int]:
    """Places of the calls whose result is nothing but redraft's own words. Nobody else's can begin
    like these: see `redraft.prompts.defuse`."""
    group = group_at(live.turns, live.positions()[turn.number])
    for result in group.turns[1:]:
        text = result.content.text
        if not result.content.parts and (not text or text.startswith(opening(tag))):
            yield group.pairs[result.number]


def _shortened(live: Live, call: Call, notice: str, is_edit: Callable[[str], bool] | None) -> Call:
    """The call with `notice` for each string that is an edit and longer than that."""
    if is_edit is None:
        return call
    count = live.meter.text
    room = count(notice)

    def put(value: Any) -> Any:
        if isinstance(value, str):
            return notice if is_edit(value) and count(value) > room else value
        if isinstance(value, dict):
            return {key: put(item) for key, item in value.items()}
        return [put(item) for item in value] if isinstance(value, list) else value

    if call.free:
        return replace(call, arguments=put(call.arguments))
    arguments = parse_object(call.arguments)
    shorter = None if arguments is None else put(arguments)
    if shorter is None or shorter == arguments:
        return call
    return replace(call, arguments=json.dumps(shorter, ensure_ascii=False))


class Elisions:
    """The commands that wait to be elided, and the revision that does it.

    Args:
        core: the session's state.
        tag: the session's tag.
        words: what of a call is an edit.
        wanted: whether anything is elided.
        patient: whether an exchange must have ended first; see `is_patient`.

    Attributes:
        waiting: turns that edited, by number.
    """

    def __init__(self, core: Core, tag: str, words: Words, *, wanted: bool, patient: bool) -> None:
        self.waiting: dict[int, Issued] = {}
        self._core = core
        self._tag = tag
        self._words = words
        self._wanted = wanted
        self._patient = patient

    def issued(self, number: int, places: Sequence[int], live: Live | None = None) -> None:
        """Remember that calls of the round in progress made an edit that was applied.

        Args:
            number: the edit's number.
            places: the calls; nothing is remembered where there are none.
            live: the context right after the edit; by default the one of now.
        """
        live = live or self._core.live
        if not self._wanted or not places or live.open_at == len(live.turns):
            return
        turn = live.turns[live.open_at]
        known = self.waiting.get(turn.number, Issued(turn))
        edits = {**known.edits, **dict.fromkeys(places, number)}
        self.waiting[turn.number] = Issued(turn, edits)

    def recall(self, calls: Mapping[int, Sequence[int]]) -> None:
        """Remember what another process did.

        Args:
            calls: number of an edit -> places of the calls that made it. Its commit must be known to
                the core.
        """
        commits = self._core.commits
        for number, places in calls.items():
            if number in commits:
                self.issued(number, places, commits[number].live)
        done = [commit for commit in commits.values() if commit.revision.source == SOURCE]
        for change in (change for commit in done for change in commit.revision.changes):
            self.waiting.pop(change.number, None)

    def apply(self, sent: Sequence[Turn]) -> Judged | None:
        """Elide what may be elided now, all of it in one revision that frees more than it costs.

        Args:
            sent: the turns of the last request; what the context still begins with is not touched.

        Returns:
            what became of it; None where there was nothing to do.
        """
        if not self.waiting:
            return None
        live = self._core.live
        changes = tuple(self._changes(live, reach(sent, live.turns).first))
        freed = sum(
            self.waiting[change.number].turn.tokens - change.new.tokens
            for change in changes
            if change.new is not None
        )
        if freed <= RECEIPT_CAP:
            return None
        # One try each: what a check of the client's refuses once, it would refuse before each request.
        for change in changes:
            del self.waiting[change.number]
        return self._core.propose(Revision("harness", SOURCE, changes, gate=Gate.CONSERVE))

    def _changes(self, live: Live, start: int) -> Iterator[Change]:
        """What may be elided at or behind position `start`. What can never be is forgotten."""
        positions = live.positions()
        for number, issued in list(self.waiting.items()):
            at = positions.get(number)
            if at is None or live.turns[at] is not issued.turn:
                del self.waiting[number]
            elif start <= at < live.open_at and self._may_change(live, at):
                draft = elided(live, issued, self._tag, self._words)
                if draft is None:
                    del self.waiting[number]
                else:
                    yield Change(number, issued.turn.digest, draft)

    def _may_change(self, live: Live, at: int) -> bool:
        return not live.holds(at) and (not self._patient or live.turns[at].number < live.answered)
