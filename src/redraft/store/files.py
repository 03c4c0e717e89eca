"""A journal's file: opened to write or to read, and its troubles in words."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from redraft.errors import JournalError
from redraft.store.bodies import Bodies
from redraft.store.lock import WriterLock, writer_of
from redraft.store.schema import VERSION, migrate, version_of
from redraft.store.troubles import of_system

__all__ = [
    "JOURNAL",
    "LOCK",
    "Transaction",
    "locked",
    "opened_to_read",
    "opened_to_write",
    "read_meta",
    "reading",
]

JOURNAL = "journal.db"
"""The file's name in a run's directory."""

LOCK = "lock"
"""The name of the lock file beside it."""

_MAGIC = b"SQLite format 3\0"

_STILL = "mode=ro&immutable=1"

_OUTSIDE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}

_WAIT = 10.0
"""Seconds to wait where another connection is at work; a reader never waits for a writer."""


def locked(directory: Path) -> WriterLock:
    """Make a run's directory, private to its owner, and take the right to write to it."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise of_system(
            error,
            f"the run's directory {directory} cannot be made ({error.strerror}); name another place.",
        ) from error
    return WriterLock(directory / LOCK)


def opened_to_write(path: Path) -> sqlite3.Connection:
    """Open a journal file, making or migrating it where need be."""
    database = _connected(path)
    with _opening(path, database):
        path.chmod(0o600)
        mode = database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        # With a write-ahead log a killed process loses nothing, and a power cut the last moments.
        # Some file systems have no such log; there every commit must reach the disk.
        database.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' else 'FULL'}")
        migrate(database)
    return database


def opened_to_read(path: Path) -> sqlite3.Connection:
    """Open a journal file and change nothing in it; one of an older version is migrated in memory."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}; check the run's name.")
    database = _looked_into(path)
    with _opening(path, database):
        version = version_of(database)
        if version == 0:
            raise JournalError("nothing was recorded in this journal; start the run again.")
        if version < VERSION:
            database = _in_memory(database)
            migrate(database)
        database.execute("PRAGMA query_only = ON")
    return database


def _looked_into(path: Path) -> sqlite3.Connection:
    # Where SQLite cannot put its files beside it, one that nobody changes has no need of them.
    wal = path.with_name(f"{path.name}-wal")
    still = not os.access(path.parent, os.W_OK) and not wal.exists()
    database = _connected(path, _STILL if still else "mode=rw")
    try:
        database.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        logged = wal.exists() and wal.stat().st_size
        if still or logged or not _no_room(error) or writer_of(path.parent / LOCK) is not None:
            return database  # whoever reads it next says what is wrong
        database.close()
        database = _connected(path, _STILL)
    return database


def _no_room(error: sqlite3.Error) -> bool:
    """Whether the fault is with the disk or the rights, and not with what the file holds."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OUTSIDE


def _connected(path: Path, how: str = "mode=rwc") -> sqlite3.Connection:
    # SQLite takes a file of a few bytes for an empty database, and would write over it.
    if path.is_file() and not _begins_well(path):
        raise JournalError(f"{path} is no journal; check the path, or restore the run from a copy.")
    # A session may be used from one thread after another; the journal has a lock of its own.
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?{how}",
            uri=True,
            isolation_level=None,
            timeout=_WAIT,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise JournalError(
            f"{path} cannot be opened ({error}); check that it may be written to."
        ) from error


def _begins_well(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise of_system(
            error, f"the journal {path} cannot be read ({error.strerror}); check its rights."
        ) from error
    return start in (b"", _MAGIC)


def _in_memory(database: sqlite3.Connection) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with contextlib.closing(database):
        database.backup(copy)
    return copy


@contextlib.contextmanager
def _opening(path: Path, database: sqlite3.Connection) -> Iterator[None]:
    """Close the file again where it turns out to be of no use, and say which file it was."""
    try:
        yield
    except sqlite3.Error as error:
        database.close()
        todo = "restore it from a copy, or check the path and the room on its disk."
        if _no_room(error):
            todo = "make room on its disk, or check its rights."
        raise JournalError(f"{path} cannot be used as a journal ({error}); {todo}") from error
    except JournalError as error:
        database.close()
        raise JournalError(f"{path}: {error}") from None


def read_meta(database: sqlite3.Connection) -> dict[str, Any]:
    """What the file says of its run, by name."""
    rows = database.execute("SELECT key, value FROM meta").fetchall()
    return {key: json.loads(value) for key, value in rows}


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Reading a damaged file is an error of the journal's."""
    try:
        yield
    except (sqlite3.Error, json.JSONDecodeError) as error:
        raise JournalError(
            f"the journal cannot be read ({error}); restore the run from a copy."
        ) from error


class Transaction:
    """All or nothing, in the file and in what is remembered of it."""

    def __init__(self, database: sqlite3.Connection, bodies: Bodies) -> None:
        self._database = database
        self._bodies = bodies

    def __enter__(self) -> None:
        if self._database.in_transaction:  # an interrupt came before the last one could end
            self._undo()
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _unwritable(error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._database.execute("COMMIT")
                self._bodies.keep()
                return
        except sqlite3.Error as failed:
            self._undo()
            raise _unwritable(failed) from failed
        self._undo()
        if isinstance(error, (sqlite3.Error, OverflowError)):
            raise _unwritable(error) from error

    def _undo(self) -> None:
        # SQLite has rolled back by itself after some errors, a full disk among them.
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._bodies.forget()


def _unwritable(error: Exception) -> JournalError:
    return JournalError(
        f"the journal cannot be written ({error}); make room on its disk or check its rights, then go "
        "on. Nothing was changed."
    )
