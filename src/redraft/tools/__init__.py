"""Tools that a model edits its context with, as intents: arguments in, a revision out. Pure."""

from redraft.tools.action_catalogue import (
    BRANCH,
    COMPACT_CONTEXT,
    MEMORY_FETCH,
    MEMORY_STORE,
    RETURN_FROM_BRANCH,
    guided,
)
from redraft.tools.actions import (
    Action,
    BranchIntent,
    CompactIntent,
    FetchIntent,
    ReturnIntent,
    StoreIntent,
    action_of,
)
from redraft.tools.arguments import intent_of
from redraft.tools.catalogue import CONTEXT_TOOLS
from redraft.tools.declared import declared, offered, with_tools
from redraft.tools.described import described, in_words, signature
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
    "BRANCH",
    "COMPACT_CONTEXT",
    "CONTEXT_TOOLS",
    "EDIT_CONTEXT",
    "MEMORY_FETCH",
    "MEMORY_STORE",
    "RETURN_FROM_BRANCH",
    "Action",
    "BranchIntent",
    "CompactIntent",
    "Declined",
    "DropIntent",
    "FetchIntent",
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
    "ReturnIntent",
    "Slice",
    "StatusIntent",
    "StoreIntent",
    "UnpinIntent",
    "action_of",
    "asks_for_tools",
    "cut",
    "declared",
    "described",
    "fenced_note",
    "find_in",
    "found_text",
    "guided",
    "in_words",
    "intend",
    "intent_of",
    "offer",
    "offered",
    "outcome_text",
    "reminder_line",
    "revision_of",
    "signature",
    "slice_text",
    "status_text",
    "with_tools",
]
