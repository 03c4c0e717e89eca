"""`state-rewrite`: one consolidated state, written anew at every turn.

The other end of the spectrum from append-only: the context stays small, and every call pays for a summary
and for a prefix that is cached no further than the task.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from redraft.context import RECEIPT_CAP, Revision
from redraft.policies.base import Summarize, View
from redraft.policies.folding import accepted, asked, folded, movable, size
from redraft.policies.options import checked, nested, whole
from redraft.policies.sliding_window import NOTHING_ELSE, WINDOW, SlidingWindow, instead

__all__ = ["STATE", "StateRewrite"]

STATE = ("Goals", "Done", "Facts", "Pending actions", "Constraints")
"""The headings of the state."""


@dataclass(frozen=True, slots=True)
class StateRewrite:
    """Rewrite the state at each call at which that frees anything.

    Attributes:
        state: raw tokens that the state may have; never more than a quarter of the limit.
        keep: how many of the newest groups stay raw.
        fallback: what is done where no state can be had. It waits for its own trigger, so a summarizer
            that fails once costs nothing.
    """

    state: int = whole(1_500, least=1)
    keep: int = whole(1)
    fallback: SlidingWindow = field(default=WINDOW, metadata=nested())
    name: str = "state-rewrite"

    def __post_init__(self) -> None:
        checked(self)

    def decide(self, view: View) -> Revision | Summarize | None:
        """Ask for the new state, made from the last one and what came since, then put it in."""
        live = view.live
        old = movable(live, self.keep)
        if size(old) <= 2 * RECEIPT_CAP:
            return instead(view, self.name, self.fallback, NOTHING_ELSE)
        cap = min(self.state, max(view.limit // 4, RECEIPT_CAP), size(old) - RECEIPT_CAP)
        need = asked(self.name, old, cap, STATE)
        if need.key not in view.given:
            return need
        text = accepted(view, need, old)
        done = folded(live, self.name, old, text) if text else None
        return done or instead(view, self.name, self.fallback)
