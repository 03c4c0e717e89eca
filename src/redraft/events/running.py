"""What an agent tells those who watch it, beside the events of its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redraft.events.catalogue import Event

__all__ = ["CommandEnded", "CommandStarted", "Prodded", "RequestRefused", "RunEnded"]


@dataclass(frozen=True, slots=True)
class CommandStarted(Event):
    """A command begins, `seconds` at most. `command` is the model's own text: make it safe to show."""

    type: ClassVar[str] = "command_started"
    command: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CommandEnded(Event):
    """A command is over; `printed` counts the characters of its output, before any cut."""

    type: ClassVar[str] = "command_ended"
    exit_code: int
    timed_out: bool
    printed: int


@dataclass(frozen=True, slots=True)
class Prodded(Event):
    """The model's reply was no use (`empty` or `broken-off`), and it was told so. Costs a step."""

    type: ClassVar[str] = "prodded"
    why: str


@dataclass(frozen=True, slots=True)
class RequestRefused(Event):
    """The server says that the request is too large; a rollback follows."""

    type: ClassVar[str] = "request_refused"


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run is over, or this part of it: `finished`, `stopped`, `interrupted` or `failed`."""

    type: ClassVar[str] = "run_ended"
    status: str
    why: str
