"""What a revision changed, as data: each turn before and after it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.context import Receipt, Turn
from redraft.errors import JournalError
from redraft.store.decoding import receipt_of
from redraft.store.journal import SQLiteJournal
from redraft.store.reader import Logged

__all__ = ["RevisionDiff", "RevisionInfo", "TurnDiff", "diff", "revisions", "shown"]


@dataclass(frozen=True, slots=True)
class RevisionInfo:
    """One revision that passed.

    Attributes:
        number: its number.
        at: when, in seconds since 1970 (UTC).
        author, source: who proposed it and by what means.
        receipt: what became of it, in raw tokens.
    """

    number: int
    at: float
    author: str
    source: str
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class TurnDiff:
    """What became of one turn.

    Attributes:
        number: the turn.
        old, new: the turn before and after; None where there was or is none.
    """

    number: int
    old: Turn | None
    new: Turn | None

    @property
    def old_text(self) -> str:
        """What a reader saw of it before; "" where there was none."""
        return shown(self.old) if self.old else ""

    @property
    def new_text(self) -> str:
        """What a reader sees of it after; "" where there is none."""
        return shown(self.new) if self.new else ""

    def lines(self, context: int = 3) -> list[str]:
        """A unified diff, without line ends.

        Args:
            context: unchanged lines around each change.
        """
        return list(
            difflib.unified_diff(
                self.old_text.splitlines(),
                self.new_text.splitlines(),
                _heading(self.old, self.number),
                _heading(self.new, self.number),
                n=context,
                lineterm="",
            )
        )


@dataclass(frozen=True, slots=True)
class RevisionDiff:
    """One revision, and what it changed, in the context's order.

    Attributes:
        info: the revision.
        turns: each turn that it changed, removed or added.
    """

    info: RevisionInfo
    turns: tuple[TurnDiff, ...]


def revisions(journal: SQLiteJournal) -> Iterator[RevisionInfo]:
    """The revisions of a run that passed, oldest first. Loads no turns.

    Args:
        journal: the run, open to read or to write.
    """
    return (_info(logged) for logged in journal.log() if logged.kind == "committed")


def diff(journal: SQLiteJournal, revision: int) -> RevisionDiff:
    """What one revision changed.

    Args:
        journal: the run, open to read or to write.
        revision: the revision's number.

    Raises:
        JournalError: there is no such revision, or it cannot be read.
    """
    numbers: list[int] = []
    for logged in journal.log():
        if logged.kind != "committed":
            continue
        numbers.append(logged.values["number"])
        if numbers[-1] == revision:
            return RevisionDiff(_info(logged), tuple(_turns(journal, logged.values["moves"])))
    known = f"there are 1 to {numbers[-1]}" if numbers else "none has been applied so far"
    raise JournalError(f"there is no revision {revision} in this run; {known}.")


def _info(logged: Logged) -> RevisionInfo:
    revision: Mapping[str, Any] = logged.values["revision"]
    return RevisionInfo(
        logged.values["number"],
        logged.at,
        revision["author"],
        revision["source"],
        receipt_of(logged.values["receipt"]),
    )


def _turns(journal: SQLiteJournal, moves: Sequence[Sequence[int | None]]) -> Iterator[TurnDiff]:
    for old_key, new_key, _ in moves:
        old = None if old_key is None else journal.turn(old_key)
        new = None if new_key is None else journal.turn(new_key)
        turn = old or new
        if turn is not None:
            yield TurnDiff(turn.number, old, new)


def shown(turn: Turn) -> str:
    """A turn as text for a person: its words, its calls with their arguments, its parts."""
    content = turn.content
    pieces = [content.text] if content.text else []
    pieces += (f"[part: {part.label}]" for part in content.parts)
    pieces += (f"[call {call.id}: {call.name}]\n{call.arguments}" for call in content.calls)
    return "\n".join(pieces)


def _heading(turn: Turn | None, number: int) -> str:
    if turn is None:
        return "/dev/null"
    return f"turn {number} {turn.role}, {turn.origin}, {turn.tokens} tokens"
