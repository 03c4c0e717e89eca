"""When the context is too full and what follows: pure decisions, no I/O, no clock, no chance.

Each decision is a frozen state with a method that returns the next state and what to do.
"""

from redraft.budget.cap import cap_output, plain_marker
from redraft.budget.limits import DEFAULT_WINDOW, MARGIN, check_room, limit, window_of
from redraft.budget.nudges import TIERS, Nudge, Nudges, urgent_band
from redraft.budget.readout import Readout
from redraft.budget.rollback import (
    MAXIMUM,
    Choice,
    Overflow,
    Phase,
    Rollbacks,
    choose,
    commands,
    overflow,
)
from redraft.budget.steps import FREE_RUN, FreeRounds

__all__ = [
    "DEFAULT_WINDOW",
    "FREE_RUN",
    "MARGIN",
    "MAXIMUM",
    "TIERS",
    "Choice",
    "FreeRounds",
    "Nudge",
    "Nudges",
    "Overflow",
    "Phase",
    "Readout",
    "Rollbacks",
    "cap_output",
    "check_room",
    "choose",
    "commands",
    "limit",
    "overflow",
    "plain_marker",
    "urgent_band",
    "window_of",
]
