"""A journal in memory: complete for the life of the process, and gone with it."""

from __future__ import annotations

from redraft.context import Turn
from redraft.store.base import Committed, Entry
from redraft.store.replay import versions

__all__ = ["VolatileJournal"]


class VolatileJournal:
    """Keeps every entry in a list.

    Attributes:
        entries: what was recorded, in order.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def record(self, entry: Entry) -> None:
        """Append `entry`."""
        self.entries.append(entry)

    def commits(self) -> list[Committed]:
        """The revisions that passed, oldest first."""
        return [entry for entry in self.entries if isinstance(entry, Committed)]

    def originals(self) -> dict[int, list[Turn]]:
        """Every version that each turn ever had, oldest first, by number."""
        return versions(self.entries)
