"""What sessions and agents tell those who watch them."""

from redraft.events.approvals import ApprovalAsked, ApprovalDecided, ApprovalSettled
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
from redraft.events.context_ops import ContextOp, ContextOps, counted_ops, op_of
from redraft.events.exchanges import Exchange, exchanges_after, exchanges_of
from redraft.events.reading import event_from_dict
from redraft.events.rotations import NeedUnmet, PolicyActed, SpentOutside
from redraft.events.running import (
    CommandEnded,
    CommandStarted,
    ExchangeEnded,
    Prodded,
    RequestRefused,
    RunEnded,
)
from redraft.events.schema import event_catalogue, event_kinds, event_schema
from redraft.events.scorecard import aggregate, harness_metrics, scorecard_row

__all__ = [
    "ApprovalAsked",
    "ApprovalDecided",
    "ApprovalSettled",
    "CommandEnded",
    "CommandStarted",
    "ContextOp",
    "ContextOps",
    "EditJudged",
    "Escalated",
    "Event",
    "Exchange",
    "ExchangeEnded",
    "HandedOver",
    "NeedUnmet",
    "NudgeGiven",
    "PhaseChanged",
    "PolicyActed",
    "Prodded",
    "ReplyRead",
    "RequestMade",
    "RequestRefused",
    "RolledBack",
    "RoundEnded",
    "RunEnded",
    "SpentOutside",
    "StartedOver",
    "aggregate",
    "counted_ops",
    "event_catalogue",
    "event_from_dict",
    "event_kinds",
    "event_schema",
    "exchanges_after",
    "exchanges_of",
    "harness_metrics",
    "op_of",
    "scorecard_row",
]
