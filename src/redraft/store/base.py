"""What a journal is given, and when: the append-only record of everything.

A commit is recorded before the live context changes. A journal that cannot record raises, and then
nothing has changed: that is how a full disk loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from redraft.context import Commit, Refusal, Row, Turn
from redraft.dialects import Usage
from redraft.events import Event

__all__ = [
    "Account",
    "Answered",
    "Appended",
    "Committed",
    "Entry",
    "Journal",
    "Refused",
    "Sent",
    "Told",
]


@dataclass(frozen=True, slots=True)
class Appended:
    """Turns that joined the end of the live context, with their original carriers."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """A revision that passed, under its number, with every turn that it replaced.

    Attributes:
        number: the revision's number in this session, from 1.
        commit: what the door answered.
        edit_calls: places of the calls in the assistant turn that made the edit, for training.
    """

    number: int
    commit: Commit
    edit_calls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A revision or a context file that did not pass; `data` holds the rejected bytes."""

    rule: str
    refusal: Refusal | None = None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Sent:
    """A model call is about to be made. Its exact input follows from the entries before this one.

    Attributes:
        round: the round's number.
        turns: how many turns are sent.
        tokens: their raw tokens, frame included.
    """

    round: int
    turns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A model call was answered; what the server reported of it."""

    round: int
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Account:
    """A closed row of the ledger."""

    row: Row


@dataclass(frozen=True, slots=True)
class Told:
    """An event, as it was emitted."""

    event: Event


Entry = Account | Answered | Appended | Committed | Refused | Sent | Told


class Journal(Protocol):
    """The durable, append-only record of a session."""

    def record(self, entry: Entry) -> None:
        """Record `entry`; when this returns, it is as durable as the journal can make it."""
