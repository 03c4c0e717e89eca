"""`pressure`: the pass under the context tools. It keeps the context under a soft ceiling by fixed rules.

Old or oversized tool results are spilled to the overflow store, and what is left of old history folds
into a summary where that is not enough (`seeds/001_*`). Below the ceiling nothing happens: each step
breaks the prefix cache, so all that may go goes at once (DESIGN.md section 9).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from redraft.context import (
    RECEIPT_CAP,
    Change,
    Draft,
    Gate,
    Group,
    Insert,
    Live,
    Origin,
    Revision,
    Turn,
    group_at,
    groups,
)
from redraft.dialects.fenced_results import round_handle
from redraft.dialects.preserve import pending_approvals, preserved_block
from redraft.dialects.stubs import DISK, OverflowStub, stubs_in
from redraft.policies.base import Summarize, View
from redraft.settings import Settings

__all__ = ["LEAST_SPILL", "Pressure"]

LEAST_SPILL = 600
"""Characters under which a result stays: its stub would not be smaller (`seeds/001_*`)."""

_MOST_STUBS = 20
"""Stub lines that a fold carries forward; older bodies stay in the store as long as an undo could
bring their stubs back."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """Spill results, then fold history.

    Attributes:
        ceiling: the share of the limit from which it acts.
        keep: how many of the newest rounds with tool calls keep their results.
        oversized: characters from which a result goes however new it is, once the model has read it.
        summary: tokens that the summary of a fold may take.
        storage: where the overflow store keeps bodies, as its stubs say it.
    """

    ceiling: float = 0.8
    keep: int = 8
    oversized: int = 25_600
    summary: int = 2_000
    storage: str = DISK
    name: str = "pressure"

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

        (1) Below the ceiling: nothing. (2) Where spilling is enough: spill. (3) Else ask for a
        summary of what may fold, and fold with it; where none can be had, spill what there is.
        """
        live, ceiling = view.live, int(self.ceiling * view.limit)
        if live.tokens < ceiling:
            return None
        spilled = self._spilled(live, crowded=live.tokens > view.limit)
        freed = sum(gain for _, gain in spilled)
        changes = [change for change, _ in spilled]
        if live.tokens - freed >= ceiling:
            old = self._foldable(live)
            if sum(turn.tokens for turn in old) > self.summary + RECEIPT_CAP:
                key = f"{self.name}:{old[0].number}-{old[-1].number}"
                if key not in view.given:
                    return Summarize(key, _told(old), self.summary)
                if view.given[key].strip():
                    return self._folded(live, old, changes, view.given[key])
        if freed <= RECEIPT_CAP:
            return None
        return Revision("policy", self.name, tuple(changes), gate=Gate.CONSERVE)

    # -- spilling --------------------------------------------------------------------------------

    def _spilled(self, live: Live, *, crowded: bool) -> list[tuple[Change, int]]:
        """The stubs, each with the tokens that it frees. What the model has not read yet stays, unless
        it does not fit at all."""
        recent = _numbers(_with_calls(live)[-self.keep :] if self.keep else ())
        unread = _numbers(_unread(live))
        positions = live.positions()
        free = live.candidates()
        pinned = _pinned_rounds(live, {turn.number for turn in free})
        spilled: list[tuple[Change, int]] = []
        for turn in free:
            large = len(turn.content.text) >= self.oversized
            if (turn.number in recent and not large) or (turn.number in unread and not crowded):
                continue
            if _may_spill(turn) and round_handle(turn.content.answers) not in pinned:
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

    def _foldable(self, live: Live) -> Sequence[Turn]:
        """Whole groups of old history: none of their turns is held, and the newest rounds stay."""
        free = {turn.number for turn in live.candidates()}
        kept = _with_calls(live)[-max(self.keep, 1) :]
        stop = kept[0].start if kept else len(live.turns)
        return [
            turn
            for group in groups(live.turns, live.head, stop)
            if all(one.number in free for one in group.turns)
            for turn in group.turns
        ]

    def _folded(
        self, live: Live, old: Sequence[Turn], spilled: Sequence[Change], summary: str
    ) -> Revision:
        gone = {turn.number for turn in old}
        changes = [Change(turn.number, turn.digest, None) for turn in old]
        changes += [change for change in spilled if change.number not in gone]
        at = live.positions()[old[0].number]
        note = live.dialect.note("user", _summary_text(summary, old))
        after = live.turns[at - 1].number if at else 0
        inserts = (Insert(after, live.draft(note, Origin.SUMMARY)),)
        return Revision("policy", self.name, tuple(changes), inserts, Gate.CONSERVE)


def _may_spill(turn: Turn) -> bool:
    """Whether a turn is a tool's own words and long enough. What the model wrote into a result's place
    (a note) stays: its author chose it. So does what waits for an approval."""
    output = turn.role == "tool" or (turn.role == "user" and turn.origin is Origin.TOOL)
    return (
        output
        and turn.origin in (Origin.ORIGINAL, Origin.TOOL)
        and len(turn.content.text) >= LEAST_SPILL
        and not pending_approvals(turn.content.text)
    )


def _pinned_rounds(live: Live, free: Collection[int]) -> frozenset[str]:
    """The rounds of a fenced route that share a message with a turn that is held."""
    held = (turn for turn in live.turns[live.head : live.open_at] if turn.number not in free)
    return frozenset(filter(None, (round_handle(turn.content.answers) for turn in held)))


def _with_calls(live: Live) -> list[Group]:
    return [group for group in groups(live.turns, live.head) if group.head.content.calls]


def _unread(live: Live) -> Iterator[Group]:
    """The group at the end, where its results are the newest there is."""
    if live.turns and live.turns[-1].role == "tool":
        yield group_at(live.turns, len(live.turns) - 1)


def _numbers(some: Iterable[Group]) -> frozenset[int]:
    return frozenset(turn.number for group in some for turn in group.turns)


def _tool(live: Live, positions: Mapping[int, int], turn: Turn) -> str:
    group = group_at(live.turns, positions[turn.number])
    index = group.pairs.get(turn.number) if group.head.content.calls else None
    return group.head.content.calls[index].name if index is not None else ""


def _told(turns: Sequence[Turn]) -> str:
    """The history to be summarized, as text."""
    pieces = []
    for turn in turns:
        calls = "".join(f"\n[called {one.name}: {one.arguments}]" for one in turn.content.calls)
        pieces.append(f"{turn.role}: {turn.content.text}{calls}")
    return "\n\n".join(pieces)


def _summary_text(summary: str, old: Sequence[Turn]) -> str:
    """The summary with what must outlive what it replaces."""
    texts = [turn.content.text for turn in old]
    cited = [
        stub.line
        for turn in old
        if turn.origin is not Origin.ORIGINAL
        for stub in stubs_in(turn.content.text)
    ]
    block = preserved_block(texts)
    newest = list(dict.fromkeys(cited))[-_MOST_STUBS:]
    return "\n\n".join(filter(None, (summary.strip(), "\n".join(newest), block)))
