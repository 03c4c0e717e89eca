"""A memory's file: opened, migrated, changed in transactions, and its troubles in words."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from redraft.errors import MemoryStoreError
from redraft.store.runs import runs_home
from redraft.store.transactions import transaction

__all__ = ["MEMORY", "SECURE_DELETE", "MemoryFile", "memory_path"]

MEMORY = "memory.db"
"""The file's name, by convention."""

SECURE_DELETE = (3, 42)
"""The version of SQLite from which its text index forgets a word at once."""

_VERSION = 2
"""The schema version, kept in the file's `user_version`."""

_APPLICATION = 0x52444D45
"""The file's `application_id`: "RDME"."""

_WAIT = 10.0
"""Seconds to wait where another connection is at work."""

_MAGIC = b"SQLite format 3\0"

# An item's words as a JSON list; none of them has blanks or quotes. The empty word stands for the item.
_LISTED = """json_each('["","' || replace({0}.terms, ' ', '","') || '"]')"""

_FIRST = (
    # AUTOINCREMENT: the number of an item that was forgotten never names another one.
    """
    CREATE TABLE item (
        id        INTEGER PRIMARY KEY AUTOINCREMENT,
        at        REAL NOT NULL,
        expires   REAL,
        task_type TEXT NOT NULL,
        terms     TEXT NOT NULL,
        body      TEXT NOT NULL
    )
    """,
    "CREATE INDEX item_at ON item (at, id)",
    "CREATE INDEX item_task ON item (task_type, at, id)",
    "CREATE INDEX item_expires ON item (expires) WHERE expires IS NOT NULL",
    """
    CREATE TABLE mark (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        PRIMARY KEY (kind, name, item)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX mark_item ON mark (item)",
    """
    CREATE TABLE band (
        key  INTEGER NOT NULL,
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        PRIMARY KEY (key, item)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX band_item ON band (item)",
    """
    CREATE TABLE vector (
        item  INTEGER PRIMARY KEY REFERENCES item (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        data  BLOB NOT NULL
    )
    """,
    # The words are made by `memory_words.terms`, so the tokenizer has nothing to do but split at blanks.
    """
    CREATE VIRTUAL TABLE word USING fts5 (
        terms, content = 'item', content_rowid = 'id', tokenize = 'ascii'
    )
    """,
    "CREATE VIRTUAL TABLE word_count USING fts5vocab ('word', 'row')",
    """
    CREATE TRIGGER item_in AFTER INSERT ON item BEGIN
        INSERT INTO word (rowid, terms) VALUES (new.id, new.terms);
    END
    """,
    """
    CREATE TRIGGER item_out AFTER DELETE ON item BEGIN
        INSERT INTO word (word, rowid, terms) VALUES ('delete', old.id, old.terms);
    END
    """,
    """
    CREATE TRIGGER item_new AFTER UPDATE OF terms ON item BEGIN
        INSERT INTO word (word, rowid, terms) VALUES ('delete', old.id, old.terms);
        INSERT INTO word (rowid, terms) VALUES (new.id, new.terms);
    END
    """,
    # A word that was forgotten must not be found in the index's free pages either.
    "INSERT INTO word (word, rank) VALUES ('secure-delete', 1)",
    """
    CREATE TABLE state (
        session   TEXT NOT NULL,
        version   INTEGER NOT NULL,
        at        REAL NOT NULL,
        task_type TEXT NOT NULL,
        body      TEXT NOT NULL,
        PRIMARY KEY (session, version)
    )
    """,
    "CREATE INDEX state_task ON state (task_type, at)",
)

_COUNTED = f"""
    INSERT INTO frequency (term, items) SELECT DISTINCT value, 1 FROM {_LISTED.format("new")} WHERE true
        ON CONFLICT (term) DO UPDATE SET items = items + 1;
"""

_UNCOUNTED = f"""
    UPDATE frequency SET items = items - 1 WHERE term IN (SELECT value FROM {_LISTED.format("old")});
    DELETE FROM frequency
        WHERE items < 1 AND term IN (SELECT value FROM {_LISTED.format("old")});
"""

# How many items have a word: FTS5 would read all of them to say so, a millisecond for each ten thousand.
_SECOND = (
    "SELECT value FROM json_each('[]')",  # fails at once where the triggers would fail later
    "CREATE TABLE frequency (term TEXT PRIMARY KEY, items INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO frequency (term, items) SELECT term, doc FROM word_count",
    "INSERT INTO frequency (term, items) SELECT '', n FROM (SELECT count(*) AS n FROM item) WHERE n",
    f"CREATE TRIGGER frequency_in AFTER INSERT ON item BEGIN {_COUNTED} END",
    f"CREATE TRIGGER frequency_out AFTER DELETE ON item BEGIN {_UNCOUNTED} END",
    f"CREATE TRIGGER frequency_new AFTER UPDATE OF terms ON item BEGIN {_UNCOUNTED} {_COUNTED} END",
    "DROP TABLE word_count",
)

_STEPS = (_FIRST, _SECOND)
"""What leads from each schema version to the next."""


def memory_path(env: Mapping[str, str] | None = None) -> Path:
    """The memory that the command line uses: `memory.db` beside the directory of all runs.

    That is `$REDRAFT_HOME/memory.db`, by default `~/.local/state/redraft/memory.db`.

    Args:
        env: the environment; by default the process's.
    """
    return runs_home(env).parent / MEMORY


class MemoryFile:
    """One connection, opened at its first use. Any number of processes may use one file.

    Args:
        path: the file; None for a memory that ends with the process.
        prepare: called with each connection when it is opened.
    """

    def __init__(self, path: Path | None, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path
        self._prepare = prepare
        self._guard = threading.RLock()
        self._opened: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._guard:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on the disk at the end, or nothing has changed."""
        with self.using() as database, transaction(database):
            yield database

    @contextlib.contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        with self._guard:
            try:
                if self._opened is None:
                    self._opened = _open(self._path)
                    self._prepare(self._opened)
                yield self._opened
            except (sqlite3.Error, OverflowError) as error:
                mend = (
                    "make room on its disk, check its rights or restore it from a copy, then go on"
                )
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                    mend = "another process is writing to it; try again when that is done"
                raise MemoryStoreError(
                    f"the memory {self._path or 'of this process'} cannot be used ({error}); {mend}. "
                    "Nothing was changed."
                ) from error


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        _ready(path)
    database = sqlite3.connect(
        path or ":memory:", isolation_level=None, timeout=_WAIT, check_same_thread=False
    )
    try:
        # Every item reaches the disk before it is said to be kept.
        for setting in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
        ):
            database.execute(f"PRAGMA {setting}")
        _migrate(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _ready(path: Path) -> None:
    """Make the file where there is none, for its owner alone; SQLite's files beside it take its rights."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        made = MemoryStoreError(
            f"the memory {path} cannot be opened ({error.strerror}); check the place and its rights, or "
            "name another."
        )
        made.errno = error.errno
        raise made from error
    # SQLite takes a file of a few bytes for an empty database, and would write over it.
    if start not in (b"", _MAGIC):
        raise _foreign(path)


def _migrate(database: sqlite3.Connection, path: Path | None) -> None:
    if _version(database, path) == _VERSION:
        return
    with transaction(database):
        # Read again: another process may have been here while this one waited.
        for step in _STEPS[_version(database, path) :]:
            for statement in step:
                _made(database, statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")


def _made(database: sqlite3.Connection, statement: str) -> None:
    try:
        database.execute(statement)
    except sqlite3.OperationalError as error:
        missing = re.search(r"no such (?:module|table|function): (fts5|json_each)", str(error))
        if missing:
            what = "full-text search (FTS5)" if missing[1] == "fts5" else "functions for JSON"
            raise MemoryStoreError(
                f"this Python's SQLite has no {what}, which a memory needs; use a Python "
                "whose SQLite has it, such as those of python.org and of the common distributions."
            ) from error
        if "'secure-delete'" in statement and sqlite3.sqlite_version_info < SECURE_DELETE:
            return
        raise


def _version(database: sqlite3.Connection, path: Path | None) -> int:
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != _APPLICATION and (application or version or tables):
        raise _foreign(path)
    if version > _VERSION:
        raise MemoryStoreError(
            f"{path} has schema version {version}, and this redraft reads up to {_VERSION}; install a "
            "newer redraft."
        )
    return version


def _foreign(path: Path | None) -> MemoryStoreError:
    return MemoryStoreError(f"{path} is no memory of redraft; check the path.")
