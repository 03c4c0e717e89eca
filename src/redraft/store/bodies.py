"""Turns and values in a journal file: each kept once, found again as the same object."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from redraft.context import Origin, Turn
from redraft.dialects import Call, Content, Dialect, Native, OpenAIChat, Part
from redraft.dialects.responses_turns import PlainInput
from redraft.errors import DialectError, JournalError
from redraft.store.encoding import flat
from redraft.store.packing import from_bytes, packed, to_bytes, unpacked

__all__ = ["Bodies"]

_SHOWN = ("text", "calls", "parts", "answers", "hidden")


class Bodies:
    """The `References` of a journal file.

    Args:
        database: the file.
        dialect: reads carriers back.
    """

    def __init__(self, database: sqlite3.Connection, dialect: Dialect) -> None:
        self._database = database
        self._dialect = dialect
        # What was kept, by the object's identity. The object is kept beside its key, so that Python
        # cannot give its identity to another one.
        self._keys: dict[int, tuple[int, object]] = {}
        self._fresh: list[int] = []
        self._turns: dict[int, Turn] = {}
        self._contents: dict[int, Content] = {}
        self._carriers: dict[int, Native] = {}
        # A chat message is one turn and is read without its neighbours, so nothing needs a check.
        self._alone = type(dialect) is OpenAIChat
        self._split: tuple[tuple[int, ...], Sequence[Content]] = ((), ())

    def keep(self) -> None:
        """The transaction has ended well: what it kept stays kept."""
        self._fresh.clear()

    def forget(self) -> None:
        """The transaction has failed: nothing that it kept is there."""
        for identity in self._fresh:
            self._keys.pop(identity, None)
        self._fresh.clear()
        self._split = ((), ())

    # -- in --------------------------------------------------------------------------------------

    def value(self, value: object) -> int:
        """Keep a JSON value; equal ones are kept once.

        Raises:
            JournalError: it is no JSON.
        """
        try:
            data = to_bytes(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(
                f"a request holds what JSON cannot ({error}), so it cannot be recorded; give messages, "
                "tools and parameters as plain values."
            ) from error
        sha = hashlib.sha256(data).digest()
        found = self._database.execute("SELECT id FROM body WHERE sha = ?", (sha,)).fetchone()
        if found is not None:
            return int(found[0])
        return self._insert("INSERT INTO body (sha, data) VALUES (?, ?)", sha, packed(data))

    def native(self, native: Native) -> int:
        """Keep a carrier; the same object has the same key, an equal one another."""
        known = self._keys.get(id(native))
        if known is not None:
            return known[0]
        # A request of plain text is sent as plain text again, so it is kept as that.
        body = native["content"] if isinstance(native, PlainInput) else native
        key = self._insert("INSERT INTO carrier (body) VALUES (?)", self.value(body))
        return self._named(native, key)

    def content(self, content: Content) -> int:
        """Keep a content; the same object has the same key."""
        known = self._keys.get(id(content))
        if known is not None:
            return known[0]
        carriers = tuple(map(self.native, content.carriers))
        shown = None if self._speaks_for_itself(content, carriers) else self.value(_shown(content))
        key = self._insert(
            "INSERT INTO content (role, seat, carriers, shown) VALUES (?, ?, ?, ?)",
            content.role,
            json.dumps(content.seat),
            json.dumps(carriers),
            shown,
        )
        return self._named(content, key)

    def turn(self, turn: Turn) -> int:
        """Keep a turn; the same object has the same key."""
        known = self._keys.get(id(turn))
        if known is not None:
            return known[0]
        key = self._insert(
            "INSERT INTO turn (number, content, origin, tokens, reasoning, digest, place)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            turn.number,
            self.content(turn.content),
            str(turn.origin),
            turn.tokens,
            turn.reasoning,
            turn.digest,
            json.dumps(turn.place),
        )
        return self._named(turn, key)

    def _insert(self, statement: str, *values: object) -> int:
        key = self._database.execute(statement, values).lastrowid
        assert key is not None
        return key

    def _named(self, item: object, key: int) -> int:
        self._keys[id(item)] = (key, item)
        self._fresh.append(id(item))
        return key

    def _speaks_for_itself(self, content: Content, carriers: tuple[int, ...]) -> bool:
        """Whether its carriers alone, split anew, show what it shows."""
        if self._alone:
            return True
        try:
            again = self._read(carriers, content.carriers, content.seat)
        except (DialectError, LookupError, TypeError, ValueError):
            return False
        return again.role == content.role and _shown(again) == _shown(content)

    # -- out -------------------------------------------------------------------------------------

    def load_value(self, key: int) -> Any:
        """The value of that key; raises `JournalError` where it is missing or damaged."""
        sha, kept = self._row("SELECT sha, data FROM body WHERE id = ?", key, "body")
        try:
            data = unpacked(kept)
            if hashlib.sha256(data).digest() == sha:
                return from_bytes(data)
        except (AttributeError, TypeError, ValueError):
            pass
        raise _damaged(f"body {key}")

    def load_native(self, key: int) -> Native:
        """The carrier of that key: the same object each time."""
        if key not in self._carriers:
            (body,) = self._row("SELECT body FROM carrier WHERE id = ?", key, "carrier")
            value = self.load_value(body)
            native: Native = self._of_plain(value) if isinstance(value, str) else value
            self._carriers[key] = native
            self._keys[id(native)] = (key, native)
        return self._carriers[key]

    def _of_plain(self, text: str) -> Native:
        """The carrier that the wire format makes of a request of plain text."""
        _, contents = self._dialect.split({self._dialect.turns_field: text})
        return contents[0].carriers[0]

    def load_content(self, key: int) -> Content:
        """The content of that key: the same object each time."""
        found = self._contents.get(key)
        if found is not None:
            return found
        role, seat, carriers, shown = self._row(
            "SELECT role, seat, carriers, shown FROM content WHERE id = ?", key, "content"
        )
        keys = tuple(json.loads(carriers))
        place = tuple(json.loads(seat))
        natives = tuple(map(self.load_native, keys))
        try:
            if shown is None:
                content = replace(self._read(keys, natives, place), carriers=natives, seat=place)
            else:
                content = Content(role, carriers=natives, seat=place, **self._explicit(shown))
        except (DialectError, LookupError, TypeError) as error:
            raise _damaged(f"content {key}") from error
        self._contents[key] = content
        self._keys[id(content)] = (key, content)
        return content

    def load_turn(self, key: int) -> Turn:
        """The turn of that key, the same object each time; raises `JournalError` where it does not
        show what it showed."""
        found = self._turns.get(key)
        if found is not None:
            return found
        number, content, origin, tokens, reasoning, digest, place = self._row(
            "SELECT number, content, origin, tokens, reasoning, digest, place FROM turn WHERE id = ?",
            key,
            "turn",
        )
        turn = Turn(
            number,
            self.load_content(content),
            Origin(origin),
            tokens,
            reasoning=reasoning,
            place=tuple(json.loads(place)),
        )
        if turn.digest != digest:
            raise _damaged(f"turn {number}")
        self._turns[key] = turn
        self._keys[id(turn)] = (key, turn)
        return turn

    def _row(self, statement: str, key: int, what: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._database.execute(statement, (key,)).fetchone()
        if row is None:
            raise _damaged(f"{what} {key}", "is missing")
        return row

    def _read(
        self, keys: tuple[int, ...], natives: Sequence[Native], seat: tuple[int, ...]
    ) -> Content:
        """What a turn's carriers show. The turns of a shared one come one after the other."""
        if not keys or self._split[0] != keys:
            _, contents = self._dialect.split({self._dialect.turns_field: list(natives)})
            self._split = (keys, contents)
        return self._split[1][seat[0] if seat[1] > 1 else 0]

    def _explicit(self, key: int) -> dict[str, Any]:
        values: dict[str, Any] = self.load_value(key)
        values["calls"] = tuple(Call(**call) for call in values["calls"])
        values["parts"] = tuple(Part(**part) for part in values["parts"])
        return values


def _shown(content: Content) -> dict[str, Any]:
    values = {name: getattr(content, name) for name in _SHOWN}
    values["calls"] = [flat(call) for call in content.calls]
    values["parts"] = [flat(part) for part in content.parts]
    return values


def _damaged(what: str, how: str = "is damaged") -> JournalError:
    return JournalError(
        f"{what} of the journal {how}; restore the run from a copy, or fork it at an earlier revision."
    )
