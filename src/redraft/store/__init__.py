"""Where a session's record goes."""

from redraft.store.base import (
    Account,
    Answered,
    Appended,
    Committed,
    Entry,
    Journal,
    Output,
    Pinned,
    Refused,
    Sent,
    Started,
    Told,
)
from redraft.store.replay import Input, inputs, versions
from redraft.store.volatile import VolatileJournal

__all__ = [
    "Account",
    "Answered",
    "Appended",
    "Committed",
    "Entry",
    "Input",
    "Journal",
    "Output",
    "Pinned",
    "Refused",
    "Sent",
    "Started",
    "Told",
    "VolatileJournal",
    "inputs",
    "versions",
]
