"""Turns and values in a journal file: each kept once, found again as the same object."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from redraft.context import Origin, Turn
from redraft.dialects import Content, Dialect, Native
from redraft.errors import JournalError

__all__ = ["Bodies"]

_PACK_FROM = 256
"""Values of fewer bytes are kept as they are: packing would not make them smaller."""


class Bodies:
    """The `References` of a journal file.

    Args:
        database: the file.
        dialect: reads carriers back.
    """

    def __init__(self, database: sqlite3.Connection, dialect: Dialect) -> None:
        self._database = database
        self._dialect = dialect
        # Objects are kept beside their ids, so that Python cannot give an id to another object.
        self._turn_ids: dict[int, tuple[int, Turn]] = {}
        self._carrier_ids: dict[int, tuple[int, Native]] = {}
        self._turns: dict[int, Turn] = {}
        self._carriers: dict[int, Native] = {}
        self._contents: dict[tuple[int, ...], Sequence[Content]] = {}

    def forget(self) -> None:
        """Drop what a transaction that failed has remembered."""
        known = {row[0] for row in self._database.execute("SELECT id FROM turn")}
        self._turn_ids = {k: v for k, v in self._turn_ids.items() if v[0] in known}
        known = {row[0] for row in self._database.execute("SELECT id FROM carrier")}
        self._carrier_ids = {k: v for k, v in self._carrier_ids.items() if v[0] in known}

    # -- in --------------------------------------------------------------------------------------

    def value(self, value: object) -> str:
        """Keep a JSON value; its name is the SHA-256 of its text."""
        try:
            text = json.dumps(value, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise JournalError(
                f"a message holds what JSON cannot: {error}; give messages as plain values."
            ) from error
        data = text.encode("ascii")
        sha = hashlib.sha256(data)
        packed = len(data) >= _PACK_FROM
        self._database.execute(
            "INSERT OR IGNORE INTO body (sha, packed, data) VALUES (?, ?, ?)",
            (sha.digest(), packed, zlib.compress(data, 6) if packed else data),
        )
        return sha.hexdigest()

    def turn(self, turn: Turn) -> int:
        """Keep a turn; the same object has the same id."""
        known = self._turn_ids.get(id(turn))
        if known is not None:
            return known[0]
        content = turn.content
        key = self._insert(
            "INSERT INTO turn (number, origin, tokens, reasoning, digest, place, role, seat, carriers)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            turn.number,
            str(turn.origin),
            turn.tokens,
            turn.reasoning,
            turn.digest,
            json.dumps(turn.place),
            turn.role,
            json.dumps(content.seat),
            json.dumps([self._carrier(native) for native in content.carriers]),
        )
        self._turn_ids[id(turn)] = (key, turn)
        self._turns[key] = turn
        return key

    def _carrier(self, native: Native) -> int:
        known = self._carrier_ids.get(id(native))
        if known is not None:
            return known[0]
        sha = bytes.fromhex(self.value(native))
        key = self._insert("INSERT INTO carrier (sha) VALUES (?)", sha)
        self._carrier_ids[id(native)] = (key, native)
        self._carriers[key] = native
        return key

    def _insert(self, statement: str, *values: object) -> int:
        key = self._database.execute(statement, values).lastrowid
        assert key is not None
        return key

    # -- out -------------------------------------------------------------------------------------

    def load_value(self, name: str) -> Any:
        """The value of that name; raises `JournalError` where it is missing or damaged."""
        sha = bytes.fromhex(name)
        row = self._database.execute("SELECT packed, data FROM body WHERE sha = ?", (sha,)).fetchone()
        if row is None:
            raise JournalError(f"the journal has lost the body {name[:12]}; restore it from a copy.")
        try:
            data = zlib.decompress(row[1]) if row[0] else bytes(row[1])
        except zlib.error as error:
            raise JournalError(f"the body {name[:12]} is damaged: {error}.") from error
        if hashlib.sha256(data).digest() != sha:
            raise JournalError(f"the body {name[:12]} is damaged; restore the journal from a copy.")
        return json.loads(data)

    def load_turn(self, key: int) -> Turn:
        """The turn of that id; raises `JournalError` where it does not show what it showed."""
        found = self._turns.get(key)
        if found is not None:
            return found
        row = self._database.execute(
            "SELECT number, origin, tokens, reasoning, digest, place, role, seat, carriers"
            " FROM turn WHERE id = ?",
            (key,),
        ).fetchone()
        if row is None:
            raise JournalError(f"the journal has lost turn {key}; restore it from a copy.")
        number, origin, tokens, reasoning, digest, place, role, seat, carriers = row
        content = self._content(role, tuple(json.loads(carriers)), tuple(json.loads(seat)))
        turn = Turn(
            number,
            content,
            Origin(origin),
            tokens,
            reasoning=reasoning,
            place=tuple(json.loads(place)),
        )
        if turn.digest != digest:
            raise JournalError(f"turn {number} does not read as it was written; report this.")
        self._turns[key] = turn
        self._turn_ids[id(turn)] = (key, turn)
        return turn

    def _content(self, role: str, keys: tuple[int, ...], seat: tuple[int, int]) -> Content:
        contents = self._contents.get(keys)
        if contents is None:
            natives = [self._native(key) for key in keys]
            _, contents = self._dialect.split({self._dialect.turns_field: natives})
            self._contents[keys] = contents
        content = contents[seat[0] if seat[1] > 1 else 0]
        if content.role != role:
            raise JournalError(f"a {role} turn reads as a {content.role} turn; report this.")
        return content if content.seat == seat else replace(content, seat=seat)

    def _native(self, key: int) -> Native:
        if key not in self._carriers:
            row = self._database.execute("SELECT sha FROM carrier WHERE id = ?", (key,)).fetchone()
            if row is None:
                raise JournalError(f"the journal has lost carrier {key}; restore it from a copy.")
            self._carriers[key] = self.load_value(row[0].hex())
        return self._carriers[key]
