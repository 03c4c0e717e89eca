"""What sessions and agents tell those who watch them."""

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
    StartedOver,
)
from redraft.events.reading import event_from_dict
from redraft.events.running import (
    CommandEnded,
    CommandStarted,
    Prodded,
    RequestRefused,
    RunEnded,
)

__all__ = [
    "CommandEnded",
    "CommandStarted",
    "EditJudged",
    "Escalated",
    "Event",
    "HandedOver",
    "NudgeGiven",
    "PhaseChanged",
    "Prodded",
    "ReplyRead",
    "RequestMade",
    "RequestRefused",
    "RolledBack",
    "RoundEnded",
    "RunEnded",
    "StartedOver",
    "event_from_dict",
]
