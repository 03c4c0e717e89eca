"""What an agent tells those who watch it, beside the events of its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redraft.events.catalogue import Event

__all__ = ["CommandEnded", "CommandStarted", "Prodded", "RequestRefused", "RunEnded"]


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
        why: `empty` or `broken-off`.
    """

    type: ClassVar[str] = "prodded"
    why: str


@dataclass(frozen=True, slots=True)
class RequestRefused(Event):
    """The server says that the request is too large; a rollback follows."""

    type: ClassVar[str] = "request_refused"


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run is over, or this part of it.

    Attributes:
        status: `finished`, `stopped`, `interrupted` or `failed`.
        why: the reason; "" for none.
    """

    type: ClassVar[str] = "run_ended"
    status: str
    why: str
