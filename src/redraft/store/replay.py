"""From the record back to what was sent: the input of each model call, every version of a turn, and
which calls were edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from redraft.context import Commit, Turn
from redraft.dialects import Dialect, Frame
from redraft.store.base import (
    Appended,
    Committed,
    EditSpan,
    Entry,
    Rehomed,
    Released,
    Sent,
    Started,
)

__all__ = ["Input", "MarkedEdit", "edits", "inputs", "versions"]


@dataclass(frozen=True, slots=True)
class Input:
    """What one model call was given.

    Attributes:
        sent: the entry that announced it.
        frame: tools and parameters.
        turns: the turns, in order; with the frame they join to the request.
    """

    sent: Sent
    frame: Frame
    turns: tuple[Turn, ...]

    def body(self, dialect: Dialect) -> dict[str, Any]:
        """The request as it was sent, byte for byte, mends included.

        Args:
            dialect: the wire format of the session.
        """
        body = dialect.join(self.frame, [turn.content for turn in self.turns])
        mended = self.sent.mended
        if mended is not None:
            natives = body[dialect.turns_field]
            sent = [*natives[: mended.start], *mended.natives, *natives[mended.end :]]
            body[dialect.turns_field] = sent
        return {**body, **self.sent.added}


def inputs(entries: Iterable[Entry]) -> Iterator[Input]:
    """The exact input of every model call, from nothing but the record.

    Args:
        entries: a journal's entries, from the start.
    """
    frame = Frame()
    turns: tuple[Turn, ...] = ()
    older: tuple[Turn, ...] | None = None  # what goes on being sent while revisions are queued
    for entry in entries:
        match entry:
            case Started():
                frame, turns, older = entry.frame, entry.turns, None
            case Appended():
                turns = (*turns, *entry.turns)
                older = None if older is None else (*older, *entry.turns)
            case Committed(commit=commit, queued=queued):
                older = (turns if older is None else older) if queued else None
                turns = _after(turns, commit)
            case Released():
                older = None
            case Rehomed(turns=new):
                frame = entry.frame or frame
                by_number = {turn.number: turn for turn in new}
                turns = tuple(by_number.get(turn.number, turn) for turn in turns)
                older = None if new else older
            case Sent():
                yield Input(entry, frame, turns if older is None else older)


def _after(turns: tuple[Turn, ...], commit: Commit) -> tuple[Turn, ...]:
    """The turns after a commit: its moves say which go and come, their places say where."""
    gone = {move.old.number for move in commit.moves if move.old is not None}
    kept = [turn for turn in turns if turn.number not in gone]
    kept.extend(move.new for move in commit.moves if move.new is not None)
    return tuple(sorted(kept, key=lambda turn: turn.place))


def versions(entries: Iterable[Entry]) -> dict[int, list[Turn]]:
    """Every version that each turn ever had, oldest first, by number."""
    found: dict[int, list[Turn]] = {}
    for entry in entries:
        match entry:
            case Started(turns=turns) | Appended(turns=turns) | Rehomed(turns=turns):
                pass
            case Committed(commit=commit):
                turns = tuple(move.new for move in commit.moves if move.new is not None)
            case _:
                continue
        for turn in turns:
            known = found.setdefault(turn.number, [])
            if turn not in known:
                known.append(turn)
    return found


@dataclass(frozen=True, slots=True)
class MarkedEdit:
    """An edit of the model's, and the tokens that it chose for it.

    Attributes:
        committed: the revision that came of it.
        turn: the assistant turn whose calls made it, as the model wrote it.
        spans: where in these calls the command stands; see `EditSpan`.
    """

    committed: Committed
    turn: Turn
    spans: tuple[EditSpan, ...]

    def texts(self) -> tuple[str, ...]:
        """The command's text of each span, as it stands on the wire."""
        calls = {call.index: call.arguments for call in self.turn.content.calls}
        return tuple(calls[span.place][span.start : span.end] for span in self.spans)


def edits(entries: Iterable[Entry]) -> Iterator[MarkedEdit]:
    """Which calls were edits that passed, and where in them the edit stands.

    Args:
        entries: a journal's entries, from the start.
    """
    newest: Turn | None = None
    for entry in entries:
        match entry:
            case Appended(turns=turns):
                replies = [turn for turn in turns if turn.content.calls]
                newest = replies[-1] if replies else newest
            case Committed(edit_spans=spans) if spans and newest is not None:
                yield MarkedEdit(entry, newest, spans)
