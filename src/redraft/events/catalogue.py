"""Every event that a session emits: small, immutable, made of plain values.

Token figures are as shown to the model (calibrated), unless a name says `raw`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

__all__ = [
    "EditJudged",
    "Escalated",
    "Event",
    "HandedOver",
    "NudgeGiven",
    "PhaseChanged",
    "ReplyRead",
    "RequestMade",
    "RolledBack",
    "RoundEnded",
    "StartedOver",
]


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events.

    Attributes:
        round: the number of the round in which it happened, from 1.
    """

    type: ClassVar[str] = "event"
    round: int

    def as_dict(self) -> dict[str, Any]:
        """The event as plain values, its `type` first: what a JSON line holds."""
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True, slots=True)
class RequestMade(Event):
    """A request is about to be sent.

    Attributes:
        tokens: its size.
        limit: what it may be.
        raw: its size in raw tokens.
        reused_raw: how many of these are, byte for byte, the start of the request before.
        reread_raw: how many belong to turns that were sent before, unchanged, and must be read
            again because something in front of them changed.
    """

    type: ClassVar[str] = "request_made"
    tokens: int
    limit: int
    raw: int
    reused_raw: int
    reread_raw: int


@dataclass(frozen=True, slots=True)
class ReplyRead(Event):
    """The model answered with so many tool calls; `prompt` and `cached` as the server counted."""

    type: ClassVar[str] = "reply_read"
    calls: int
    complete: bool
    prompt: int
    cached: int
    output: int


@dataclass(frozen=True, slots=True)
class EditJudged(Event):
    """The door answered a revision. `number` is 0 where it did not commit."""

    type: ClassVar[str] = "edit_judged"
    number: int
    author: str
    source: str
    status: str
    before: int
    after: int
    rule: str
    reread: int
    net_raw: int


@dataclass(frozen=True, slots=True)
class NudgeGiven(Event):
    """The model was told how full its context is, at this tier."""

    type: ClassVar[str] = "nudge_given"
    tier: str
    tokens: int


@dataclass(frozen=True, slots=True)
class RolledBack(Event):
    """The newest groups left because the context was too large."""

    type: ClassVar[str] = "rolled_back"
    count: int
    turns: tuple[int, ...]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Escalated(Event):
    """A rewrite could not prove that it conserves: a person or supervisor may want to know."""

    type: ClassVar[str] = "escalated"
    source: str
    rule: str


@dataclass(frozen=True, slots=True)
class HandedOver(Event):
    """Two edits running cost more than they freed, so the harness does the next compaction."""

    type: ClassVar[str] = "handed_over"
    policy: str


@dataclass(frozen=True, slots=True)
class StartedOver(Event):
    """The client rewrote its own history: the context is what the client sent, and edits are gone."""

    type: ClassVar[str] = "started_over"
    turns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RoundEnded(Event):
    """A round is over. `cost` is 0 where it was free: its only effect was an applied edit."""

    type: ClassVar[str] = "round_ended"
    tokens: int
    limit: int
    cost: int


@dataclass(frozen=True, slots=True)
class PhaseChanged(Event):
    """The run goes on (`running`), gets its last turn (`final`), or has stopped (`stopped`)."""

    type: ClassVar[str] = "phase_changed"
    phase: str
    why: str
