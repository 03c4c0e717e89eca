"""What a memory keeps beyond one context, and what a store of it must do.

Two things are kept: items, each a text that a later task may need, and the structured state of a session,
in versions. The embedded store is `redraft.store.memory.SQLiteMemory`; one on a server has the same verbs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

__all__ = [
    "Added",
    "Draft",
    "Hit",
    "ItemQuery",
    "ItemSource",
    "Memory",
    "MemoryItem",
    "SessionState",
    "StateStore",
]


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Where an item came from.

    Attributes:
        session: the session that said it; "" where none did.
        turn: the turn's number there, if a turn said it.
        at: when, in seconds since the epoch.
    """

    session: str
    turn: int | None
    at: float


@dataclass(frozen=True, slots=True)
class Draft:
    """An item that is offered to a memory.

    Attributes:
        text: what to remember, in words that stand alone.
        task_type: the kind of task that it serves.
        tags: words to find it by.
        session: the session that says it.
        turn: the number of the turn that says it.
        at: when it was said, in seconds since the epoch; None for now.
        expires: when it stops being true, in seconds since the epoch; None for never.
        sources: where it came from besides, as an export says it.
    """

    text: str
    task_type: str = ""
    tags: tuple[str, ...] = ()
    session: str = ""
    turn: int | None = None
    at: float | None = None
    expires: float | None = None
    sources: tuple[ItemSource, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """An item that is kept.

    Attributes:
        id: its number in this store, never given twice.
        text: what is remembered.
        task_type: the kind of task that it serves.
        tags: words to find it by, sorted.
        at: when it was last said, in seconds since the epoch.
        expires: when it stops being found; None for never.
        sources: who said it, oldest first; more than one where near-duplicates were merged.
    """

    id: int
    text: str
    task_type: str
    tags: tuple[str, ...]
    at: float
    expires: float | None
    sources: tuple[ItemSource, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a draft.

    Attributes:
        outcome: `kept` as a new item, `merged` into one that says the same, or `refused`.
        id: the item's number; None where it was refused.
        reason: why it was refused, and what to do; "" otherwise.
    """

    outcome: Literal["kept", "merged", "refused"]
    id: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """What to look for. All that is given must hold.

    Attributes:
        text: the task at hand, in words; "" lists the newest items instead.
        task_type: the kind of task; None for any.
        since, until: seconds since the epoch, half open: `since <= at < until`.
        tags: tags that an item must have, all of them.
        session: a session that said it.
        limit: how many items at most.
        floor: the least relevance that comes back, from 0 to 1; None for the store's own.
    """

    text: str = ""
    task_type: str | None = None
    since: float | None = None
    until: float | None = None
    tags: tuple[str, ...] = ()
    session: str | None = None
    limit: int = 8
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found.

    Attributes:
        item: the item.
        relevance: how far it supports what was asked, from 0 to 1; 1 where no text was asked for.
    """

    item: MemoryItem
    relevance: float


@dataclass(frozen=True, slots=True)
class SessionState:
    """One version of a session's state.

    Attributes:
        session: whose it is.
        version: from 1; 0 is the empty state of a session that saved none.
        state: the state, as JSON has it.
        at: when it was saved, in seconds since the epoch.
        task_type: the kind of task.
    """

    session: str
    version: int
    state: Mapping[str, Any]
    at: float = 0.0
    task_type: str = ""


class Memory(Protocol):
    """A store of items."""

    def add(self, draft: Draft) -> Added:
        """Offer an item; durable when this returns.

        Raises:
            MemoryFormatError: a field has a value that no item can have.
            MemoryStoreError: it cannot be kept, and nothing has changed.
        """

    def add_all(self, drafts: Iterable[Draft]) -> list[Added]:
        """Offer several, all in one step: after an error none of them is kept."""

    def item(self, number: int) -> MemoryItem:
        """The item of this number; raises `MemoryMissingError`."""

    def search(self, query: ItemQuery) -> list[Hit]:
        """Items that support what is asked, the most relevant first."""

    def items(self) -> Iterable[MemoryItem]:
        """Every item that has not expired, oldest number first."""

    def forget(self, numbers: Iterable[int]) -> int:
        """Remove items for good; returns how many there were."""

    def prune(self) -> int:
        """Remove what has expired; returns how many items went."""


@runtime_checkable
class StateStore(Protocol):
    """A store of sessions' states."""

    def save_state(
        self, session: str, state: Mapping[str, Any], *, base: int, task_type: str = ""
    ) -> SessionState:
        """Save the next version of a session's state; durable when this returns.

        Args:
            session: whose it is.
            state: an object of plain JSON values.
            base: the version that it was made from; 0 for the first.
            task_type: the kind of task.

        Raises:
            MemoryConflictError: another version was saved meanwhile; nothing has changed.
            MemoryFormatError: it is no JSON, or too large.
            MemoryStoreError: it cannot be kept, and nothing has changed.
        """

    def state(self, session: str, version: int | None = None) -> SessionState:
        """A version of a session's state: the newest, or the one of this number.

        A session that saved none has the empty state, version 0.

        Raises:
            MemoryMissingError: that version is not kept.
        """

    def states(
        self,
        *,
        session: str | None = None,
        task_type: str | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> Sequence[SessionState]:
        """Versions that are kept, oldest first, by session, task type and time (`since <= at < until`)."""
