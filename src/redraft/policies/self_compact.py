"""`self-compact`: a summary that the model wrote, in place of the older part of its context.

The model decides when and in what words; what may go, what must survive and whether it did is decided
here, by the rules of every summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redraft.context import RECEIPT_CAP, Gate, Group, Live, Revision
from redraft.dialects.preserve import preserved_block
from redraft.policies.audit import audit, invented, said_by
from redraft.policies.folding import carried, movable, size
from redraft.policies.own_words import keeps_critical, own_gate, put_in_place
from redraft.prompts.actions import summary_note

__all__ = ["Compaction", "compaction"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a summary comes to. Nothing of it has happened yet.

    Attributes:
        revision: for the door; None where the summary may not stand.
        why: why it may not: there is `nothing` to replace, it is `longer` than what it replaces, or it
            fails the `audit`; "" where it may.
        turns: numbers of the turns that it stands for.
        before, after: raw tokens of these turns, and of the note in their place.
        missing: exact values that it lacks.
        invented: figures and values of its own that stand nowhere in the context.
        beyond: older exact values that were not asked for.
    """

    revision: Revision | None = None
    why: Literal["", "nothing", "longer", "audit"] = ""
    turns: tuple[int, ...] = ()
    before: int = 0
    after: int = 0
    missing: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    beyond: int = 0


def compaction(
    live: Live,
    summary: str,
    keep: int,
    limit: int,
    *,
    until: int = 0,
    source: str = "compact_context",
    gate: Gate = Gate.FIT,
    carry: bool = False,
) -> Compaction:
    """What a summary of the model's comes to.

    Args:
        live: the live context, as it is when the call is applied.
        summary: the model's words.
        keep: how many of the newest groups stay.
        limit: the raw limit in tokens.
        until: the number of the last turn that may go; 0 for no such bound. A summary that is mended is
            held against the same turns as before: its refusal has made the newest groups others.
        source: the tool's name.
        gate: the session's gate for the model's edits.
        carry: whether exact values that the summary lacks are put below it; otherwise they fail it.
    """
    # (1) Is there anything to replace?
    old = _until(live, movable(live, keep), until)
    before = size(old)
    if before <= 2 * RECEIPT_CAP:
        return Compaction(why="nothing", before=before)
    numbers = tuple(turn.number for group in old for turn in group.turns)
    originals = [said_by(turn) for group in old for turn in group.turns]
    # (2) What must stand below it?
    texts = [turn.content.text for group in old for turn in group.turns]
    block = preserved_block(texts, live.settled)
    said = "\n\n".join(filter(None, (summary, block)))
    rest = carried(originals, said) if carry else ""
    revision = put_in_place(
        live, source, old, summary_note(summary, len(numbers), block, rest), own_gate(gate)
    )
    after = sum(insert.new.tokens for insert in revision.inserts)
    # (3) Is it smaller?
    if after + RECEIPT_CAP >= before:
        return Compaction(None, "longer", numbers, before, after)
    # (4) Does everything survive, and is nothing made up? What the model works from is all of its
    # context, but for the reply that holds the summary.
    report = audit(originals, "\n\n".join(filter(None, (said, rest))), live.settled)
    missing = tuple(item.value for item in report.missing)
    known = [said_by(turn) for turn in live.turns[: live.open_at]]
    made_up = invented(known, summary)
    if missing or made_up or not keeps_critical(live, revision, limit):
        return Compaction(None, "audit", numbers, before, after, missing, made_up, report.beyond)
    return Compaction(revision, "", numbers, before, after, beyond=report.beyond)


def _until(live: Live, old: list[Group], number: int) -> list[Group]:
    last = live.positions().get(number)
    return old if last is None else [group for group in old if group.end <= last + 1]
