"""Items and states as rows of a memory's file, and what becomes of two items that say the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from redraft.errors import MemoryMissingError
from redraft.store.memory_base import Draft, ItemSource, MemoryItem, SessionState
from redraft.store.memory_words import bands, says_all_of, terms

__all__ = [
    "alike",
    "draft_item",
    "insert",
    "item_from",
    "merged",
    "read_item",
    "state_from",
    "update",
]

_MOST_TAGS = 32
_MOST_SOURCES = 64
_LOOKED_AT = 32  # items with one band in common that are compared, the newest


def draft_item(draft: Draft, now: float) -> MemoryItem:
    """A draft as an item without a number."""
    at = now if draft.at is None else draft.at
    own = () if draft.sources else (ItemSource(draft.session, draft.turn, at),)
    sources = _in_order((*draft.sources, *own))
    return MemoryItem(
        0, draft.text, draft.task_type, tuple(sorted(set(draft.tags))), at, draft.expires, sources
    )


def _in_order(sources: Iterable[ItemSource]) -> tuple[ItemSource, ...]:
    """Each source once, oldest first; of very many the first and the newest."""
    ordered = sorted(
        set(sources), key=lambda one: (one.at, one.session, -1 if one.turn is None else one.turn)
    )
    if len(ordered) > _MOST_SOURCES:
        ordered[1 : len(ordered) - _MOST_SOURCES + 1] = []
    return tuple(ordered)


def merged(kept: MemoryItem, fresh: MemoryItem) -> MemoryItem | None:
    """One item in place of two that say the same, under the number of the one that was there.

    The text is the one that says all of the other; of two that do, the newer. None where neither does.
    """
    newer, older = (fresh, kept) if fresh.at >= kept.at else (kept, fresh)
    tags = tuple(sorted({*kept.tags, *fresh.tags}))
    if kept.task_type != fresh.task_type or len(tags) > _MOST_TAGS:
        return None
    if says_all_of(newer.text, older.text):
        text = newer.text
    elif says_all_of(older.text, newer.text):
        text = older.text
    else:
        return None
    ends = (kept.expires, fresh.expires)
    return replace(
        kept,
        text=text,
        tags=tags,
        at=newer.at,
        expires=None if None in ends else max(end for end in ends if end is not None),
        sources=_in_order((*kept.sources, *fresh.sources)),
    )


def alike(database: sqlite3.Connection, item: MemoryItem, now: float) -> MemoryItem | None:
    """What an item and one that is kept come to together, where one says all that the other does."""
    found: dict[int, int] = {}
    for key in sorted(bands(item.text)):
        rows = database.execute(
            "SELECT item FROM band WHERE key = ? ORDER BY item DESC LIMIT ?", (key, _LOOKED_AT)
        )
        for row in rows:
            found[row[0]] = found.get(row[0], 0) + 1
    for number in sorted(found, key=lambda one: (-found[one], -one))[:_LOOKED_AT]:
        kept = read_item(database, number)
        if kept.expires is not None and kept.expires <= now:
            continue
        both = merged(kept, item)
        if both is not None:
            return both
    return None


def _columns(item: MemoryItem) -> tuple[object, ...]:
    sources = [[one.session, one.turn, one.at] for one in item.sources]
    body = json.dumps({"text": item.text, "tags": item.tags, "sources": sources})
    # The task type and the tags are words to find an item by as well.
    words = " ".join(terms(" ".join((item.text, item.task_type, *item.tags))))
    return item.at, item.expires, item.task_type, words, body


def insert(database: sqlite3.Connection, item: MemoryItem) -> int:
    """Write a new item; returns its number."""
    row = database.execute(
        "INSERT INTO item (at, expires, task_type, terms, body) VALUES (?, ?, ?, ?, ?)",
        _columns(item),
    )
    number = int(row.lastrowid or 0)
    _mark(database, replace(item, id=number))
    return number


def update(database: sqlite3.Connection, item: MemoryItem) -> None:
    """Write an item anew under its number."""
    database.execute(
        "UPDATE item SET at = ?, expires = ?, task_type = ?, terms = ?, body = ? WHERE id = ?",
        (*_columns(item), item.id),
    )
    for table in ("mark", "band", "vector"):
        database.execute(f"DELETE FROM {table} WHERE item = ?", (item.id,))
    _mark(database, item)


def _mark(database: sqlite3.Connection, item: MemoryItem) -> None:
    marks = {("tag", tag) for tag in item.tags}
    marks |= {("session", source.session) for source in item.sources}
    database.executemany(
        "INSERT INTO mark (kind, name, item) VALUES (?, ?, ?)", [(*mark, item.id) for mark in marks]
    )
    database.executemany(
        "INSERT INTO band (key, item) VALUES (?, ?)", [(key, item.id) for key in bands(item.text)]
    )


def read_item(database: sqlite3.Connection, number: int) -> MemoryItem:
    """The item of this number; raises `MemoryMissingError`."""
    row = database.execute(
        "SELECT id, at, expires, task_type, body FROM item WHERE id = ?", (number,)
    ).fetchone()
    if row is None:
        raise MemoryMissingError(
            f"the memory keeps no item {number}; take the number from a search or a listing."
        )
    return item_from(row)


def item_from(row: tuple[Any, ...]) -> MemoryItem:
    """An item from its row: id, at, expires, task type, body."""
    number, at, expires, task_type, text = row
    body = json.loads(text)
    sources = tuple(ItemSource(*one) for one in body["sources"])
    return MemoryItem(number, body["text"], task_type, tuple(body["tags"]), at, expires, sources)


def state_from(row: tuple[Any, ...]) -> SessionState:
    """A state from its row: session, version, at, task type, body."""
    session, version, at, task_type, body = row
    return SessionState(session, version, json.loads(body), at, task_type)
