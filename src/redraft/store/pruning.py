"""Pruning a run's overflow store: what nothing cites any more may go, also while the run is going on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from redraft.context import Turn
from redraft.store.base import Appended, Committed, Entry, Rehomed, Started
from redraft.store.citing import citations
from redraft.store.files import JOURNAL
from redraft.store.journal import SQLiteJournal
from redraft.store.overflow import GRACE, Pruned
from redraft.store.overflow_file import OVERFLOW, SQLiteOverflow

__all__ = ["cited_in", "prune_overflow"]


def cited_in(entries: Iterable[Entry]) -> frozenset[str]:
    """The ids that a run's context cites, or could cite again after an undo.

    Once a client has rewritten its history nothing in front of that can be undone, so only what came
    since counts.

    Args:
        entries: a journal's entries, from the start.
    """
    cited: frozenset[str] = frozenset()
    for entry in entries:
        turns: tuple[Turn, ...] = ()
        match entry:
            case Started():
                cited, turns = frozenset(), entry.turns
            case Appended() | Rehomed():
                turns = entry.turns
            case Committed(commit=commit):
                turns = tuple(move.new for move in commit.moves if move.new is not None)
        cited |= citations(turns)
    return cited


def prune_overflow(
    directory: Path,
    *,
    max_age: float | None = None,
    max_bytes: int | None = None,
    grace: float = GRACE,
) -> Pruned:
    """Remove bodies of a run that nothing cites. The run may be going on: a body is put before the
    journal cites it, and one that was just put stays whatever is asked.

    Args:
        directory: the run's directory.
        max_age, max_bytes, grace: see `redraft.store.Overflow.prune`.

    Raises:
        JournalError: the run's record cannot be read; then nothing is known of what cites, and nothing
            is removed.
        OverflowStoreError: the store cannot be read or written.
    """
    if not ((directory / OVERFLOW).is_file() and (directory / JOURNAL).is_file()):
        return Pruned((), 0, 0)
    with SQLiteJournal(directory, write=False) as journal:
        cited = cited_in(journal.entries())
    with SQLiteOverflow(directory / OVERFLOW) as overflow:
        return overflow.prune(cited, max_age=max_age, max_bytes=max_bytes, grace=grace)
