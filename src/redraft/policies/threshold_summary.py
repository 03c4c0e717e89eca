"""`threshold-summary`: at three quarters of the budget the whole history becomes one summary."""

from __future__ import annotations

from dataclasses import dataclass, field

from redraft.context import RECEIPT_CAP, Revision
from redraft.policies.base import Summarize, View
from redraft.policies.folding import accepted, asked, folded, movable, pays, size, worthwhile
from redraft.policies.options import checked, nested, share, whole
from redraft.policies.sliding_window import WINDOW, SlidingWindow, instead

__all__ = ["ThresholdSummary"]


@dataclass(frozen=True, slots=True)
class ThresholdSummary:
    """Summarize everything that may move, at once.

    Attributes:
        trigger: the share of the limit from which it acts.
        summary: raw tokens that the summary may have; never more than an eighth of the limit.
        fallback: what is done where no summary can be had.
    """

    trigger: float = share(0.75)
    summary: int = whole(2_000, least=1)
    fallback: SlidingWindow = field(default=WINDOW, metadata=nested("trigger"))
    name: str = "threshold-summary"

    def __post_init__(self) -> None:
        checked(self)

    def decide(self, view: View) -> Revision | Summarize | None:
        """Ask for the summary, then put it into the place of the history; below the trigger nothing."""
        live = view.live
        if live.tokens < self.trigger * view.limit:
            return None
        old = movable(live)
        if size(old) <= 2 * RECEIPT_CAP or not pays(view, size(old)):
            return None
        need = asked(self.name, old, min(self.summary, max(view.limit // 8, RECEIPT_CAP)))
        if need.key not in view.given:
            return need
        text = accepted(view, need, old)
        done = worthwhile(view, folded(live, self.name, old, text) if text else None)
        return done or instead(view, self.name, self.fallback, trigger=self.trigger)
