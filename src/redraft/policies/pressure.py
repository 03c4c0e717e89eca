"""`pressure`: the pass under the context tools. It keeps the context under a soft ceiling by fixed rules.

Old or oversized tool results are spilled to the overflow store, and what is left of old history folds
into a summary where that is not enough (`seeds/001_*`). Below the ceiling nothing happens: each step
breaks the prefix cache, so all that may go goes at once (DESIGN.md section 9).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from redraft.context import (
    RECEIPT_CAP,
    Change,
    Draft,
    Gate,
    Group,
    Live,
    Origin,
    Revision,
    Turn,
    group_at,
    groups,
)
from redraft.dialects.fenced_results import round_handle
from redraft.dialects.preserve import pending_approvals, preserved_block
from redraft.dialects.stubs import DISK, OverflowStub
from redraft.policies.base import Summarize, View
from redraft.policies.folding import (
    accepted,
    asked,
    folded,
    movable,
    pays,
    size,
    unread,
    worthwhile,
)
from redraft.policies.options import WELL_BELOW, checked, share, whole
from redraft.policies.sliding_window import SlidingWindow, instead
from redraft.prompts.rewrites import SPILLED
from redraft.settings import Settings

__all__ = ["LEAST_SPILL", "Pressure"]

LEAST_SPILL = 600
"""Characters under which a result stays: its stub would not be smaller (`seeds/001_*`)."""

_DEPTH = 2 / 3
"""How deep the window slides: to this share of the ceiling, as its own defaults do."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """Spill results, then fold history.

    Attributes:
        ceiling: the share of the limit from which it acts.
        keep: how many of the newest rounds with tool calls keep their results; one where the context does
            not fit its limit.
        oversized: characters from which a result goes however new it is, once the model has read it.
        summary: tokens that the summary of a fold may take; never more than an eighth of the limit.
        storage: where the overflow store keeps bodies, as its stubs say it.
    """

    ceiling: float = share(0.8)
    keep: int = whole(8)
    oversized: int = whole(25_600)
    summary: int = whole(2_000, least=1)
    storage: str = DISK
    name: str = "pressure"

    def __post_init__(self) -> None:
        checked(self)

    @classmethod
    def of(cls, settings: Settings, window: int, storage: str = DISK) -> Self:
        """The pass with a session's settings; what they leave open is scaled by the window.

        Args:
            settings: the settings `agent_midturn_*`.
            window: the model's window in tokens.
            storage: see the class.
        """
        ceiling, keep = settings.agent_midturn_compact_pct, settings.agent_midturn_keep_tool_rounds
        oversized = settings.agent_midturn_spill_chars
        return cls(
            (0.8 if window >= 64_000 else 0.7) if ceiling is None else ceiling,
            min(max(window // 16_000, 2), 12) if keep is None else keep,
            min(max(window // 5, 4_000), 40_000) if oversized is None else oversized,
            min(max(window // 64, 500), 4_000),
            storage,
        )

    def decide(self, view: View) -> Revision | Summarize | None:
        """What to do now.

        (1) Below the ceiling: nothing. (2) Where spilling is enough to get well below it: spill.
        (3) Else ask for a summary of what may fold, and fold with it. (4) Where none can be had, or it
        fails the audit, spill what there is; where that is nothing or does not bring it within the
        limit, the window slides.
        """
        live, ceiling = view.live, int(self.ceiling * view.limit)
        if live.tokens < ceiling:
            return None
        # What does not fit at all would be rolled back, the newest first: rather all but one group goes.
        crowded = live.tokens > view.limit
        keep = min(self.keep, 1) if crowded else self.keep
        spilled = self._spilled(live, keep, crowded=crowded)
        freed = sum(gain for _, gain in spilled)
        changes = [change for change, _ in spilled]
        failed = False
        if live.tokens - freed >= WELL_BELOW * ceiling:
            old = movable(live, keep) if crowded else _foldable(live, max(keep, 1))
            cap = min(self.summary, max(view.limit // 8, RECEIPT_CAP))
            if size(old) > cap + RECEIPT_CAP:
                need = asked(self.name, old, cap)
                if need.key not in view.given:
                    return need
                done = self._folded(view, need, old, changes)
                if done is not None:
                    return done
                failed = True
        if failed and (freed <= RECEIPT_CAP or live.tokens - freed > view.limit):
            slid = self._slid(view, changes, max(keep, 1))
            if slid is not None:
                return slid
        if not pays(view, freed):
            return None
        notes = (SPILLED,) if failed else ()
        return Revision("policy", self.name, tuple(changes), gate=Gate.CONSERVE, notes=notes)

    # -- spilling --------------------------------------------------------------------------------

    def _spilled(self, live: Live, keep: int, *, crowded: bool) -> list[tuple[Change, int]]:
        """The stubs, each with the tokens that it frees. What the model has not read yet stays, unless
        it does not fit at all."""
        recent = _numbers(_with_calls(live)[-keep:] if keep else ())
        new = unread(live)
        positions = live.positions()
        free = live.candidates()
        pinned = _pinned_rounds(live, {turn.number for turn in free})
        spilled: list[tuple[Change, int]] = []
        for turn in free:
            large = len(turn.content.text) >= self.oversized
            if (turn.number in recent and not large) or (turn.number in new and not crowded):
                continue
            if _may_spill(turn, live.settled) and round_handle(turn.content.answers) not in pinned:
                draft = self._stubbed(live, turn, _tool(live, positions, turn))
                if draft.tokens < turn.tokens:
                    change = Change(turn.number, turn.digest, draft)
                    spilled.append((change, turn.tokens - draft.tokens))
        return spilled

    def _stubbed(self, live: Live, turn: Turn, tool: str) -> Draft:
        content = turn.content
        stub = OverflowStub.of(content.text, tool, content.answers or "", self.storage)
        written = live.dialect.write(content, stub.line, (), content.parts)
        return live.draft(written, Origin.HARNESS)

    # -- folding ---------------------------------------------------------------------------------

    def _folded(
        self, view: View, need: Summarize, old: Sequence[Group], spilled: Sequence[Change]
    ) -> Revision | None:
        """The fold with what is spilled beside it; None where the summary may not be used."""
        texts = [turn.content.text for group in old for turn in group.turns]
        summary = accepted(view, need, old, preserved_block(texts, view.live.settled))
        fold = folded(view.live, self.name, old, summary) if summary else None
        return worthwhile(view, fold and _beside(fold, spilled))

    def _slid(self, view: View, spilled: Sequence[Change], keep: int) -> Revision | None:
        """The window's step with what is spilled beside it, where there is no summary."""
        window = SlidingWindow(self.ceiling, self.ceiling * _DEPTH, keep)
        slid = instead(view, self.name, window)
        return slid and _beside(slid, spilled)


