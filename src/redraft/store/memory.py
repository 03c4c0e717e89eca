"""The embedded memory: items and sessions' states in one SQLite file.

with SQLiteMemory(Path("memory.db")) as memory:
    memory.add(Draft("The staging database listens on port 5433.", task_type="deploy"))
    memory.search(ItemQuery("connect to the staging database"))
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from redraft.errors import MemoryConflictError, MemoryFormatError, MemoryMissingError
from redraft.policies.base import Retrieve
from redraft.policies.reconstruct import Recalled
from redraft.store.memory_base import (
    Added,
    Draft,
    Hit,
    ItemQuery,
    ItemSource,
    Memory,
    MemoryItem,
    SessionState,
    StateStore,
)
from redraft.store.memory_by_words import by_words
from redraft.store.memory_file import SECURE_DELETE, MemoryFile
from redraft.store.memory_rows import (
    alike,
    draft_item,
    insert,
    item_from,
    read_item,
    state_from,
    update,
)
from redraft.store.memory_rules import check_draft, check_query, name, state_text, transient
from redraft.store.memory_search import FLOOR, by_vector, newest
from redraft.store.memory_vectors import Embedder, load_cosine, pack

__all__ = [
    "MOST_ITEMS",
    "MOST_VERSIONS",
    "Added",
    "Draft",
    "Embedder",
    "Hit",
    "ItemQuery",
    "ItemSource",
    "Memory",
    "MemoryItem",
    "SQLiteMemory",
    "SessionState",
    "StateStore",
    "answer",
    "recalled",
]

MOST_ITEMS = 250_000
"""Items that a memory keeps; past it those that were said longest ago go."""

MOST_VERSIONS = 50
"""Versions of a session's state that are kept, the newest."""

_BATCH = 256


