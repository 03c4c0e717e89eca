"""`observation-mask`: old tool results become one-line stubs, many at once.

Each step breaks the prefix cache at the first stub, so it acts rarely and frees much: it starts at a
trigger and goes down to a target well below it (DESIGN.md section 4, rule 10, and section 9).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from redraft.context import RECEIPT_CAP, Change, Gate, Live, Origin, Revision, Turn, groups
from redraft.policies.base import View

__all__ = ["ObservationMask"]


@dataclass(frozen=True, slots=True)
class ObservationMask:
    """Stub tool results, oldest first.

    Attributes:
        trigger: the share of the limit from which it acts.
        target: the share of the limit that it goes down to.
        keep: how many of the newest groups with calls stay as they are.
        least: results of fewer raw tokens stay; their stub would hardly be smaller.
    """

    trigger: float = 0.75
    target: float = 0.5
    keep: int = 3
    least: int = 60
    name: str = "observation-mask"

    def decide(self, view: View) -> Revision | None:
        """Stub enough old results to reach the target; nothing below the trigger, or where the stubs
        would not pay for their receipt."""
        live = view.live
        if live.tokens < self.trigger * view.limit:
            return None
        wanted = live.tokens - int(self.target * view.limit)
        changes: list[Change] = []
        freed = 0
        for turn in self._candidates(live):
            if freed >= wanted:
                break
            text = f"[{turn.tokens} tokens of tool output removed to save room]"
            draft = live.draft(live.dialect.write(turn.content, text, (), ()), Origin.HARNESS)
            changes.append(Change(turn.number, turn.digest, draft))
            freed += turn.tokens - draft.tokens
        if freed <= RECEIPT_CAP:
            return None
        return Revision("policy", self.name, tuple(changes), gate=Gate.CONSERVE)

    def _candidates(self, live: Live) -> Iterator[Turn]:
        called = [group for group in groups(live.turns, live.head) if group.head.content.calls]
        newest = {
            turn.number for g in called[max(len(called) - self.keep, 0) :] for turn in g.turns
        }
        for turn in live.candidates():
            if (
                turn.role == "tool"
                and turn.tokens >= self.least
                and turn.number not in newest
                and turn.origin is not Origin.HARNESS
            ):
                yield turn
