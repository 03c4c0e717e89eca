"""When to tell the model how full its context is, and how urgently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

__all__ = ["TIERS", "Nudge", "Nudges", "urgent_band"]

TIERS = (25, 50, 75)
"""Percent of the limit at which the three nudges come, once each (DESIGN.md section 6)."""

_RECENT = 3


class Nudge(StrEnum):
    """What to say, mildest first; `redraft.prompts` has the words."""

    INFORM = "inform"
    """The size only. Instructions this early make models wipe what they still need."""
    TIDY = "tidy"
    """Finish the unit of work, then tidy once."""
    COMPACT = "compact"
    """Compact what is settled, wipe nothing."""
    URGENT = "urgent"
    """The next large output may not fit."""


_BY_LEVEL = (Nudge.INFORM, Nudge.TIDY, Nudge.COMPACT)


def urgent_band(limit: int, recent_outputs: Sequence[int]) -> int:
    """How close to the limit every round is urgent.

    A fixed band is jumped over by one large output, so it grows with what came lately.

    Args:
        limit: tokens that a context may hold.
        recent_outputs: tokens of the tool outputs so far, oldest first; the last three count.

    Returns:
        tokens below the limit: 10 % of it or twice the largest of those outputs, whichever is more,
        and at most half the limit. Source: DESIGN.md section 6.
    """
    largest = max(recent_outputs[-_RECENT:], default=0)
    return min(max(limit // 10, 2 * largest), limit // 2)


@dataclass(frozen=True, slots=True)
class Nudges:
    """Which tiers the context stands above, and so which nudges are spent.

    Attributes:
        level: how many tiers are reached. A tier fires when the level rises to it and is armed
            again when the level falls below it.
        tiers: three rising percentages of the limit.
    """

    level: int = 0
    tiers: tuple[int, int, int] = TIERS

    def step(
        self, used: int, limit: int, recent_outputs: Sequence[int]
    ) -> tuple[Nudges, Nudge | None]:
        """The state after a round, and what to say, if anything.

        Cases: (1) in the urgent band always `URGENT`; (2) the highest tier that the context has newly
        reached; the ones below it count as said; (3) nothing.

        Args:
            used: tokens that the context holds.
            limit: tokens that it may hold.
            recent_outputs: as for `urgent_band`.
        """
        level = sum(used * 100 >= tier * limit for tier in self.tiers)
        state = replace(self, level=level)
        if limit - used < urgent_band(limit, recent_outputs):
            return state, Nudge.URGENT  # (1)
        if level > self.level:
            return state, _BY_LEVEL[level - 1]  # (2)
        return state, None  # (3)
