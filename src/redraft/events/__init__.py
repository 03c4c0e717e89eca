"""What a session tells those who watch it."""

from redraft.events.catalogue import (
    EditJudged,
    Escalated,
    Event,
    HandedOver,
    NudgeGiven,
    PhaseChanged,
    ReplyRead,
    RequestMade,
    RolledBack,
    RoundEnded,
)

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
]
