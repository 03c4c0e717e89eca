"""A journal in memory: complete for the life of the process, and gone with it."""

from __future__ import annotations

from redraft.store.base import Appended, Committed, Entry

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

    def originals(self) -> dict[int, list[object]]:
        """Every version that each turn ever had, oldest first, by number."""
        versions: dict[int, list[object]] = {}
        for entry in self.entries:
            if isinstance(entry, Appended):
                turns = entry.turns
            elif isinstance(entry, Committed):
                turns = tuple(move.new for move in entry.commit.moves if move.new is not None)
            else:
                continue
            for turn in turns:
                known = versions.setdefault(turn.number, [])
                if turn not in known:
                    known.append(turn)
        return versions
