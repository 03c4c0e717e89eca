"""The durable journal of one run: a SQLite file that only grows. See `docs/design/journal.md`."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from redraft.context import Live
from redraft.dialects import Dialect, Frame
from redraft.errors import JournalError
from redraft.events import CommandStarted
from redraft.store.base import (
    Appended,
    Committed,
    Entry,
    Handed,
    Held,
    Opened,
    Pinned,
    Refused,
    Rehomed,
    Sent,
    Started,
    Told,
)
from redraft.store.bodies import Bodies
from redraft.store.decoding import Decoder
from redraft.store.encoding import encode, kind_of
from redraft.store.files import (
    JOURNAL,
    Transaction,
    locked,
    opened_to_read,
    opened_to_write,
    reading,
)
from redraft.store.formats import dialect_named
from redraft.store.summary import FIRST, summary_of
from redraft.store.unbroken import unbroken
from redraft.tokens import Meter

__all__ = ["Logged", "Recorded", "SQLiteJournal", "Tail"]

_PROMPT = (Appended, Committed, Handed, Pinned, Refused, Rehomed, Sent, Started)
"""Entries that somebody relies on once they are recorded. What a session and its watchers only note
down becomes durable with the next of these, in the same transaction."""

_MOST_WAITING = 64
_PACK_FROM = 1_024
_PAGE = 256
_ENCODER = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Logged:
    """One row of the log.

    Attributes:
        seq: its number, from 1.
        at: when, in seconds since 1970 (UTC).
        kind: `appended`, `committed`, `told`, ...
        values: its values, with keys of turns and bodies.
    """

    seq: int
    at: float
    kind: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One entry of the log, with its number from 1 and its time in seconds since 1970 (UTC)."""

    seq: int
    at: float
    entry: Entry


