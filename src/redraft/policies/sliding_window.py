"""`sliding-window`: the newest groups that fit stay, the oldest go.

The system's and the user's constraints stay wherever they stand. It slides rarely and far: each step breaks
the prefix cache, and to slide at every call costs many times what append-only does (DESIGN.md section 9).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from redraft.context import Revision
from redraft.policies.base import View
from redraft.policies.folding import folded, movable, pays, size
from redraft.policies.options import checked, low, share, target_below, whole
from redraft.prompts.rewrites import FELL_BACK, NOTHING_ELSE

__all__ = ["FELL_BACK", "NOTHING_ELSE", "WINDOW", "SlidingWindow", "instead"]

_DEPTH = 2 / 3
"""How deep a window slides that acts earlier than its own trigger: to this share of where it acts, as the
window's own defaults do."""


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Remove whole groups, oldest first.

    Attributes:
        trigger: the share of the limit from which it acts.
        target: the share of the limit that it goes down to.
        keep: how many of the newest groups stay in any case.
    """

    trigger: float = share(0.75)
    target: float = low(0.5)
    keep: int = whole(1)
    name: str = "sliding-window"

    def __post_init__(self) -> None:
        checked(self)
        target_below(self, self.target, self.trigger)

    def decide(self, view: View) -> Revision | None:
        """Remove enough old groups to reach the target; nothing below the trigger."""
        live = view.live
        if live.tokens < self.trigger * view.limit:
            return None
        old = movable(live, self.keep)
        left, at = live.tokens, 0
        while at < len(old) and left > self.target * view.limit:
            left -= size(old[at : at + 1])
            at += 1
        return folded(live, self.name, old[:at], "") if pays(view, live.tokens - left) else None


WINDOW = SlidingWindow()
"""The window with its defaults, which others fall back to."""


def instead(
    view: View, name: str, window: SlidingWindow, note: str = FELL_BACK, trigger: float = 1.0
) -> Revision | None:
    """What a policy does whose summary could not be had: the window slides, under the policy's name, and
    the receipt says so.

    Args:
        view: what the policy looks at.
        name: the policy's.
        window: how far it slides.
        note: what the receipt says.
        trigger: the share of the limit from which the policy acts, so that a summarizer that fails is
            not asked at every call until the window would have acted on its own.
    """
    if trigger < window.trigger:
        target = min(window.target, trigger * _DEPTH)
        window = replace(window, trigger=trigger, target=target)
    revision = window.decide(view)
    return revision and replace(revision, source=name, notes=(note,))