def _foldable(live: Live, keep: int) -> list[Group]:
    """The groups of old history that may move: the newest rounds stay."""
    kept = _with_calls(live)[-keep:]
    stop = kept[0].start if kept else len(live.turns)
    return [group for group in movable(live) if group.start < stop]


def _beside(revision: Revision, spilled: Sequence[Change]) -> Revision:
    gone = {change.number for change in revision.changes}
    more = [change for change in spilled if change.number not in gone]
    return replace(revision, changes=(*revision.changes, *more))


def _may_spill(turn: Turn, settled: Collection[str]) -> bool:
    """Whether a turn is a tool's own words and long enough. What the model wrote into a result's place
    (a note) stays: its author chose it. So does what waits for an approval."""
    output = turn.role == "tool" or (turn.role == "user" and turn.origin is Origin.TOOL)
    return (
        output
        and turn.origin in (Origin.ORIGINAL, Origin.TOOL)
        and len(turn.content.text) >= LEAST_SPILL
        and not pending_approvals(turn.content.text, settled)
    )


def _pinned_rounds(live: Live, free: Collection[int]) -> frozenset[str]:
    """The rounds of a fenced route that share a message with a turn that is held."""
    held = (turn for turn in live.turns[live.head : live.open_at] if turn.number not in free)
    return frozenset(filter(None, (round_handle(turn.content.answers) for turn in held)))


def _with_calls(live: Live) -> list[Group]:
    return [group for group in groups(live.turns, live.head) if group.head.content.calls]


def _numbers(some: Iterable[Group]) -> frozenset[int]:
    return frozenset(turn.number for group in some for turn in group.turns)


def _tool(live: Live, positions: Mapping[int, int], turn: Turn) -> str:
    group = group_at(live.turns, positions[turn.number])
    index = group.pairs.get(turn.number) if group.head.content.calls else None
    return group.head.content.calls[index].name if index is not None else ""