class SQLiteJournal:
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
        self._meter = meter or Meter()
        self._clock = clock
        self._owner = os.getpid()
        self._guard = threading.RLock()
        self._waiting: list[tuple[float, Entry]] = []
        self._lock = locked(self.directory) if write else None
        try:
            opened = opened_to_write if write else opened_to_read
            self._database = opened(self.directory / JOURNAL)
            try:
                self._dialect = self._agreed(dialect)
                self._bodies = Bodies(self._database, self._dialect)
            except BaseException:
                self._database.close()
                raise
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise

    def _agreed(self, dialect: Dialect | None) -> Dialect:
        """The dialect that the file and the caller agree on; a new file takes the caller's."""
        known = self.meta().get("dialect")
        if known is None or dialect is None or dialect.name == known:
            return dialect or dialect_named(known)
        raise JournalError(
            f"this run speaks {known}, not {dialect.name}; open it with its own dialect, or with none."
        )

    # -- writing ---------------------------------------------------------------------------------

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

    @property
    def meter(self) -> Meter:
        """Counts what comes after the entries in the file."""
        return self._meter

    @property
    def dialect(self) -> Dialect:
        """The wire format of the carriers."""
        return self._dialect

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
        with Transaction(self._database, self._bodies):
            for at, entry in entries:
                if isinstance(entry, Opened):
                    self._put_meta({"dialect": self._dialect.name})
                text = _ENCODER.encode(encode(entry, self._bodies))
                data: str | bytes = text
                if len(text) >= _PACK_FROM:
                    data = zlib.compress(text.encode())
                self._database.execute(
                    "INSERT INTO entry (at, kind, data) VALUES (?, ?, ?)", (at, kind_of(entry), data)
                )
                self._put_meta(summary_of(entry, at))

    def set_meta(self, **values: object) -> None:
        """Keep what else is to be known of the run, JSON values by name; durable at once.

        The journal itself keeps `dialect`, `model`, `task`, `started`, `status` and `why`.
        """
        with self._guard:
            self._must_be_ours()
            with Transaction(self._database, self._bodies):
                self._put_meta(values)

    def _put_meta(self, values: Mapping[str, object]) -> None:
        for key, value in values.items():
            verb = "IGNORE" if key in FIRST else "REPLACE"
            self._database.execute(
                f"INSERT OR {verb} INTO meta (key, value) VALUES (?, ?)", (key, json.dumps(value))
            )

    def _must_be_ours(self) -> None:
        if self._lock is None:
            raise JournalError("this journal was opened to be read, or is closed; open it to write.")
        if os.getpid() != self._owner:
            raise JournalError(
                f"this journal belongs to process {self._owner}; a process that was forked from it needs "
                "a run of its own."
            )

    # -- reading ---------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """What is known of the run, by name; reads no entries."""
        with self._guard, reading():
            rows = self._database.execute("SELECT key, value FROM meta").fetchall()
        return {key: json.loads(value) for key, value in rows}

    def log(self, after: int = 0) -> Iterator[Logged]:
        """The rows of the log behind number `after`, in order, as plain values.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        while rows := self._page(after):
            for seq, at, kind, data in rows:
                try:
                    text = zlib.decompress(data) if isinstance(data, bytes) else data
                    yield Logged(seq, at, kind, json.loads(text))
                except (ValueError, TypeError, zlib.error) as error:
                    raise _unreadable(seq, kind, error) from error
            after = rows[-1][0]

    def _page(self, after: int) -> list[tuple[int, float, str, Any]]:
        # Pages, and no statement that stays open: it would keep the write-ahead log growing.
        with self._guard, reading():
            return self._database.execute(
                "SELECT seq, at, kind, data FROM entry WHERE seq > ? ORDER BY seq LIMIT ?",
                (after, _PAGE),
            ).fetchall()

    def value(self, key: int) -> Any:
        """A body by its key, as rows of the log name it."""
        with self._guard, reading():
            return self._bodies.load_value(key)

    def entries(self) -> Iterator[Entry]:
        """Every entry again, in order; commits hold the live context that they made.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        return (recorded.entry for recorded in self.tail().new())

    def tail(self) -> Tail:
        """The log from its start, and then whatever is added to it."""
        return Tail(self)

    def decoder(self) -> Decoder:
        """Reads the values of `log` into entries, from the first row on."""
        return Decoder(self._bodies, self._empty)

    def _empty(self, frame: Frame, tokens: int) -> Live:
        return Live(self._dialect, self._meter, frame, (), 0, tokens, 1, frame_tokens=tokens)

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what waits, and let go of the file; closing twice does nothing.

        Raises:
            JournalError: what waits could not be written; the file is closed all the same.
        """
        with self._guard:
            if self._lock is None or os.getpid() != self._owner:
                if os.getpid() == self._owner:
                    self._database.close()
                return
            try:
                self.flush()
            finally:
                self._waiting = []
                self._database.close()
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


class Tail:
    """A place in a journal's log, for those who follow it.

    Args:
        journal: the journal, open to read or to write.
    """

    def __init__(self, journal: SQLiteJournal) -> None:
        self._journal = journal
        self._decoder = journal.decoder()
        self._seq = 0

    @property
    def live(self) -> Live | None:
        """The live context after the entries so far; None before there is one."""
        return self._decoder.live

    def new(self) -> Iterator[Recorded]:
        """The entries that were added since the last one that this gave.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        for logged in self._journal.log(self._seq):
            try:
                with reading():
                    entry = self._decoder.decode(logged.kind, dict(logged.values))
            except JournalError as error:
                raise JournalError(f"entry {logged.seq} ({logged.kind}): {error}") from error
            except (LookupError, TypeError, ValueError) as error:
                raise _unreadable(logged.seq, logged.kind, error) from error
            self._seq = logged.seq
            yield Recorded(logged.seq, logged.at, entry)


def _is_prompt(entry: Entry) -> bool:
    match entry:
        case Held(contents=contents):  # once they are in the context they need no telling
            return bool(contents)
        case Told(event=event):
            return isinstance(event, CommandStarted)
    return isinstance(entry, _PROMPT)


def _unreadable(seq: int, kind: str, error: Exception) -> JournalError:
    return JournalError(
        f"entry {seq} ({kind}) cannot be read ({error!r}); restore the run from a copy, or fork it at "
        "an earlier revision."
    )
