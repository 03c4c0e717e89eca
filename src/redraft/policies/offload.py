"""`offload`: old material goes to the overflow store, a pointer stays.

The pointer is the one-line stub that the context tools use too, so a model that has them can fetch the body
again, and a body that a revision cites is stored before the revision is visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from redraft.context import Change, Gate, Group, Live, Origin, Revision, Turn
from redraft.dialects.stubs import DISK, OverflowStub
from redraft.policies.base import View
from redraft.policies.folding import movable, pays
from redraft.policies.options import checked, low, nested, share, target_below, whole
from redraft.policies.sliding_window import NOTHING_ELSE, WINDOW, SlidingWindow, instead

__all__ = ["Offload"]


@dataclass(frozen=True, slots=True)
class Offload:
    """Move bodies out, oldest first.

    Attributes:
        trigger: the share of the limit from which it acts.
        target: the share of the limit that it goes down to.
        keep: how many of the newest groups stay as they are.
        least: bodies of fewer raw tokens stay: a pointer takes about a hundred.
        storage: where the bodies go, as the pointers say it.
        fallback: what is done where there is nothing left to point to.
    """

    trigger: float = share(0.75)
    target: float = low(0.5)
    keep: int = whole(3)
    least: int = whole(200)
    storage: str = DISK
    fallback: SlidingWindow = field(default=WINDOW, metadata=nested("trigger"))
    name: str = "offload"

    def __post_init__(self) -> None:
        checked(self)
        target_below(self, self.target, self.trigger)

    def decide(self, view: View) -> Revision | None:
        """Put pointers into the place of enough old bodies; nothing below the trigger."""
        live = view.live
        if live.tokens < self.trigger * view.limit:
            return None
        wanted = live.tokens - int(self.target * view.limit)
        changes: list[Change] = []
        freed = 0
        for change, gain in self._pointers(live):
            if freed >= wanted:
                break
            changes.append(change)
            freed += gain
        if not pays(view, freed):
            return instead(view, self.name, self.fallback, NOTHING_ELSE, self.trigger)
        return Revision("policy", self.name, tuple(changes), gate=Gate.CONSERVE)

    def _pointers(self, live: Live) -> Iterator[tuple[Change, int]]:
        """Each body that may go, with its pointer and the tokens that this frees."""
        for group in movable(live, self.keep):
            for turn in group.turns:
                if not self._may_go(turn):
                    continue
                content = turn.content
                line = self._stub(group, turn).line
                written = live.dialect.write(content, line, (), content.parts)
                draft = live.draft(written, Origin.HARNESS)
                if draft.tokens < turn.tokens:
                    yield Change(turn.number, turn.digest, draft), turn.tokens - draft.tokens

    def _may_go(self, turn: Turn) -> bool:
        tool = turn.role == "tool" and turn.origin is Origin.ORIGINAL
        return tool and turn.tokens >= self.least

    def _stub(self, group: Group, turn: Turn) -> OverflowStub:
        index = group.pairs.get(turn.number) if group.head.content.calls else None
        tool = group.head.content.calls[index].name if index is not None else ""
        return OverflowStub.of(turn.content.text, tool, turn.content.answers or "", self.storage)
