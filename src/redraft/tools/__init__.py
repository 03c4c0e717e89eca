"""Tools that a model edits its context with, as intents: arguments in, a revision out. Pure."""

from redraft.tools.arguments import intent_of
from redraft.tools.catalogue import CONTEXT_TOOLS
from redraft.tools.declared import declared, offered, with_tools
from redraft.tools.edit_context import EDIT_CONTEXT, Outline, intend
from redraft.tools.intents import (
    DropIntent,
    Intent,
    NoteIntent,
    PinIntent,
    ReadIntent,
    StatusIntent,
    UnpinIntent,
)
from redraft.tools.offering import (
    Offer,
    Offering,
    asks_for_tools,
    fenced_note,
    offer,
    reminder_line,
)
from redraft.tools.operations import Declined, Planned, revision_of
from redraft.tools.pins import Pin, PinBoard
from redraft.tools.reading import Found, Hit, Slice, cut, find_in, found_text, slice_text
from redraft.tools.telling import outcome_text, status_text

__all__ = [
    "CONTEXT_TOOLS",
    "EDIT_CONTEXT",
    "Declined",
    "DropIntent",
    "Found",
    "Hit",
    "Intent",
    "NoteIntent",
    "Offer",
    "Offering",
    "Outline",
    "Pin",
    "PinBoard",
    "PinIntent",
    "Planned",
    "ReadIntent",
    "Slice",
    "StatusIntent",
    "UnpinIntent",
    "asks_for_tools",
    "cut",
    "declared",
    "fenced_note",
    "find_in",
    "found_text",
    "intend",
    "intent_of",
    "offer",
    "offered",
    "outcome_text",
    "reminder_line",
    "revision_of",
    "slice_text",
    "status_text",
    "with_tools",
]
