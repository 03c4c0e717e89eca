"""The overflow store on disk: a small SQLite file beside the run's journal.

Every put reaches the disk before it returns (`synchronous=FULL`): the journal is written after it and
into another file, so a power cut must not be able to keep the stub and lose the body.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from redraft.dialects.stubs import DISK, body_bytes, body_id
from redraft.errors import OverflowDamagedError, OverflowMissingError, OverflowStoreError
from redraft.store.overflow import GRACE, Pruned, closure, damaged, only, read_body
from redraft.store.packing import packed, unpacked
from redraft.store.transactions import transaction

__all__ = ["OVERFLOW", "SQLiteOverflow"]

OVERFLOW = "overflow.db"
"""The file's name in a run's directory."""

_VERSION = 1
"""The schema version, kept in the file's `user_version`."""

_APPLICATION = 0x52444F46
"""The file's `application_id`: "RDOF"."""

_WAIT = 10.0
"""Seconds to wait where another connection is at work."""

_MAGIC = b"SQLite format 3\0"

_TABLES = (
    """
    CREATE TABLE body (
        id   TEXT PRIMARY KEY,
        at   REAL NOT NULL,
        form INTEGER NOT NULL,
        data BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE cites (
        body  TEXT NOT NULL REFERENCES body (id) ON DELETE CASCADE,
        cited TEXT NOT NULL,
        PRIMARY KEY (body, cited)
    ) WITHOUT ROWID
    """,
)

_PLAIN, _PACKED = 0, 1


