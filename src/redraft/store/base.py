"""What a journal is given, and when: the append-only record of everything.

A commit is recorded before the live context changes. A journal that cannot record raises, and then
nothing has changed: that is how a full disk loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from redraft.context import Commit, Refusal, Row, Turn
from redraft.dialects import Frame, Usage
from redraft.events import Event

__all__ = [
    "Account",
    "Answered",
    "Appended",
    "Committed",
    "Entry",
    "Journal",
    "Output",
    "Pinned",
    "Refused",
    "Sent",
    "Started",
    "Told",
]


@dataclass(frozen=True, slots=True)
class Started:
    """A context at its beginning: a session's, or the one after a client rewrote its history.

    Attributes:
        frame: tools and parameters.
        turns: the turns it begins with, with their original carriers.
        head: how many of them are the pinned prefix.
    """

    frame: Frame
    turns: tuple[Turn, ...]
    head: int


@dataclass(frozen=True, slots=True)
class Appended:
    """Turns that joined the end of the live context, with their original carriers."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """A tool's output as it came, where the context will hold it cut or escaped.

    Attributes:
        round: the round's number.
        answers: the id of the call that it answers.
        text: all of it.
    """

    round: int
    answers: str
    text: str


@dataclass(frozen=True, slots=True)
class Committed:
    """A revision that passed, under its number, with every turn that it replaced.

    Attributes:
        number: the revision's number in this session, from 1.
        commit: what the door answered.
        edit_calls: places of the calls in the round's assistant turn that made the edit, for
            training; empty for what no model did.
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
class Pinned:
    """Which turns are pinned from here on, by number, beside the prefix."""

    numbers: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sent:
    """A model call is about to be made. Its exact input follows from the entries before this one
    (`redraft.store.inputs`).

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


Entry = (
    Account | Answered | Appended | Committed | Output | Pinned | Refused | Sent | Started | Told
)


class Journal(Protocol):
    """The durable, append-only record of a session."""

    def record(self, entry: Entry) -> None:
        """Record `entry`; when this returns, it is as durable as the journal can make it."""
