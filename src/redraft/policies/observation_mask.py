"""`observation-mask`: old tool results become one-line stubs, many at once.

Each step breaks the prefix cache at the first stub, so it acts rarely and frees much: it starts at a
trigger and goes down to a target well below it (DESIGN.md section 4, rule 10, and section 9).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from redraft.context import Change, Gate, Live, Origin, Revision, Turn, groups
from redraft.dialects.preserve import pending_approvals
from redraft.policies.base import View
from redraft.policies.folding import pays, unread
from redraft.policies.options import checked, low, share, target_below, whole
from redraft.prompts.rewrites import masked_result

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

    trigger: float = share(0.75)
    target: float = low(0.5)
    keep: int = whole(3)
    least: int = whole(60)
    name: str = "observation-mask"

    def __post_init__(self) -> None:
        checked(self)
        target_below(self, self.target, self.trigger)

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
            written = live.dialect.write(turn.content, masked_result(turn.tokens), (), ())
            draft = live.draft(written, Origin.HARNESS)
            if draft.tokens >= turn.tokens:
                continue
            changes.append(Change(turn.number, turn.digest, draft))
            freed += turn.tokens - draft.tokens
        if not pays(view, freed):
            return None
        return Revision("policy", self.name, tuple(changes), gate=Gate.CONSERVE)

    def _candidates(self, live: Live) -> Iterator[Turn]:
        called = [group for group in groups(live.turns, live.head) if group.head.content.calls]
        newest = {
            turn.number for g in called[max(len(called) - self.keep, 0) :] for turn in g.turns
        }
        stay = newest | unread(live)
        for turn in live.candidates():
            if turn.number not in stay and turn.tokens >= self.least and _may_go(live, turn):
                yield turn


def _may_go(live: Live, turn: Turn) -> bool:
    """What a tool said, as it said it: not what the model put into its place (it chose those words), nor
    an approval that waits."""
    output = turn.role == "tool" and turn.origin is Origin.ORIGINAL
    return output and not pending_approvals(turn.content.text, live.settled)
