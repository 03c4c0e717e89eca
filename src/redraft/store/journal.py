"""The durable journal of one run: a SQLite file that only grows. See `docs/design/journal.md`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from redraft.dialects import Dialect
from redraft.errors import JournalError
from redraft.events import CommandStarted
from redraft.store.base import (
    Appended,
    Committed,
    Entry,
    Handed,
    Held,
    Pinned,
    Refused,
    Rehomed,
    Sent,
    Started,
    Told,
)
from redraft.store.encoding import encode, kind_of
from redraft.store.files import (
    JOURNAL,
    Transaction,
    locked,
    opened_to_read,
    opened_to_write,
    reading,
)
from redraft.store.packing import packed, to_bytes
from redraft.store.reader import JournalReader, Logged
from redraft.store.summary import CLOSED, FIRST, RUNNING, note
from redraft.store.unbroken import unbroken
from redraft.tokens import Meter

__all__ = ["SQLiteJournal"]

_PROMPT = (Appended, Committed, Handed, Pinned, Refused, Rehomed, Sent, Started)
"""Entries that somebody relies on once they are recorded. What a session and its watchers only note
down becomes durable with the next of these, in the same transaction."""

_MOST_WAITING = 64


class SQLiteJournal(JournalReader):
    """A `Journal` in a directory of its own: `journal.db` and a lock.

    Usable from any thread, one after another.

    Args:
        directory: made where it is missing, for its owner alone.
        dialect: the wire format of the carriers; by default what the file says, or OpenAI's chat
            format for a new one.
        meter: counts what comes after the entries in the file; by default the fastest.
        write: whether to take the right to write. A reader is never blocked and blocks nobody.
        clock: gives the time of an entry.

    Raises:
        JournalLockedError: another process writes to it.
        JournalError: the file cannot be opened, is no journal, is from a newer redraft, or holds
            another wire format.
    """

    def __init__(
        self,
        directory: Path,
        *,
        dialect: Dialect | None = None,
        meter: Meter | None = None,
        write: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.directory = Path(directory)
        self._clock = clock
        self._owner = os.getpid()
        self._waiting: list[tuple[float, Entry]] = []
        self._summary: dict[str, object] = {}
        self._lock = locked(self.directory) if write else None
        try:
            opened = opened_to_write if write else opened_to_read
            database = opened(self.directory / JOURNAL)
            try:
                super().__init__(database, dialect, meter)
            except BaseException:
                database.close()
                raise
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise

    @property
    def writable(self) -> bool:
        """Whether this journal holds the right to write and is open."""
        return self._lock is not None

    @property
    def blank(self) -> bool:
        """Whether nothing was recorded so far."""
        with self._guard, reading():
            query = "SELECT EXISTS (SELECT 1 FROM entry)"
            return not (self._waiting or self._database.execute(query).fetchone()[0])

    # -- writing ---------------------------------------------------------------------------------

    def record(self, entry: Entry) -> None:
        """Record `entry`. What changes the context is durable when this returns, and with it all
        that was recorded before; what only says something follows with the next such entry.

        Raises:
            JournalError: it could not be written (a full disk, say); nothing of it was, and it can
                be tried again.
        """
        with self._guard:
            self._must_be_ours()
            self._waiting.append((self._clock(), entry))
            if not _is_prompt(entry):
                if len(self._waiting) >= _MOST_WAITING:
                    self._flush_if_possible()
                return
            try:
                self.flush()
            except BaseException:
                if self._waiting and self._waiting[-1][1] is entry:
                    self._waiting.pop()
                raise

    def flush(self) -> None:
        """Make durable what waits; raises `JournalError`."""
        with self._guard:
            self._must_be_ours()
            if self._waiting:
                with unbroken():
                    self._write(self._waiting)
                    self._waiting = []

    def extend(self, entries: Iterable[tuple[float, Entry]]) -> None:
        """Record entries of another journal with their own times, all of them or none."""
        with self._guard:
            self.flush()
            with unbroken():
                self._write(entries)

    def _flush_if_possible(self) -> None:
        """Nobody relies on what waits here, so a full disk is reported by the entry that matters."""
        try:
            self.flush()
        except JournalError:
            return

    def _write(self, entries: Iterable[tuple[float, Entry]]) -> None:
        about: dict[str, object] = {"dialect": self._dialect.name}
        with Transaction(self._database, self._bodies):
            rows: list[tuple[float, str, bytes]] = []
            for at, entry in entries:
                rows.append((at, kind_of(entry), packed(to_bytes(encode(entry, self._bodies)))))
                note(about, entry, at)
                if len(rows) >= _MOST_WAITING:
                    self._put_rows(rows)
                    rows = []
            self._put_rows(rows)
            new = {name: value for name, value in about.items() if self._is_new(name, value)}
            self._put_meta(new)
        self._summary |= new

    def _is_new(self, name: str, value: object) -> bool:
        """Whether the file does not say so of the run already, as far as this process knows."""
        return name not in self._summary or self._summary[name] != value

    def _put_rows(self, rows: Iterable[tuple[float, str, bytes]]) -> None:
        self._database.executemany("INSERT INTO entry (at, kind, data) VALUES (?, ?, ?)", rows)

    def set_meta(self, **values: object) -> None:
        """Keep what else is to be known of the run, JSON values by name; durable at once.

        The journal itself keeps `dialect`, `model`, `tag`, `task`, `started`, `status` and `why`.
        """
        with self._guard:
            self._must_be_ours()
            with Transaction(self._database, self._bodies):
                self._put_meta(values)
            self._summary = {}

    def _put_meta(self, values: Mapping[str, object]) -> None:
        for key, value in values.items():
            verb = "IGNORE" if key in FIRST else "REPLACE"
            self._database.execute(
                f"INSERT OR {verb} INTO meta (key, value) VALUES (?, ?)", (key, json.dumps(value))
            )

    def _must_be_ours(self) -> None:
        if self._lock is None:
            raise JournalError(
                "this journal was opened to be read, or is closed; open it to write."
            )
        if os.getpid() != self._owner:
            raise JournalError(
                f"this journal belongs to process {self._owner}; a process that was forked from it needs "
                "a run of its own."
            )

    # -- reading ---------------------------------------------------------------------------------

    def log(self, after: int = 0) -> Iterator[Logged]:
        """The rows of the log behind number `after`, in order, as plain values.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        with self._guard:
            if self.writable and os.getpid() == self._owner:
                self._flush_if_possible()
        return super().log(after)

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what waits, and let go of the file; closing twice does nothing.

        Raises:
            JournalError: what waits could not be written; the file is closed all the same.
        """
        with self._guard:
            if os.getpid() != self._owner:  # the file and its lock are the parent's
                return
            try:
                if self._lock is not None:
                    self.flush()
                    if self.meta().get("status") == RUNNING:
                        self.set_meta(status=CLOSED)
            finally:
                self._waiting = []
                self._database.close()
                if self._lock is not None:
                    self._lock.release()
                    self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _is_prompt(entry: Entry) -> bool:
    match entry:
        case Held(contents=contents):  # once they are in the context they need no telling
            return bool(contents)
        case Told(event=event):
            return isinstance(event, CommandStarted)
    return isinstance(entry, _PROMPT)
