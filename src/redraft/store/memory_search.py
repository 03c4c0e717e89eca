"""Finding items by what is known of them and by vectors; and what is too far off."""

from __future__ import annotations

import sqlite3

from redraft.store.memory_base import ItemQuery

__all__ = ["FLOOR", "Conditions", "by_vector", "conditions", "newest"]

FLOOR = 0.34
"""The least relevance that comes back: one of three words of equal weight is too little, one of two is
enough."""

_CANDIDATES = 64

Conditions = tuple[str, list[object]]
"""What must hold in SQL, and the values of its parameters."""


def conditions(query: ItemQuery, now: float) -> Conditions:
    """What must hold of an item besides its words, in SQL."""
    holds = ["(item.expires IS NULL OR item.expires > ?)"]
    given: list[object] = [now]
    for sql, value in (
        ("item.task_type = ?", query.task_type),
        ("item.at >= ?", query.since),
        ("item.at < ?", query.until),
    ):
        if value is not None:
            holds.append(sql)
            given.append(value)
    marks = [("tag", tag) for tag in query.tags]
    if query.session is not None:
        marks.append(("session", query.session))
    for mark in marks:
        holds.append("item.id IN (SELECT mark.item FROM mark WHERE kind = ? AND name = ?)")
        given.extend(mark)
    return " AND ".join(holds), given


def newest(database: sqlite3.Connection, query: ItemQuery, now: float) -> list[int]:
    """Numbers of the newest items that a query without text is about."""
    where, given = conditions(query, now)
    rows = database.execute(
        f"SELECT id FROM item WHERE {where} ORDER BY at DESC, id DESC LIMIT ?",
        [*given, query.limit],
    )
    return [row[0] for row in rows]


def by_vector(
    database: sqlite3.Connection,
    query: ItemQuery,
    now: float,
    *,
    model: str,
    vector: bytes,
    likeness: str,
) -> dict[int, float]:
    """The cosines of the items nearest to a vector.

    Args:
        database: the memory.
        query: what else must hold.
        now: seconds since the epoch.
        model: the embedder whose vectors are looked at.
        vector: the query's, packed.
        likeness: the expression of `load_cosine`.
    """
    where, given = conditions(query, now)
    rows = database.execute(
        f"SELECT item.id, {likeness.format('vector.data', ':near')} AS near "
        "FROM vector JOIN item ON item.id = vector.item "
        f"WHERE vector.model = :model AND {_named(where)} AND near IS NOT NULL "
        "ORDER BY near DESC, item.id DESC LIMIT :most",
        {
            "near": vector,
            "model": model,
            "most": max(_CANDIDATES, query.limit),
            **{f"p{at}": value for at, value in enumerate(given)},
        },
    )
    return {int(row[0]): min(1.0, max(0.0, row[1])) for row in rows}


def _named(where: str) -> str:
    """Conditions with names in place of question marks: the vector stands in the statement three times."""
    first, *rest = where.split("?")
    return first + "".join(f":p{at}{part}" for at, part in enumerate(rest))
