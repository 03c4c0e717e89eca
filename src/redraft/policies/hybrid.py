"""`hybrid`: the model edits its own context; a scheduled policy beneath it steps in late, and says so.

Small models edit rarely (DESIGN.md section 9). The fallback gives them time: it acts only once the context
has grown past the point at which a scheduled policy would have acted long ago, and it waits longer for a
model that is editing. A strong model needs none of it, so for those it is off.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from redraft.context import RECEIPT_CAP, Insert, Live, Origin, Revision, groups
from redraft.errors import SettingsError
from redraft.policies.base import Need, Policy, View
from redraft.policies.options import checked, choice, flag, nested, share, whole
from redraft.policies.pressure import Pressure
from redraft.policies.sliding_window import SlidingWindow
from redraft.prompts.rewrites import stepped_in, stepped_in_notice

__all__ = ["Hybrid"]

_BY_MODEL = frozenset({Origin.EDITED, Origin.NOTE})


def _beneath() -> Policy:
    # The trigger is the hybrid's affair; beneath it the window only says how far to go.
    return SlidingWindow(trigger=0.56, target=0.5)


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Let the model edit, and step in where it does not.

    Attributes:
        beneath: the scheduled policy, which must be one that acts at `late` already.
        late: the share of the limit from which it steps in.
        last: the share up to which a model that edits is left alone.
        patience: how many of the newest groups an edit may be old to count as in time.
        strong: whether the model is known to edit well.
        on: whether there is a fallback; by default where the model is not `strong`.
    """

    beneath: Policy = field(
        default_factory=_beneath, metadata=nested(named="a scheduled policy's name")
    )
    late: float = share(0.85)
    last: float = share(0.95)
    patience: int = whole(4)
    strong: bool = flag(False)
    on: bool | None = choice()
    name: str = "hybrid"

    def __post_init__(self) -> None:
        checked(self)
        if self.last < self.late:
            raise SettingsError(
                f"hybrid: last={self.last:g} must not lie below late={self.late:g}; a model that edits "
                "is given more time, not less"
            )
        starts = _starts(self.beneath)
        if starts > self.late:
            raise SettingsError(
                f"hybrid: the trigger of {self.beneath.name}, {starts:g}, must not lie above "
                f"late={self.late:g}; set beneath.trigger or late"
            )

    @property
    def active(self) -> bool:
        """Whether the fallback may act at all."""
        return not self.strong if self.on is None else self.on

    def decide(self, view: View) -> Revision | Need | None:
        """What the policy beneath decides, late and with a word to the model."""
        if not self.active:
            return None
        edits = _edits_of_late(view.live, self.patience)
        if view.live.tokens < (self.last if edits else self.late) * view.limit:
            return None
        decision = self.beneath.decide(view)
        return self._said(view, decision) if isinstance(decision, Revision) else decision

    def _said(self, view: View, revision: Revision) -> Revision:
        """The revision under this policy's name, with the notice where what it tells of stood."""
        percent = round(100 * view.live.tokens / max(view.limit, 1))
        word = stepped_in(self.beneath.name, percent)
        said = replace(revision, source=self.name, notes=(*revision.notes, word))
        removed = [change.number for change in revision.changes if change.new is None]
        if not removed or revision.inserts:
            return said
        live = view.live
        at = live.positions()[removed[0]]
        notice = stepped_in_notice(self.beneath.name, percent, view.tag)
        note = live.draft(live.dialect.note("user", notice), Origin.HARNESS)
        gone = sum(turn.tokens for turn in live.turns if turn.number in set(removed))
        if gone <= note.tokens + RECEIPT_CAP:  # the notice would eat what it tells of
            return said
        insert = Insert(live.turns[at - 1].number if at else 0, note)
        return replace(said, inserts=(insert,))


def _starts(policy: Policy) -> float:
    """From which share of the limit a policy acts, where it says so."""
    if isinstance(policy, Pressure):
        return policy.ceiling
    return float(getattr(policy, "trigger", 0.0))


def _edits_of_late(live: Live, patience: int) -> bool:
    """Whether a turn of the model's own editing is newer than the last few groups' beginning."""
    newest = list(groups(live.turns, live.head))[-patience:] if patience else []
    if not newest:
        return False
    since = min(group.head.number for group in newest)
    return any(turn.origin in _BY_MODEL and turn.number >= since for turn in live.turns)
