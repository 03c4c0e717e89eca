"""A run of its own from another one's log, up to a revision."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from redraft.errors import JournalError
from redraft.store.base import Account, Committed, Entry, Opened, Stated, Told
from redraft.store.files import JOURNAL
from redraft.store.journal import SQLiteJournal
from redraft.store.overflow_file import OVERFLOW, SQLiteOverflow
from redraft.store.pruning import cited_in
from redraft.store.reader import Tail
from redraft.store.summary import SUMMARY

__all__ = ["LENT", "fork"]

LENT = "lent"
"""In what a fork was set up with: whether its context file's place still belongs to another run."""

_SAYING = (Account, Stated, Told)


def fork(source: SQLiteJournal, directory: Path, *, at: int | None = None) -> int:
    """Copy a run's log up to a revision into a new run, which can be resumed by itself.

    The copy ends with the revision's round, where no other revision came in that round; else right
    behind the revision, and calls that were open there count as interrupted.

    Args:
        source: the run, open to read or to write; it may be running.
        directory: where the new run goes; it must not hold one (see `redraft.store.runs.new_run`).
        at: the revision's number; 0 for the time before the first; None for all of the log.

    Returns:
        how many entries were copied.

    Raises:
        JournalError: there is no such revision, or the copy cannot be written.
    """
    if (directory / JOURNAL).exists():
        raise JournalError(f"{directory} holds a run already; name another place.")
    last = _end(source.tail(), at)
    try:
        return _copied(source, directory, last, at)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _copied(source: SQLiteJournal, directory: Path, last: int, at: int | None) -> int:
    with SQLiteJournal(directory, dialect=source.dialect, meter=source.meter) as copy:
        opened: Opened | None = None
        count = 0

        def entries() -> Iterator[tuple[float, Entry]]:
            nonlocal opened, count
            when = 0.0
            for recorded in takewhile(lambda each: each.seq <= last, source.tail().new()):
                entry, when = recorded.entry, recorded.at
                opened = entry if isinstance(entry, Opened) else opened
                count += 1
                yield when, entry
            if opened is None:
                raise JournalError("there is no session in this run; nothing can be forked.")
            yield when, Opened({**opened.values, LENT: True})

        copy.extend(entries())
        known = {name: value for name, value in source.meta().items() if name not in SUMMARY}
        copy.set_meta(**{**known, "forked_from": source.directory.name, "forked_at": at})
    adopted(source.directory, directory)
    return count


def adopted(source: Path, directory: Path) -> None:
    """Take over the bodies of the overflow store that a fork's context cites, or could after an undo.

    Raises:
        OverflowStoreError: one of the stores cannot be used.
    """
    if not (source / OVERFLOW).is_file():
        return
    with SQLiteJournal(directory, write=False) as copy:
        cited = cited_in(copy.entries())
    with (
        SQLiteOverflow(source / OVERFLOW) as old,
        SQLiteOverflow(directory / OVERFLOW) as new,
    ):
        new.adopt(old, cited)


def _end(tail: Tail, at: int | None) -> int:
    """The number of the last row that belongs to the fork."""
    end, known = 0, False
    for row in tail.new():
        match row.entry:
            case Committed(number=number) if at in (0, number):
                known = True
                break
        if at is None or not _is_open(tail):
            end = row.seq
    if at is None or at == 0:
        return end
    if not known:
        raise JournalError(f"there is no revision {at} in this run; see `redraft log`.")
    return _rest_of_round(tail, row.seq)


def _rest_of_round(tail: Tail, end: int) -> int:
    """What belongs to a revision behind its own row: what is said of it, and the results of its round
    where no other revision comes before them."""
    waits = _is_open(tail)
    for row in tail.new():
        if isinstance(row.entry, _SAYING):
            end = row.seq
        elif not waits or isinstance(row.entry, Committed):
            break
        elif not _is_open(tail):
            waits, end = False, row.seq
    return end


def _is_open(tail: Tail) -> bool:
    """Whether calls wait for their results."""
    return tail.live is not None and tail.live.open_at < len(tail.live.turns)
