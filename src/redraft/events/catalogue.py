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
    """The model answered. The figures of tokens are the server's own; 0 where it reported none.

    Attributes:
        calls: tool calls in the reply.
        complete: False where the reply was cut off.
        prompt: tokens of the prompt, cached ones included.
        cached: how many of these came from a cache.
        output: tokens of the reply, reasoning included.
    """

    type: ClassVar[str] = "reply_read"
    calls: int
    complete: bool
    prompt: int
    cached: int
    output: int


@dataclass(frozen=True, slots=True)
class EditJudged(Event):
    """The door answered a revision.

    Attributes:
        number: the revision's number; 0 where it did not commit.
        author: who proposed it: `model`, `policy`, `harness` or `person`.
        source: by what means: `file`, `tool`, or the name of a policy or of a pass.
        status: what became of it, as the receipt says: `applied`, `grew`, `over`, `queued`,
            `rejected`, `failed`, `ignored` or `no-match`.
        before: tokens of the context before it.
        after: tokens of the context after it.
        rule: the rule that refused it; "" for none.
        reread: tokens that the server must read again because of it.
        net_raw: raw tokens that it saves, less what it costs.
    """

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
    """The model was told how full its context is.

    Attributes:
        tier: `inform`, `tidy` or `compact`.
        tokens: the context's size.
    """

    type: ClassVar[str] = "nudge_given"
    tier: str
    tokens: int


@dataclass(frozen=True, slots=True)
class RolledBack(Event):
    """The newest groups left because the context was too large.

    Attributes:
        count: how many rollbacks the run has had, this one included.
        turns: numbers of the turns that left.
        before: tokens of the context before it.
        after: tokens of the context after it.
    """

    type: ClassVar[str] = "rolled_back"
    count: int
    turns: tuple[int, ...]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Escalated(Event):
    """A rewrite could not prove that it conserves: a person or supervisor may want to know.

    Attributes:
        source: where the revision came from.
        rule: what it broke, in words.
    """

    type: ClassVar[str] = "escalated"
    source: str
    rule: str


@dataclass(frozen=True, slots=True)
class HandedOver(Event):
    """Two edits running cost more than they freed, so the harness does the next compaction.

    Attributes:
        policy: the name of the policy that decides it.
    """

    type: ClassVar[str] = "handed_over"
    policy: str


@dataclass(frozen=True, slots=True)
class StartedOver(Event):
    """The client rewrote its own history: the context is what the client sent, and edits are gone.

    Attributes:
        turns: how many turns the context has now.
        tokens: its size.
    """

    type: ClassVar[str] = "started_over"
    turns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RoundEnded(Event):
    """A round is over.

    Attributes:
        tokens: the context's size.
        limit: what it may be.
        cost: task steps that it took; 0 where it was free, as its only effect was an applied edit.
    """

    type: ClassVar[str] = "round_ended"
    tokens: int
    limit: int
    cost: int


@dataclass(frozen=True, slots=True)
class PhaseChanged(Event):
    """The run goes on, gets its last turn, or has stopped.

    Attributes:
        phase: `running`, `final` or `stopped`.
        why: the reason; "" for none.
    """

    type: ClassVar[str] = "phase_changed"
    phase: str
    why: str