class SQLiteOverflow:
    """Keeps bodies in a file, packed and each once. Any number of processes may use one file.

    Args:
        path: the file, by convention `overflow.db` in the run's directory. Made at the first put, with
            its directory; nothing is left behind where nothing was put.
        clock: seconds since the epoch, for ages.
    """

    storage = DISK

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._guard = threading.RLock()
        self._opened: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._guard:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    # -- in --------------------------------------------------------------------------------------

    def put(self, body: str, cites: Iterable[str] = ()) -> str:
        """See `Overflow.put`. Put again, a body counts as new for a prune."""
        name, now, data = body_id(body), self._clock(), body_bytes(body)
        with self._changing() as database:
            row = database.execute("UPDATE body SET at = ? WHERE id = ?", (now, name))
            if row.rowcount == 0 or not self._sound(database, name):
                form, kept = _form(data)
                database.execute(
                    "INSERT OR REPLACE INTO body (id, at, form, data) VALUES (?, ?, ?, ?)",
                    (name, now, form, kept),
                )
            pairs = [(name, one) for one in cites]
            database.executemany("INSERT OR IGNORE INTO cites (body, cited) VALUES (?, ?)", pairs)
        return name

    def _sound(self, database: sqlite3.Connection, name: str) -> bool:
        """Whether what is kept under an id is its body: a damaged one is written anew."""
        try:
            _read(database, name)
        except OverflowStoreError:
            return False
        return True

    def adopt(self, other: SQLiteOverflow, names: Iterable[str]) -> None:
        """Take bodies over from another run's store, with those that they cite; a fork needs them.

        Args:
            other: the store of the run that was forked.
            names: the ids that the fork's context cites.
        """
        cites = other.citing()
        for name in sorted(closure(names, cites)):
            # One may be from another session, or damaged: then reading it here says the same.
            with contextlib.suppress(OverflowMissingError, OverflowDamagedError):
                self.put(other.read(name), cites.get(name, ()))

    # -- out -------------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        """See `Overflow.read`."""
        with self._reading(name) as database:
            return _read(database, _named(database, name))

    def named(self, name: str) -> str:
        """See `Overflow.named`."""
        with self._reading(name) as database:
            return _named(database, name)

    def citing(self) -> dict[str, tuple[str, ...]]:
        """What each body cites, for those that cite any."""
        if not self._exists():
            return {}
        with self._using() as database:
            return _citing(database)

    def prune(
        self,
        cited: Iterable[str],
        *,
        max_age: float | None = None,
        max_bytes: int | None = None,
        grace: float = GRACE,
    ) -> Pruned:
        """See `Overflow.prune`. Sizes are those of the packed bodies."""
        if not self._exists():
            return Pruned((), 0, 0)
        now = self._clock()
        with self._changing() as database:
            kept = closure(cited, _citing(database))
            rows = database.execute(
                "SELECT id, at, length(data) FROM body ORDER BY at, id"
            ).fetchall()
            size, gone = sum(row[2] for row in rows), []
            for name, at, length in rows:
                age = now - at
                if name in kept or age < grace:
                    continue
                old = max_age is not None and age >= max_age
                if old or (max_bytes is not None and size > max_bytes):
                    gone.append(name)
                    size -= length
            database.executemany("DELETE FROM body WHERE id = ?", [(name,) for name in gone])
        return Pruned(tuple(gone), len(rows) - len(gone), size)

    # -- the file --------------------------------------------------------------------------------

    def _exists(self) -> bool:
        return self._opened is not None or self._path.is_file()

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[sqlite3.Connection]:
        if not self._exists():
            only(name, ())
        with self._using() as database:
            yield database

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on the disk at the end, or nothing has changed."""
        with self._using() as database, transaction(database):
            yield database

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            try:
                if self._opened is None:
                    self._opened = _open(self._path)
                yield self._opened
            except sqlite3.Error as error:
                raise OverflowStoreError(
                    f"the overflow store {self._path} cannot be used ({error}); make room on its disk or "
                    "check its rights, then go on. Nothing was changed."
                ) from error


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise OverflowStoreError(
            error.errno,
            f"the overflow store cannot be opened ({error.strerror}); check the place",
            str(path),
        ) from error
    # SQLite takes a file of a few bytes for an empty database, and would write over it.
    if start not in (b"", _MAGIC):
        raise _foreign(path)
    database = sqlite3.connect(path, isolation_level=None, timeout=_WAIT, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        _migrate(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _migrate(database: sqlite3.Connection, path: Path) -> None:
    if _version(database, path) == _VERSION:
        return
    with transaction(database):
        if _version(database, path) == 0:  # another process may have made it while this one waited
            for statement in _TABLES:
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")


def _version(database: sqlite3.Connection, path: Path) -> int:
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != _APPLICATION and (application or version or tables):
        raise _foreign(path)
    if version > _VERSION:
        raise OverflowStoreError(
            f"{path} has schema version {version}, and this redraft reads up to {_VERSION}; install a "
            "newer redraft."
        )
    return version


def _foreign(path: Path) -> OverflowStoreError:
    return OverflowStoreError(f"{path} is no overflow store of redraft; check the path.")


def _form(data: bytes) -> tuple[int, bytes]:
    """How bytes are kept: packed where that makes them smaller."""
    small = packed(data)
    return (_PACKED, small) if len(small) < len(data) else (_PLAIN, data)


def _read(database: sqlite3.Connection, name: str) -> str:
    row = database.execute("SELECT form, data FROM body WHERE id = ?", (name,)).fetchone()
    if row is None:
        only(name, ())
    form, kept = row
    try:
        data = unpacked(kept) if form == _PACKED else bytes(kept)
    except (AttributeError, TypeError, ValueError) as error:
        raise damaged(name) from error
    return read_body(name, data)


def _named(database: sqlite3.Connection, name: str) -> str:
    """By range and not by `LIKE`: what a model gives holds no pattern, and the index is used."""
    rows = database.execute(
        "SELECT id FROM body WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", (name, f"{name}g")
    ).fetchall()
    return only(name, (row[0] for row in rows))


def _citing(database: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    cites: dict[str, tuple[str, ...]] = {}
    for body, cited in database.execute("SELECT body, cited FROM cites"):
        cites[body] = (*cites.get(body, ()), cited)
    return cites
