"""The durable journal of one run: a SQLite file that only grows. See `docs/design/journal.md`."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from redraft.context import Live
from redraft.dialects import Dialect, Frame
from redraft.errors import JournalError
from redraft.store.base import Account, Entry, Told
from redraft.store.bodies import Bodies
from redraft.store.encoding import Decoder, encode, kind_of
from redraft.store.lock import WriterLock
from redraft.store.schema import migrate, version_of
from redraft.tokens import Meter

__all__ = ["Logged", "SQLiteJournal"]

_LAZY = (Told, Account)
"""Entries that confirm nothing to anybody: they become durable with the next one that does."""

_MOST_LAZY = 64


@dataclass(frozen=True, slots=True)
class Logged:
    """One row of the log.

    Attributes:
        seq: its number, from 1.
        at: when, in seconds since 1970 (UTC).
        kind: `appended`, `committed`, `told`, ...
        values: its values, with references to turns and bodies.
    """

    seq: int
    at: float
    kind: str
    values: Mapping[str, Any]


class SQLiteJournal:
    """A `Journal` in a directory of its own: `journal.db` and its lock.

    Args:
        directory: made where it is missing, for its owner alone.
        dialect: the wire format of the carriers.
        meter: counts turns of the live context that is built again.
        write: whether to take the right to write. A reader is never blocked and blocks nobody.
        clock: gives the time of an entry.

    Raises:
        JournalLockedError: another process writes to it.
        JournalError: the file cannot be opened, is none of ours, or is from a newer redraft.
    """

    def __init__(
        self,
        directory: Path,
        *,
        dialect: Dialect,
        meter: Meter | None = None,
        write: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.directory = directory
        self._dialect = dialect
        self._meter = meter
        self._clock = clock
        self._waiting: list[tuple[float, Entry]] = []
        self._lock = _locked(directory) if write else None
        try:
            self._database = _connected(directory / "journal.db", write=write)
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise
        self._bodies = Bodies(self._database, dialect)

    # -- writing ---------------------------------------------------------------------------------

    def record(self, entry: Entry) -> None:
        """Record `entry` and all that waited for it; durable when this returns.

        Raises:
            JournalError: it could not be written (a full disk, say); nothing of it was.
        """
        self._waiting.append((self._clock(), entry))
        if isinstance(entry, _LAZY) and len(self._waiting) < _MOST_LAZY:
            return
        try:
            self.flush()
        except JournalError:
            if self._waiting and self._waiting[-1][1] is entry:
                self._waiting.pop()
            raise

    def flush(self) -> None:
        """Make durable what waits; raises `JournalError`."""
        if not self._waiting:
            return
        with self._transaction():
            for at, entry in self._waiting:
                values = json.dumps(encode(entry, self._bodies), separators=(",", ":"))
                self._database.execute(
                    "INSERT INTO entry (at, kind, data) VALUES (?, ?, ?)",
                    (at, kind_of(entry), values),
                )
        self._waiting.clear()

    def set_meta(self, **values: object) -> None:
        """Keep what the run is: model, budget, task, how it stands. JSON values by name."""
        with self._transaction():
            self._database.executemany(
                "INSERT INTO meta (key, value) VALUES (?, ?)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [(key, json.dumps(value)) for key, value in values.items()],
            )

    def _transaction(self) -> _Transaction:
        return _Transaction(self._database, self._bodies)

    # -- reading ---------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """What the run is, by name."""
        rows = self._database.execute("SELECT key, value FROM meta").fetchall()
        return {key: json.loads(value) for key, value in rows}

    def log(self, after: int = 0) -> Iterator[Logged]:
        """The rows of the log behind number `after`, in order, as plain values."""
        rows = self._database.execute(
            "SELECT seq, at, kind, data FROM entry WHERE seq > ? ORDER BY seq", (after,)
        )
        for seq, at, kind, data in rows:
            yield Logged(seq, at, kind, json.loads(data))

    def value(self, name: str) -> Any:
        """A body by its name, as rows of the log refer to it."""
        return self._bodies.load_value(name)

    def entries(self) -> Iterator[Entry]:
        """Every entry again, in order; commits hold the live context that they made.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        decoder = Decoder(self._bodies, self._empty)
        for logged in self.log():
            try:
                yield decoder.decode(logged.kind, dict(logged.values))
            except (KeyError, TypeError, ValueError) as error:
                raise JournalError(
                    f"entry {logged.seq} ({logged.kind}) cannot be read: {error!r}; restore the "
                    "journal from a copy."
                ) from error

    def _empty(self, frame: Frame) -> Live:
        meter = self._meter or Meter()
        cost = meter.frame(frame)
        return Live(self._dialect, meter, frame, (), 0, cost, 1, frame_tokens=cost)

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what waits, and let go of the file; closing twice does nothing."""
        if self._lock is not None:
            try:
                self.flush()
            finally:
                self._database.close()
                self._lock.release()
                self._lock = None
        else:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Transaction:
    """All or nothing, in the file and in what is remembered of it."""

    def __init__(self, database: sqlite3.Connection, bodies: Bodies) -> None:
        self._database = database
        self._bodies = bodies

    def __enter__(self) -> None:
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _trouble(error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._database.execute("COMMIT")
                return
        except sqlite3.Error as failed:
            self._undo()
            raise _trouble(failed) from failed
        self._undo()
        if isinstance(error, sqlite3.Error):
            raise _trouble(error) from error

    def _undo(self) -> None:
        # SQLite has rolled back by itself after some errors, a full disk among them.
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._bodies.forget()


def _trouble(error: sqlite3.Error) -> JournalError:
    return JournalError(
        f"the journal cannot be written ({error}); make room on the disk or check its rights. Nothing "
        "was changed, so the run can be resumed."
    )


def _locked(directory: Path) -> WriterLock:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(
            error.errno, f"the run's directory cannot be made ({error.strerror})", str(directory)
        ) from error
    return WriterLock(directory / "lock")


def _connected(path: Path, *, write: bool) -> sqlite3.Connection:
    try:
        if not write and not path.exists():
            raise JournalError(f"there is no journal at {path}; check the run's name.")
        database = sqlite3.connect(path, isolation_level=None, timeout=10.0)
        if write:
            path.chmod(0o600)
            database.execute("PRAGMA journal_mode = WAL")
            # A killed process loses nothing; a power cut may lose the last moments.
            database.execute("PRAGMA synchronous = NORMAL")
            migrate(database)
        else:
            database.execute("PRAGMA query_only = ON")
            version_of(database)
    except sqlite3.Error as error:
        raise JournalError(f"{path} cannot be opened as a journal: {error}.") from error
    return database
