"""Finding items by their words: few rows are read, and each is measured.

A question of few words is turned into an expression that only those items match which pass the floor. For
a longer one the rows of its rarest words are added up, and the heaviest are read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from redraft.store.memory_base import ItemQuery
from redraft.store.memory_match import quoted, sharing
from redraft.store.memory_search import conditions
from redraft.store.memory_words import idf, most_relevance, relevance, terms

__all__ = ["by_words"]

_MOST_ASKED = 512  # words of a question that count
_SHORT = 6  # words of a question past which the expression takes longer than it saves
_LEVELS = (0.55, 0.8)  # relevances that are asked for where too much reaches the floor
_MOST_READ = 256  # items that are read at a time
_MOST_BESIDE = 64  # items that are read besides those that match
_MOST_TRIED = 2_048  # items that are held against a condition
_ROWS_SHORT, _ROWS_LONG = 1_000, 8_000  # rows of rare words that are added up
_MEASURED = 64  # items whose own words are weighed
_FREQUENT = (
    8  # a word that more than an eighth of the items have says next to nothing on their order,
)
_FEW = 1_000  # unless they are few
_RANKING = 16  # words that decide on the order

Items = dict[int, frozenset[str]]
"""Items' words, by their numbers."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question.

    Attributes:
        weights: what each of its words weighs.
        known: those that any item has, the rarest first.
        having: how many items have each of these.
        total: how many items there are.
    """

    weights: Mapping[str, float]
    known: Sequence[str]
    having: Mapping[str, int]
    total: int


def by_words(
    database: sqlite3.Connection, query: ItemQuery, now: float, floor: float
) -> dict[int, float]:
    """The items that share enough words with a query: each one's relevance, the best first.

    Args:
        database: the memory.
        query: what is looked for.
        now: seconds since the epoch.
        floor: the least relevance that counts.
    """
    asked = _asked(database, query.text)
    items: Items = {}
    if len(asked.known) <= _SHORT:
        items |= _exactly(database, query, now, floor, asked)
    items |= _mostly(database, query, now, asked)
    found = _measured(database, asked, items, floor, max(_MEASURED, 2 * query.limit))
    return _in_order(database, found, asked)


def _asked(database: sqlite3.Connection, text: str) -> _Asked:
    words = list(dict.fromkeys(terms(text)[:_MOST_ASKED]))
    total, having = _frequencies(database, words)
    weights = {word: idf(total, having.get(word, 0)) for word in words}
    return _Asked(weights, sorted(having, key=lambda one: (having[one], one)), having, total)


def _frequencies(database: sqlite3.Connection, words: Iterable[str]) -> tuple[int, dict[str, int]]:
    """How many items there are, and how many have each of these words, where any has."""
    rows = database.execute(
        "SELECT term, items FROM frequency WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(["", *words]),),
    )
    having = {str(term): int(items) for term, items in rows}
    return having.pop("", 0), having


def _exactly(
    database: sqlite3.Connection, query: ItemQuery, now: float, floor: float, asked: _Asked
) -> Items:
    """What has enough of a short question's words; of very much the newest, and what has most of them."""
    need = sum(asked.weights.values())
    items: Items = {}
    # Forwards is nearly twice as fast, and the same where all of it is read.
    for level, order in (
        (floor, "ASC"),
        (floor, "DESC"),
        *((one, "DESC") for one in _LEVELS if one > floor),
    ):
        match = sharing(asked.known, asked.weights, level * need)
        rows = _matching(database, query, now, match, order) if match else {}
        if len(rows) < _MOST_READ:
            return items | rows
        if order == "DESC":
            items |= rows
    return items


def _matching(
    database: sqlite3.Connection, query: ItemQuery, now: float, match: str, order: str
) -> Items:
    where, given = conditions(query, now)
    # Joined in this order the index is read only as far as rows are wanted.
    return _items(
        database.execute(
            "SELECT item.id, item.terms FROM word CROSS JOIN item ON item.id = word.rowid "
            f"WHERE word MATCH ? AND {where} ORDER BY word.rowid {order} LIMIT ?",
            [match, *given, _MOST_READ],
        )
    )


def _items(rows: Iterable[tuple[int, str]]) -> Items:
    return {number: frozenset(words.split()) for number, words in rows}


def _mostly(database: sqlite3.Connection, query: ItemQuery, now: float, asked: _Asked) -> Items:
    """What has the most of the question's rare words, by weight; of equals the newest."""
    weights: dict[int, float] = {}
    short = len(asked.known) <= _SHORT
    left = _ROWS_SHORT if short else _ROWS_LONG
    for word in asked.known:
        rows = database.execute(
            "SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC LIMIT ?",
            (quoted(word), left),
        ).fetchall()
        for (number,) in rows:
            weights[number] = weights.get(number, 0.0) + asked.weights[word]
        left -= len(rows)
        if left <= 0:
            break
    where, given = conditions(query, now)
    # Under a condition many of them may be none of those that are asked for.
    most = _MOST_BESIDE if short else _MOST_READ
    reach = most if len(given) == 1 else _MOST_TRIED
    best = nlargest(reach, zip(weights.values(), weights, strict=True))
    found: Iterable[tuple[int, str]] = database.execute(
        "SELECT item.id, item.terms FROM item "
        f"WHERE item.id IN ({','.join(str(number) for _, number in best)}) AND {where}",
        given,
    )
    return _items(nlargest(most, found, key=lambda one: (weights[one[0]], one[0])))


def _measured(
    database: sqlite3.Connection, asked: _Asked, items: Items, floor: float, most: int
) -> dict[int, float]:
    """The relevance of those items that can be the most relevant, where it reaches the floor."""
    bounds = ((most_relevance(asked.weights, words), number) for number, words in items.items())
    # A hair below the floor: a bound is a sum of floats as well.
    best = [one for _, one in nlargest(most, (one for one in bounds if one[0] > floor - 1e-9))]
    words = sorted(frozenset().union(*(items[number] for number in best)))
    _, having = _frequencies(database, words)
    weights = {word: idf(asked.total, having.get(word, 0)) for word in words}
    found = {
        number: relevance(asked.weights, {word: weights[word] for word in items[number]})
        for number in best
    }
    return {number: value for number, value in found.items() if value >= floor and value > 0}


def _in_order(
    database: sqlite3.Connection, found: Mapping[int, float], asked: _Asked
) -> dict[int, float]:
    """The most relevant first; of equally relevant ones the best by BM25, then the newest."""
    ranks: dict[int, float] = {}
    if len(set(found.values())) < len(found):
        few = max(_FEW, asked.total // _FREQUENT)
        words = [word for word in asked.known if asked.having[word] <= few] or asked.known[:2]
        # The plus keeps the planner from asking the index anew for each of them.
        rows = database.execute(
            "SELECT rowid, bm25(word) FROM word WHERE word MATCH ? "
            f"AND +rowid IN ({','.join(map(str, found))})",
            (" OR ".join(map(quoted, words[:_RANKING])),),
        )
        ranks.update(rows)
    order = sorted(found, key=lambda one: (-found[one], ranks.get(one, 0.0), -one))
    return {number: found[number] for number in order}
