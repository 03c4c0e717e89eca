"""One transaction of SQLite: all of it is on the disk at the end, or nothing has changed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

__all__ = ["transaction"]


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction that has the right to write from its start.

    Args:
        database: a connection outside of any transaction.

    Raises:
        sqlite3.Error: it cannot begin or end.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back by itself after some errors, a full disk among them.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
