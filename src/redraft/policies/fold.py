"""`fold`: the turns of a branch become its result.

Between `branch` and `return_from_branch` the model works on a sub-task. At the return what may go of that
becomes one note: the model's result, the exact values that it left out, and stubs of the largest bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from redraft.context import RECEIPT_CAP, Gate, Group, Live, Origin, Revision, Turn, group_at, groups
from redraft.dialects.stubs import DISK, INCOGNITO, OverflowStub
from redraft.policies.audit import said_by
from redraft.policies.folding import carried, may_go, size
from redraft.policies.own_words import keeps_critical, own_gate, put_in_place
from redraft.prompts.actions import branch_note, branch_returned

__all__ = ["Folding", "branch_groups", "folding", "open_branches"]


@dataclass(frozen=True, slots=True)
class Folding:
    """What a return comes to. Nothing of it has happened yet.

    Attributes:
        revision: for the door; None where the branch's turns stay.
        why: why they stay: the branch is `empty`, `small` against what would stand for it, or something
            critical would be lost (`audit`); "" where they go.
        turns: numbers of the turns that may go.
        stubs: of the bodies that stay readable.
    """

    revision: Revision | None = None
    why: Literal["", "empty", "small", "audit"] = ""
    turns: tuple[int, ...] = ()
    stubs: tuple[OverflowStub, ...] = ()


def open_branches(live: Live, begun: Sequence[int]) -> tuple[int, ...]:
    """Those of the branches begun that are open: the turn that began one must stand in the context, for
    else the model knows nothing of it. It is open again where an undo brings the turn back.

    Args:
        live: the live context.
        begun: numbers of the turns that began a branch which has not ended, outermost first.
    """
    present = {turn.number for turn in live.turns}
    return tuple(number for number in begun if number in present)


def branch_groups(live: Live, start: int) -> list[Group]:
    """The groups of a branch that may go, oldest first; those in the round in progress are not among them.

    Args:
        live: the live context.
        start: the number of the turn that began the branch.
    """
    behind = group_at(live.turns, live.positions()[start]).end
    free = {turn.number for turn in live.candidates()}
    inside = groups(live.turns, behind, max(behind, live.open_at))
    return [group for group in inside if may_go(group, free, live.settled)]


def folding(
    live: Live,
    start: int,
    title: str,
    result: str,
    limit: int,
    *,
    depth: int = 0,
    source: str = "return_from_branch",
    gate: Gate = Gate.FIT,
    storage: str = DISK,
    bodies: int = 1,
    least: int = 1_000,
) -> Folding:
    """What a return from a branch comes to.

    Args:
        live: the live context, as it is when the call is applied.
        start: the number of the turn that began the branch.
        title: what the branch was about.
        result: the model's words.
        limit: the raw limit in tokens.
        depth: how many branches stay open.
        source: the tool's name.
        gate: the session's gate for the model's edits.
        storage: where the overflow store keeps bodies, as its stubs say it.
        bodies: how many results keep a stub, the largest; 0 for none.
        least: raw tokens from which a result keeps one.
    """
    old = branch_groups(live, start)
    numbers = tuple(turn.number for group in old for turn in group.turns)
    if not old:
        return Folding(None, "empty")
    originals = [said_by(turn) for group in old for turn in group.turns]
    stubs = _stubs(old, storage, bodies, least)
    for kept in dict.fromkeys((stubs, ())):  # where stubs would eat what is freed, without them
        lines = "\n".join(stub.line for stub in kept)
        rest = carried(originals, "\n".join(filter(None, (result, lines))))
        text = branch_note(title, len(numbers), result, lines, rest)
        note = (branch_returned(depth),)
        revision = put_in_place(live, source, old, text, own_gate(gate), notes=note)
        if size(old) > RECEIPT_CAP + sum(insert.new.tokens for insert in revision.inserts):
            if keeps_critical(live, revision, limit):
                return Folding(revision, "", numbers, kept)
            return Folding(None, "audit", numbers)
    return Folding(None, "small", numbers)


def _stubs(old: Sequence[Group], storage: str, bodies: int, least: int) -> tuple[OverflowStub, ...]:
    """Stubs of the largest results, in their order. Only a tool's own words are worth reading again, and
    only where they are kept."""
    if storage == INCOGNITO:
        return ()
    large = [
        (turn, group)
        for group in old
        for turn in group.turns
        if turn.role == "tool" and turn.origin is Origin.ORIGINAL and turn.tokens >= least
    ]
    chosen = sorted(large, key=lambda pair: -pair[0].tokens)[:bodies]
    chosen.sort(key=lambda pair: pair[0].place)
    return tuple(_stub(turn, group, storage) for turn, group in chosen)


def _stub(turn: Turn, group: Group, storage: str) -> OverflowStub:
    index = group.pairs.get(turn.number) if group.head.content.calls else None
    tool = group.head.content.calls[index].name if index is not None else ""
    return OverflowStub.of(turn.content.text, tool, turn.content.answers or "", storage)
