"""Where a session's record goes."""

from redraft.store.base import (
    Account,
    Answered,
    Appended,
    Committed,
    Entry,
    Journal,
    Refused,
    Sent,
    Told,
)
from redraft.store.volatile import VolatileJournal

__all__ = [
    "Account",
    "Answered",
    "Appended",
    "Committed",
    "Entry",
    "Journal",
    "Refused",
    "Sent",
    "Told",
    "VolatileJournal",
]
