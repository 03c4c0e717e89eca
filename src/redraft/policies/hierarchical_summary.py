"""`hierarchical-summary`: older turns become layers (goals, facts, pending actions, constraints), the last
groups stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from redraft.context import RECEIPT_CAP, Revision
from redraft.policies.base import Summarize, View
from redraft.policies.folding import accepted, asked, folded, movable, pays, size, worthwhile
from redraft.policies.options import checked, nested, share, whole
from redraft.policies.sliding_window import NOTHING_ELSE, WINDOW, SlidingWindow, instead

__all__ = ["LAYERS", "HierarchicalSummary"]

LAYERS = ("Goals", "Facts", "Pending actions", "Constraints")
"""The headings of the summary. Source: `seeds/003_*`, pattern 2."""


@dataclass(frozen=True, slots=True)
class HierarchicalSummary:
    """Summarize older turns in layers.

    Attributes:
        trigger: the share of the limit from which it acts.
        keep: how many of the newest groups stay raw.
        summary: raw tokens that the layers may have together; never more than an eighth of the limit.
        fallback: what is done where no summary can be had.
    """

    trigger: float = share(0.75)
    keep: int = whole(5)
    summary: int = whole(2_000, least=1)
    fallback: SlidingWindow = field(default=WINDOW, metadata=nested("trigger"))
    name: str = "hierarchical-summary"

    def __post_init__(self) -> None:
        checked(self)

    def decide(self, view: View) -> Revision | Summarize | None:
        """Ask for the layers, then put them into the place of the older turns. An earlier summary is
        an older turn like any other, so layers are merged and not stacked."""
        live = view.live
        if live.tokens < self.trigger * view.limit:
            return None
        old = movable(live, self.keep)
        if size(old) <= 2 * RECEIPT_CAP or not pays(view, size(old)):
            return instead(view, self.name, self.fallback, NOTHING_ELSE, self.trigger)
        cap = min(self.summary, max(view.limit // 8, RECEIPT_CAP))
        need = asked(self.name, old, cap, LAYERS)
        if need.key not in view.given:
            return need
        text = accepted(view, need, old)
        done = worthwhile(view, folded(live, self.name, old, text) if text else None)
        return done or instead(view, self.name, self.fallback, trigger=self.trigger)
