"""A journal's log read: as rows, as entries, as events, from the start or from where one stopped."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redraft.context import Live, Turn
from redraft.dialects import Dialect, Frame
from redraft.errors import JournalError
from redraft.events import Event
from redraft.store.base import Entry, Told
from redraft.store.bodies import Bodies
from redraft.store.decoding import Decoder
from redraft.store.encoding import ASIDE
from redraft.store.files import read_meta, reading
from redraft.store.formats import dialect_named
from redraft.store.packing import from_bytes, unpacked
from redraft.tokens import Meter, default_counter

__all__ = ["JournalReader", "Logged", "Recorded", "Tail"]

_PAGE = 256


@dataclass(frozen=True, slots=True)
class Logged:
    """One row of the log.

    Attributes:
        seq: its number, from 1.
        at: when, in seconds since 1970 (UTC).
        kind: `appended`, `committed`, `told`, ...
        values: its values, with keys of turns and bodies.
    """

    seq: int
    at: float
    kind: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One entry of the log, with its number from 1 and its time in seconds since 1970 (UTC)."""

    seq: int
    at: float
    entry: Entry


class JournalReader:
    """The half of a journal that reads. See `redraft.store.SQLiteJournal`.

    Args:
        database: the file, open.
        dialect: the wire format; None for what the file says.
        meter: counts what comes after the entries in the file; None for the fastest.
    """

    def __init__(
        self, database: sqlite3.Connection, dialect: Dialect | None, meter: Meter | None
    ) -> None:
        self._guard = threading.RLock()
        self._database = database
        self._meter = meter or Meter(_LateCounter())
        self._dialect = self._agreed(dialect)
        self._bodies = Bodies(database, self._dialect)

    def _agreed(self, dialect: Dialect | None) -> Dialect:
        """The dialect that the file and the caller agree on; a new file takes the caller's."""
        known = self.meta().get("dialect")
        if known is None or dialect is None or dialect.name == known:
            return dialect or dialect_named(known)
        raise JournalError(
            f"this run speaks {known}, not {dialect.name}; open it with its own dialect, or with none."
        )

    @property
    def dialect(self) -> Dialect:
        """The wire format of the carriers."""
        return self._dialect

    @property
    def meter(self) -> Meter:
        """Counts what comes after the entries in the file."""
        return self._meter

    def meta(self) -> dict[str, Any]:
        """What is known of the run, by name; reads no entries."""
        with self._guard, reading():
            return read_meta(self._database)

    def log(self, after: int = 0) -> Iterator[Logged]:
        """The rows of the log behind number `after`, in order, as plain values.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        while rows := self._page(after):
            for seq, at, kind, data in rows:
                try:
                    logged = Logged(seq, at, kind, from_bytes(unpacked(data)))
                except (AttributeError, TypeError, ValueError) as error:
                    raise _unreadable(seq, kind, error) from error
                yield logged
            after = rows[-1][0]

    def _page(self, after: int) -> list[tuple[int, float, str, Any]]:
        # Pages, and no statement that stays open: it would keep the write-ahead log growing.
        with self._guard, reading():
            return self._database.execute(
                "SELECT seq, at, kind, data FROM entry WHERE seq > ? ORDER BY seq LIMIT ?",
                (after, _PAGE),
            ).fetchall()

    def value(self, key: int) -> Any:
        """A body by its key, as rows of the log name it."""
        with self._guard, reading():
            return self._bodies.load_value(key)

    def turn(self, key: int) -> Turn:
        """A turn by its key, as rows of the log name it; the same object each time."""
        with self._guard, reading():
            return self._bodies.load_turn(key)

    def entries(self) -> Iterator[Entry]:
        """Every entry again, in order; commits hold the live context that they made.

        Raises:
            JournalError: a row cannot be read; the message names it.
        """
        return (recorded.entry for recorded in self.tail().new())

    def events(self) -> Iterator[Event]:
        """The events alone, in order; nothing else is read."""
        decoder = self.decoder()
        for logged in self.log():
            if logged.kind == "told":
                entry = self.decoded(decoder, logged)
                assert isinstance(entry, Told)
                yield entry.event

    def tail(self) -> Tail:
        """The log from its start, and then whatever is added to it."""
        return Tail(self)

    def decoder(self) -> Decoder:
        """Reads the values of `log` into entries, from the first row on."""
        return Decoder(self._bodies, self._empty)

    def decoded(self, decoder: Decoder, logged: Logged) -> Entry:
        """One row as an entry; raises `JournalError` where it cannot be read."""
        if not decoder.knows(logged.kind):
            raise JournalError(
                f"entry {logged.seq} is of the kind {logged.kind!r}, which this redraft does not know: a "
                "newer one wrote it. Install that one to go on with this run."
            )
        try:
            with self._guard, reading():
                return decoder.decode(logged.kind, dict(logged.values))
        except JournalError as error:
            raise JournalError(f"entry {logged.seq} ({logged.kind}): {error}") from error
        except (LookupError, TypeError, ValueError) as error:
            raise _unreadable(logged.seq, logged.kind, error) from error

    def _empty(self, frame: Frame, tokens: int) -> Live:
        return Live(self._dialect, self._meter, frame, (), 0, tokens, 1, frame_tokens=tokens)


class Tail:
    """A place in a journal's log, for those who follow it.

    Args:
        journal: the journal, open to read or to write.
    """

    def __init__(self, journal: JournalReader) -> None:
        self._journal = journal
        self._decoder = journal.decoder()
        self._seq = 0

    @property
    def live(self) -> Live | None:
        """The live context after the entries so far; None before there is one."""
        return self._decoder.live

    def new(self) -> Iterator[Recorded]:
        """The entries that were added since the last one that this gave.

        Kinds that a newer redraft has added and marked as remarks are passed over.

        Raises:
            JournalError: a row cannot be read, or is of a kind that is not known; the message names it.
        """
        for logged in self._journal.log(self._seq):
            if not self._decoder.knows(logged.kind) and logged.values.get(ASIDE):
                self._seq = logged.seq
                continue
            entry = self._journal.decoded(self._decoder, logged)
            self._seq = logged.seq
            yield Recorded(logged.seq, logged.at, entry)


class _LateCounter:
    """The default counter, whose vocabulary takes a moment to load, made when it is first needed:
    reading a log counts nothing."""

    def count(self, text: str) -> int:
        """Raw tokens of `text`."""
        return default_counter().count(text)


def _unreadable(seq: int, kind: str, error: Exception) -> JournalError:
    return JournalError(
        f"entry {seq} ({kind}) cannot be read ({error!r}); restore the run from a copy, or fork it at "
        "an earlier revision."
    )