class SQLiteMemory:
    """A `Memory` and a `StateStore` in a file, or in this process.

    Args:
        path: the file, by convention `memory.db`; made at the first use, for its owner alone. None keeps
            everything in this process.
        embedder: makes vectors, to find what is said in other words; None searches by words alone.
        floor: the least relevance that a search returns, from 0 to 1.
        most_items: how many items are kept.
        most_versions: how many versions of each session's state are kept.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        embedder: Embedder | None = None,
        floor: float = FLOOR,
        most_items: int = MOST_ITEMS,
        most_versions: int = MOST_VERSIONS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if most_items < 1 or most_versions < 1:
            raise MemoryFormatError(
                "a memory keeps one item and one version at least; give 1 or more."
            )
        check_query(ItemQuery(floor=floor))
        self._file = MemoryFile(path, self._prepare)
        self._embedder = embedder
        self._floor = floor
        self._most_items = most_items
        self._most_versions = most_versions
        self._clock = clock
        self._likeness = ""

    def _prepare(self, database: sqlite3.Connection) -> None:
        if self._embedder is not None:
            self._likeness = load_cosine(database)

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
        """Close the file; the next use opens it again. A memory without a file is empty then."""
        self._file.close()

    # -- items in --------------------------------------------------------------------------------

    def add(self, draft: Draft) -> Added:
        """See `Memory.add`."""
        return self.add_all([draft])[0]

    def add_all(self, drafts: Iterable[Draft]) -> list[Added]:
        """See `Memory.add_all`."""
        offered = list(drafts)
        for draft in offered:
            check_draft(draft)
        reasons = [transient(draft.text) for draft in offered]
        texts = dict.fromkeys(
            d.text for d, reason in zip(offered, reasons, strict=True) if not reason
        )
        vectors = self._vectors(list(texts))
        with self._file.changing() as database:
            added = [
                Added("refused", None, reason) if reason else self._put(database, draft, vectors)
                for draft, reason in zip(offered, reasons, strict=True)
            ]
            self._bound(database)
        return added

    def _put(
        self, database: sqlite3.Connection, draft: Draft, vectors: Mapping[str, bytes]
    ) -> Added:
        now = self._clock()
        item = draft_item(draft, now)
        both = alike(database, item, now)
        if both is None:
            number = insert(database, item)
            self._point(database, number, vectors.get(item.text))
            return Added("kept", number)
        old = read_item(database, both.id).text
        vector = vectors.get(both.text) or self._pointed(database, both.id)
        update(database, both)
        self._point(database, both.id, vector if both.text in (old, item.text) else None)
        return Added("merged", both.id)

    def _bound(self, database: sqlite3.Connection) -> None:
        """Make room: what has expired goes first, then what was said longest ago."""
        over = self._count(database) - self._most_items
        if over > 0:
            over -= self._expire(database)
        if over > 0:
            database.execute(
                "DELETE FROM item WHERE id IN (SELECT id FROM item ORDER BY at, id LIMIT ?)",
                (over,),
            )

    def _count(self, database: sqlite3.Connection) -> int:
        row = database.execute("SELECT items FROM frequency WHERE term = ''").fetchone()
        return int(row[0]) if row else 0

    def _expire(self, database: sqlite3.Connection) -> int:
        return database.execute("DELETE FROM item WHERE expires <= ?", (self._clock(),)).rowcount

    # -- vectors ---------------------------------------------------------------------------------

    def _vectors(self, texts: list[str]) -> dict[str, bytes]:
        """The packed vector of each text that has one; made before anything is changed."""
        if self._embedder is None or not texts:
            return {}
        made = self._embedder.embed(texts)
        if len(made) != len(texts):
            raise MemoryFormatError(
                f"the embedder {self._embedder.name} made {len(made)} vectors of {len(texts)} texts; mend "
                "the embedder. Nothing was kept."
            )
        packed = ((text, pack(vector)) for text, vector in zip(texts, made, strict=True))
        return {text: vector for text, vector in packed if vector is not None}

    def _pointed(self, database: sqlite3.Connection, number: int) -> bytes | None:
        model = self._embedder.name if self._embedder else ""
        row = database.execute(
            "SELECT data FROM vector WHERE item = ? AND model = ?", (number, model)
        ).fetchone()
        return bytes(row[0]) if row else None

    def _point(self, database: sqlite3.Connection, number: int, vector: bytes | None) -> None:
        if self._embedder is not None and vector is not None:
            database.execute(
                "INSERT OR REPLACE INTO vector (item, model, data) VALUES (?, ?, ?)",
                (number, self._embedder.name, vector),
            )

    def embed_missing(self) -> int:
        """Make vectors for items that have none of this embedder; returns how many were made."""
        done, after = 0, 0
        while self._embedder is not None:
            with self._file.using() as database:
                rows = database.execute(
                    "SELECT id, at, expires, task_type, body FROM item WHERE id > ? AND id NOT IN "
                    "(SELECT item FROM vector WHERE model = ?) ORDER BY id LIMIT ?",
                    (after, self._embedder.name, _BATCH),
                ).fetchall()
            if not rows:
                break
            items = [item_from(row) for row in rows]
            done += self._embed(items)
            after = items[-1].id
        return done

    def _embed(self, items: list[MemoryItem]) -> int:
        vectors = self._vectors(list(dict.fromkeys(item.text for item in items)))
        done = 0
        with self._file.changing() as database:
            for item in items:
                row = database.execute(
                    "SELECT id, at, expires, task_type, body FROM item WHERE id = ?", (item.id,)
                ).fetchone()
                # While the embedder was at work the item may have gone, or have got another text.
                if row is not None and item_from(row).text == item.text and item.text in vectors:
                    self._point(database, item.id, vectors[item.text])
                    done += 1
        return done

    # -- items out -------------------------------------------------------------------------------

    def item(self, number: int) -> MemoryItem:
        """See `Memory.item`."""
        with self._file.using() as database:
            return read_item(database, number)

    def search(self, query: ItemQuery) -> list[Hit]:
        """See `Memory.search`. With an embedder an item's relevance is the better of both ways.

        A cosine counts from the embedder's own floor on, unless the query names one.
        """
        check_query(query)
        now = self._clock()
        if not query.text.strip():
            with self._file.using() as database:
                return [Hit(read_item(database, one), 1.0) for one in newest(database, query, now)]
        model, floor = self._embedder, self._floor if query.floor is None else query.floor
        vector = self._vectors([query.text]).get(query.text)
        with self._file.using() as database:
            found = by_words(database, query, now, floor)
            if model is not None and vector is not None:
                least = model.floor if query.floor is None else query.floor
                near = by_vector(
                    database, query, now, model=model.name, vector=vector, likeness=self._likeness
                )
                for number, value in near.items():
                    if value >= least:
                        found[number] = max(value, found.get(number, 0.0))
            # A dict keeps its order: of equally relevant ones, that of BM25 decides.
            best = sorted(found, key=lambda one: -found[one])[: query.limit]
            return [Hit(read_item(database, one), found[one]) for one in best]

    def items(self) -> Iterator[MemoryItem]:
        """See `Memory.items`."""
        after, now = 0, self._clock()
        while True:
            with self._file.using() as database:
                rows = database.execute(
                    "SELECT id, at, expires, task_type, body FROM item WHERE id > ? "
                    "AND (expires IS NULL OR expires > ?) ORDER BY id LIMIT ?",
                    (after, now, _BATCH),
                ).fetchall()
            if not rows:
                return
            yield from map(item_from, rows)
            after = rows[-1][0]

    def forget(self, numbers: Iterable[int]) -> int:
        """See `Memory.forget`."""
        with self._file.changing() as database:
            gone = sum(
                database.execute("DELETE FROM item WHERE id = ?", (number,)).rowcount
                for number in set(numbers)
            )
            if gone and sqlite3.sqlite_version_info < SECURE_DELETE:
                # There the index would keep the words until it is merged: a fifth of a second for 100,000.
                database.execute("INSERT INTO word (word) VALUES ('optimize')")
        return gone

    def prune(self) -> int:
        """See `Memory.prune`."""
        with self._file.changing() as database:
            return self._expire(database)

    # -- states ----------------------------------------------------------------------------------

    def save_state(
        self, session: str, state: Mapping[str, Any], *, base: int, task_type: str = ""
    ) -> SessionState:
        """See `StateStore.save_state`. Versions past `most_versions` go, the oldest first."""
        name(session, "session")
        name(task_type, "task type")
        body, at = state_text(state), self._clock()
        with self._file.changing() as database:
            newest_version = self._version(database, session)
            if base != newest_version:
                raise MemoryConflictError(
                    f"the state of {session!r} is at version {newest_version}, and this one was made from "
                    f"{base}; read it again, make the change there and save that. Nothing was changed."
                )
            row = (session, base + 1, at, task_type, body)
            database.execute(
                "INSERT INTO state (session, version, at, task_type, body) VALUES (?, ?, ?, ?, ?)",
                row,
            )
            database.execute(
                "DELETE FROM state WHERE session = ? AND version <= ?",
                (session, base + 1 - self._most_versions),
            )
        return state_from(row)

    def _version(self, database: sqlite3.Connection, session: str) -> int:
        row = database.execute("SELECT max(version) FROM state WHERE session = ?", (session,))
        return int(row.fetchone()[0] or 0)

    def state(self, session: str, version: int | None = None) -> SessionState:
        """See `StateStore.state`."""
        name(session, "session")
        with self._file.using() as database:
            wanted = self._version(database, session) if version is None else version
            row = database.execute(
                "SELECT session, version, at, task_type, body FROM state "
                "WHERE session = ? AND version = ?",
                (session, wanted),
            ).fetchone()
        if row is not None:
            return state_from(row)
        if wanted == 0:
            return SessionState(session, 0, {})
        raise MemoryMissingError(
            f"version {wanted} of the state of {session!r} is not kept; list the versions that are."
        )

    def states(
        self,
        *,
        session: str | None = None,
        task_type: str | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> list[SessionState]:
        """See `StateStore.states`."""
        asked = (
            ("session = ?", session),
            ("task_type = ?", task_type),
            ("at >= ?", since),
            ("at < ?", until),
        )
        holds = [(sql, value) for sql, value in asked if value is not None]
        where = " AND ".join(["1", *(sql for sql, _ in holds)])
        with self._file.using() as database:
            rows = database.execute(
                f"SELECT session, version, at, task_type, body FROM state WHERE {where} "
                "ORDER BY at, session, version",
                [value for _, value in holds],
            ).fetchall()
        return [state_from(row) for row in rows]


def answer(memory: Memory, need: Retrieve, task_type: str | None = None) -> str:
    """What a memory says to a policy's `Retrieve`: the items that support it, the most relevant first.

    Args:
        memory: where to look.
        need: what the policy asks for.
        task_type: the kind of task, where only items of that kind may answer.

    Returns:
        an item a paragraph, each with its number and the turn that said it last; "" where nothing is
        relevant enough. It is data: whoever puts it into a context frames it as such.
    """
    if not need.query.strip():
        return ""
    found = memory.search(ItemQuery(need.query, task_type=task_type, limit=need.limit))
    return "\n\n".join(f"[{one.label}] {one.text}" for one in recalled(found))


def recalled(hits: Iterable[Hit]) -> list[Recalled]:
    """What was found, for `redraft.policies.reconstruct`: each with its number and who said it last."""
    return [Recalled(hit.item.text, _label(hit.item)) for hit in hits]


def _label(item: MemoryItem) -> str:
    last = item.sources[-1]
    session = f", session {last.session}" if last.session else ""
    turn = f", turn {last.turn}" if last.turn is not None else ""
    return f"memory {item.id}{session}{turn}"
