"""The live context and the one door through which it changes. Pure: no I/O, no clock, no chance."""

from redraft.context.binding import Effect, exchange_at, void
from redraft.context.checks import Check, Proposal
from redraft.context.door import commit
from redraft.context.flattening import BOUNDARY, flattening
from redraft.context.gates import RewritePlan, Verdict, commit_rewrite, judge
from redraft.context.groups import Group, group_at, groups, open_start, unanswered
from redraft.context.ledger import Deltas, Ledger, Row, Spend
from redraft.context.live import Live
from redraft.context.plan import Reach, reach
from redraft.context.planning import EditPlan, plan_edit
from redraft.context.reconcile import Block, CallMark, reconcile
from redraft.context.replay import with_appended, with_moves
from redraft.context.revision import (
    RECEIPT_CAP,
    Author,
    Change,
    Commit,
    Gate,
    Insert,
    Move,
    Receipt,
    Refusal,
    Revision,
    Status,
)
from redraft.context.shown import canonical, digest, lines, mark, same, visible
from redraft.context.turn import Draft, Origin, Turn
from redraft.context.undo import invert, obstacles

__all__ = [
    "BOUNDARY",
    "RECEIPT_CAP",
    "Author",
    "Block",
    "CallMark",
    "Change",
    "Check",
    "Commit",
    "Deltas",
    "Draft",
    "EditPlan",
    "Effect",
    "Gate",
    "Group",
    "Insert",
    "Ledger",
    "Live",
    "Move",
    "Origin",
    "Proposal",
    "Reach",
    "Receipt",
    "Refusal",
    "Revision",
    "RewritePlan",
    "Row",
    "Spend",
    "Status",
    "Turn",
    "Verdict",
    "canonical",
    "commit",
    "commit_rewrite",
    "digest",
    "exchange_at",
    "flattening",
    "group_at",
    "groups",
    "invert",
    "judge",
    "lines",
    "mark",
    "obstacles",
    "open_start",
    "plan_edit",
    "reach",
    "reconcile",
    "same",
    "unanswered",
    "visible",
    "void",
    "with_appended",
    "with_moves",
]
