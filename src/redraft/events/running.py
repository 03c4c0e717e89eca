"""What an agent tells those who watch it, beside the events of its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redraft.events.catalogue import Event

__all__ = [
    "CommandEnded",
    "CommandStarted",
    "ExchangeEnded",
    "Prodded",
    "RequestRefused",
    "RunEnded",
]


@dataclass(frozen=True, slots=True)
class CommandStarted(Event):
    """A command begins.

    Attributes:
        command: the model's own text; make it safe before you show it.
        seconds: how long it may run.
    """

    type: ClassVar[str] = "command_started"
    command: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CommandEnded(Event):
    """A command is over.

    Attributes:
        exit_code: what it exited with.
        timed_out: whether it was stopped for its time.
        printed: characters of its output, before any cut.
    """

    type: ClassVar[str] = "command_ended"
    exit_code: int
    timed_out: bool
    printed: int


@dataclass(frozen=True, slots=True)
class Prodded(Event):
    """The model's reply was no use, and it was told so. Costs a step.

    Attributes:
        why: `empty`, `broken-off`, and on the fenced route `made-up` (results that no tool gave) or
            `unfenced` (a call in another form than a fence).
    """

    type: ClassVar[str] = "prodded"
    why: str


@dataclass(frozen=True, slots=True)
class RequestRefused(Event):
    """The server says that the request is too large; a rollback follows."""

    type: ClassVar[str] = "request_refused"


@dataclass(frozen=True, slots=True)
class ExchangeEnded(Event):
    """What the exchange took so far, from the user's words on: told at the end of a run, or of this
    part of it. One that goes on later is told again, with all that it took.

    Attributes:
        rounds: model calls that were answered.
        tool_calls: calls of tools in them.
        answered: whether it has its final answer.
        total_tokens: tokens of all its model calls as the server counted them, prompt and output; 0
            where it reports none.
        status: calls of `context_status`.
        pins: calls of `context_pin` that pinned something.
        unpins: calls of `context_unpin` that unpinned something.
        drops: calls of `context_drop` that dropped something.
        notes: calls of `context_note` that replaced something.
        tokens_freed: tokens that drops and notes took out of the context.
    """

    type: ClassVar[str] = "exchange_ended"
    rounds: int
    tool_calls: int
    answered: bool
    total_tokens: int
    status: int = 0
    pins: int = 0
    unpins: int = 0
    drops: int = 0
    notes: int = 0
    tokens_freed: int = 0


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run is over, or this part of it.

    Attributes:
        status: `finished`, `stopped`, `waiting` (for a person's approval), `interrupted` or `failed`.
        why: the reason; "" for none.
    """

    type: ClassVar[str] = "run_ended"
    status: str
    why: str
