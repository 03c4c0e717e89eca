"""The model's own words in place of turns: what `self-compact` and `fold` have in common. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.context import Change, Commit, Gate, Group, Insert, Live, Origin, Revision, commit
from redraft.policies.audit import critical, preserved

__all__ = ["keeps_critical", "own_gate", "put_in_place"]


def own_gate(gate: Gate) -> Gate:
    """The gate for words of the model's that replace turns: what does not shrink is no compaction
    (DESIGN.md section 4, rule 10).

    Args:
        gate: the session's gate for the model's edits.
    """
    return Gate.SHRINK if gate is Gate.FIT else gate


def put_in_place(
    live: Live,
    source: str,
    old: Sequence[Group],
    text: str,
    gate: Gate,
    *,
    notes: tuple[str, ...] = (),
) -> Revision:
    """Put a note of the model's into the place of some groups.

    The note is an assistant turn: the model's words about its own work get nobody else's authority.

    Args:
        live: the live context.
        source: the tool's name.
        old: the groups that go; one at least.
        text: what stands for them.
        gate: the rule on size.
        notes: what the receipt says.
    """
    changes = tuple(Change(turn.number, turn.digest, None) for group in old for turn in group.turns)
    at = old[0].start
    draft = live.draft(live.dialect.note("assistant", text), Origin.NOTE)
    insert = Insert(live.turns[at - 1].number if at else 0, draft)
    return Revision("model", source, changes, (insert,), gate, notes=notes)


def keeps_critical(live: Live, revision: Revision, limit: int) -> bool:
    """Whether everything critical survives a revision. One that the door refuses changes nothing, so it
    loses nothing.

    Args:
        live: the live context.
        revision: what is to be proposed.
        limit: the raw limit in tokens.
    """
    done = commit(live, revision, limit)
    leaving = {change.number for change in revision.changes}
    return not isinstance(done, Commit) or preserved(critical(live, leaving), done.live).ok
