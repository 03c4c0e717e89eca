"""Finding items: by words (FTS5), by vectors, by what is known of them; and what is too far off."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from redraft.store.memory_base import ItemQuery
from redraft.store.memory_words import idf, relevance, terms

__all__ = ["FLOOR", "by_vector", "by_words", "newest"]

FLOOR = 0.34
"""The least relevance that comes back: one of three words of equal weight is too little, one of two is
enough."""

_CANDIDATES = 64
_MOST_TERMS = 16
_FREQUENT = 8  # a word that more than an eighth of the items have finds too many of them,
_FEW = 1_000  # unless they are few

Conditions = tuple[str, list[object]]


def _conditions(query: ItemQuery, now: float) -> Conditions:
    """What else must hold of an item, in SQL."""
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
    where, given = _conditions(query, now)
    rows = database.execute(
        f"SELECT id FROM item WHERE {where} ORDER BY at DESC, id DESC LIMIT ?",
        [*given, query.limit],
    )
    return [row[0] for row in rows]


def _weights(
    database: sqlite3.Connection, words: Iterable[str]
) -> tuple[dict[str, float], list[str]]:
    """Each word's weight, and the words that are worth looking for, rarest first."""
    total = database.execute("SELECT count(*) FROM item").fetchone()[0]
    counts = {word: _having(database, word) for word in dict.fromkeys(words)}
    known = sorted((word for word in counts if counts[word]), key=lambda word: (counts[word], word))
    rare = [word for word in known if counts[word] <= max(_FEW, total // _FREQUENT)] or known[:2]
    return {word: idf(total, having) for word, having in counts.items()}, rare[:_MOST_TERMS]


def _having(database: sqlite3.Connection, word: str) -> int:
    row = database.execute("SELECT doc FROM word_count WHERE term = ?", (word,)).fetchone()
    return int(row[0]) if row else 0


def by_words(database: sqlite3.Connection, query: ItemQuery, now: float) -> dict[int, float]:
    """The relevance of the items that share words with a query, best by BM25 first."""
    asked, rare = _weights(database, terms(query.text)[:512])
    if not rare:
        return {}
    where, given = _conditions(query, now)
    match = " OR ".join(f'"{word}"' for word in rare)
    rows = database.execute(
        "SELECT item.id, item.terms FROM word JOIN item ON item.id = word.rowid "
        f"WHERE word MATCH ? AND {where} ORDER BY bm25(word), item.id DESC LIMIT ?",
        [match, *given, max(_CANDIDATES, 4 * query.limit)],
    )
    return _scored(asked, rows)


def _scored(asked: Mapping[str, float], rows: Iterable[Sequence[str]]) -> dict[int, float]:
    return {int(row[0]): relevance(asked, frozenset(row[1].split())) for row in rows}


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
    where, given = _conditions(query, now)
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
