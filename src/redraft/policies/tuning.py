"""When the scheduled manager acts, learned over a session from what its rotations saved and cost.

Bounded both ways, one small step at a time, every step told with its reason (`seeds/003_*`: monitor and
adjust).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from redraft.errors import SettingsError
from redraft.policies.options import checked, flag, low, share, target_below

__all__ = ["Adjustment", "Rotation", "Tuning", "adjusted"]

_STEP = 0.02
_SPEND = 0.1
"""What a token of a summarizer's call counts against a token that every later call would have carried."""
_POOR, _GOOD = 0.15, 0.5
"""Net saving as a share of the context: under the first a rotation was hardly worth it, over the second it
could have come later."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """One rotation of the context, for the log.

    Attributes:
        at: when, in seconds of the caller's clock.
        method: the strategy's name.
        why: why it was chosen.
        before, after: raw tokens of the context around it.
        spent: tokens that its summary cost outside of the window, read and written.
    """

    at: float
    method: str
    why: str
    before: int
    after: int
    spent: int = 0

    @property
    def saved(self) -> int:
        """Raw tokens that left the context."""
        return self.before - self.after

    def as_dict(self) -> dict[str, Any]:
        """The rotation as a line of a log has it."""
        return {
            "at": self.at,
            "method": self.method,
            "why": self.why,
            "before": self.before,
            "after": self.after,
            "saved": self.saved,
            "spent": self.spent,
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """The thresholds.

    Attributes:
        trigger: the share of the limit from which the manager acts.
        target: the share that it goes down to.
        lowest, highest: bounds of `trigger`, within which it is adjusted.
        on: whether the trigger is adjusted at all.
    """

    trigger: float = share(0.70)
    target: float = low(0.45)
    lowest: float = share(0.60)
    highest: float = share(0.85)
    on: bool = flag(True)
    name: ClassVar[str] = "manager"

    def __post_init__(self) -> None:
        checked(self)
        if not self.lowest <= self.trigger <= self.highest:
            raise SettingsError(
                f"manager: trigger={self.trigger:g} must lie from lowest={self.lowest:g} to "
                f"highest={self.highest:g}; move the bounds with it"
            )
        target_below(self, self.target, self.lowest, "lowest")


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One step, for the log.

    Attributes:
        at: when, in seconds of the caller's clock.
        before, after: the trigger around it.
        why: the reason.
    """

    at: float
    before: float
    after: float
    why: str


def adjusted(tuning: Tuning, rotations: Sequence[Rotation]) -> tuple[Tuning, Adjustment | None]:
    """The thresholds after the newest rotation.

    Args:
        tuning: as they are.
        rotations: what happened so far, oldest first.

    Returns:
        the thresholds and what changed; the same ones and None where nothing did.
    """
    if not tuning.on or not rotations:
        return tuning, None
    last = rotations[-1]
    share = (last.saved - last.spent * _SPEND) / max(last.before, 1)
    if share < _POOR:
        # Little was saved for its price: let more gather, so that the next one is worth it.
        step, why = _STEP, f"the last rotation saved {share:.0%} of the context net"
    elif share > _GOOD:
        step, why = -_STEP, f"rotations pay well ({share:.0%} net): begin earlier, with more room"
    else:
        return tuning, None
    trigger = round(min(max(tuning.trigger + step, tuning.lowest), tuning.highest), 4)
    if trigger == tuning.trigger:
        return tuning, None
    return replace(tuning, trigger=trigger), Adjustment(last.at, tuning.trigger, trigger, why)
