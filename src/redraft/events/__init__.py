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
from redraft.events.context_ops import ContextOp, ContextOps, counted_ops
from redraft.events.reading import event_from_dict
from redraft.events.running import (
    CommandEnded,
    CommandStarted,
    Prodded,
    RequestRefused,
    RunEnded,
)
from redraft.events.schema import event_catalogue, event_kinds, event_schema
from redraft.events.scorecard import aggregate, harness_metrics, scorecard_row

__all__ = [
    "CommandEnded",
    "CommandStarted",
    "ContextOp",
    "ContextOps",
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
    "aggregate",
    "counted_ops",
    "event_catalogue",
    "event_from_dict",
    "event_kinds",
    "event_schema",
    "harness_metrics",
    "scorecard_row",
]
