"""The tables of a journal file, and how an older file becomes a newer one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from redraft.errors import JournalError

__all__ = ["VERSION", "migrate"]

VERSION = 1
"""The schema version that this redraft writes, kept in the file's `user_version`."""

_V1 = """
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE body (
    sha    BLOB PRIMARY KEY,
    packed INTEGER NOT NULL,
    data   BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE carrier (
    id  INTEGER PRIMARY KEY,
    sha BLOB NOT NULL
);

CREATE TABLE turn (
    id        INTEGER PRIMARY KEY,
    number    INTEGER NOT NULL,
    origin    TEXT NOT NULL,
    tokens    INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    digest    TEXT NOT NULL,
    place     TEXT NOT NULL,
    role      TEXT NOT NULL,
    seat      TEXT NOT NULL,
    carriers  TEXT NOT NULL
);
CREATE INDEX turn_number ON turn (number);

CREATE TABLE entry (
    seq  INTEGER PRIMARY KEY,
    at   REAL NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX entry_kind ON entry (kind, seq);
"""


def _create(database: sqlite3.Connection) -> None:
    for statement in _V1.split(";"):
        if statement.strip():
            database.execute(statement)


_STEPS: Mapping[int, Callable[[sqlite3.Connection], None]] = {0: _create}
"""From each version to the next one. A step that was released never changes."""


def migrate(database: sqlite3.Connection) -> None:
    """Bring a journal file to `VERSION`, in one transaction.

    Args:
        database: a connection that may write, outside any transaction.

    Raises:
        JournalError: the file comes from a newer redraft, or is no journal.
    """
    version = version_of(database)
    if version == VERSION:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        for step in range(version, VERSION):
            _STEPS[step](database)
        database.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def version_of(database: sqlite3.Connection) -> int:
    """The schema version of a file, 0 for a new one; raises `JournalError` for a newer one."""
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise JournalError(
            f"this journal has schema version {version}, and this redraft reads up to {VERSION}; "
            "install a newer redraft."
        )
    return version
