"""The tables of a journal file, and how an older file becomes a newer one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from redraft.errors import JournalError
from redraft.store.transactions import transaction

__all__ = ["APPLICATION", "STEPS", "VERSION", "migrate", "version_of"]

VERSION = 1
"""The schema version that this redraft writes, kept in the file's `user_version`."""

APPLICATION = 0x52445246
"""The file's `application_id`: "RDRF"."""

_V1 = """
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE body (
    id   INTEGER PRIMARY KEY,
    sha  BLOB NOT NULL UNIQUE,
    data BLOB NOT NULL
);

CREATE TABLE carrier (
    id   INTEGER PRIMARY KEY,
    body INTEGER NOT NULL
);

CREATE TABLE content (
    id       INTEGER PRIMARY KEY,
    role     TEXT NOT NULL,
    seat     TEXT NOT NULL,
    carriers TEXT NOT NULL,
    shown    INTEGER
);

CREATE TABLE turn (
    id        INTEGER PRIMARY KEY,
    number    INTEGER NOT NULL,
    content   INTEGER NOT NULL,
    origin    TEXT NOT NULL,
    tokens    INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    digest    TEXT NOT NULL,
    place     TEXT NOT NULL
);

CREATE TABLE entry (
    seq  INTEGER PRIMARY KEY,
    at   REAL NOT NULL,
    kind TEXT NOT NULL,
    data BLOB NOT NULL
);
"""


def _create(database: sqlite3.Connection) -> None:
    for statement in _V1.split(";"):
        if statement.strip():
            database.execute(statement)


STEPS: Mapping[int, Callable[[sqlite3.Connection], None]] = {0: _create}
"""From each version to the next one. A step that was released never changes."""


def migrate(database: sqlite3.Connection) -> None:
    """Bring a journal file to `VERSION`, in one transaction: all of it or, on any error, nothing.

    Args:
        database: a connection that may write, outside any transaction.

    Raises:
        JournalError: the file comes from a newer redraft, or is no journal.
    """
    version = version_of(database)
    if version == VERSION:
        return
    with transaction(database):
        # Another process may have done it while this one waited.
        for step in range(version_of(database), VERSION):
            STEPS[step](database)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")


def version_of(database: sqlite3.Connection) -> int:
    """The schema version of a file, 0 for an empty one.

    Raises:
        JournalError: it comes from a newer redraft, or is a database of something else.
    """
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION and (application or version or tables):
        raise JournalError("this database is no journal of redraft; check the path.")
    if version > VERSION:
        raise JournalError(
            f"this journal has schema version {version}, and this redraft reads up to {VERSION}; "
            "install a newer redraft."
        )
    return version
