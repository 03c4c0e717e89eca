"""Tests that a revision must pass besides its gate. A check is a function; any can be injected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from redraft.context.groups import groups
from redraft.context.live import Live
from redraft.context.revision import Move, Revision
from redraft.context.turn import Draft, Turn

__all__ = ["Check", "Proposal", "admissible", "whole_groups"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a check sees: the context before and after, and who changed what.

    Attributes:
        before: the live context as it is.
        after: the live context as it would be.
        revision: the settled revision.
        moves: the change turn by turn.
    """

    before: Live
    after: Live
    revision: Revision
    moves: Sequence[Move]


Check = Callable[[Proposal], str | None]
"""Returns the rule that is broken, in a few words for the receipt, or None."""


def admissible(live: Live, revision: Revision) -> tuple[str, bool]:
    """Whether the door may look at a revision at all.

    Returns:
        (rule, own_substrate): the rule that forbids it, or "", and whether that rule is the one on
        plans, which counts as a violation of conservation.
    """
    positions = live.positions()
    numbers = [change.number for change in revision.changes]
    if len(set(numbers)) != len(numbers):
        return "one turn is changed twice in one revision", False
    for change in revision.changes:
        at = positions.get(change.number)
        if at is None or live.turns[at].digest != change.digest:
            return f"turn {change.number} has changed since it was read", False
    rule = _fixed(live, revision, positions)
    if rule:
        return rule
    for insert in revision.inserts:
        if isinstance(insert.new, Draft):
            if insert.after and insert.after not in positions:
                return f"turn {insert.after}, which a note follows, is gone", False
            if not _plain(insert.new):
                return "a new turn can only be plain text with role user or assistant", False
        elif insert.new.number in positions:
            return f"turn {insert.new.number} is in the context already", False
    return _roles(live, revision, positions), False


def _fixed(live: Live, revision: Revision, positions: Mapping[int, int]) -> tuple[str, bool] | None:
    open_at = live.open_at
    for change in revision.changes:
        at = positions[change.number]
        if at < live.head or live.turns[at].role == "system":
            return f"turn {change.number} is pinned: system prompt and task stay as they are", False
        if at >= open_at:
            return f"turn {change.number} belongs to the round in progress; wait one round", True
        if revision.author in ("policy", "harness") and change.number in live.plans:
            return f"turn {change.number} is a plan of the policy itself", True
    return None


def _plain(draft: Draft) -> bool:
    content = draft.content
    return content.role in ("user", "assistant") and not content.calls and content.answers is None


def _roles(live: Live, revision: Revision, positions: Mapping[int, int]) -> str:
    """A change keeps its turn's role, or becomes a user's plain text; it never gains authority."""
    for change in revision.changes:
        if not isinstance(change.new, Draft):
            continue
        old = live.turns[positions[change.number]]
        role = change.new.content.role
        if role != old.role and not (role == "user" and _plain(change.new)):
            return f"turn {change.number} cannot change its role from {old.role} to {role}"
    return ""


def whole_groups(proposal: Proposal) -> str | None:
    """No call without its result and no result without its call that was not so before."""
    new = _loose(proposal.after.turns) - _loose(proposal.before.turns)
    return "a call and its result would be parted" if new else None


def _loose(turns: Sequence[Turn]) -> set[tuple[int, str]]:
    """Every call that lacks its result, and every result that lacks its call."""
    loose: set[tuple[int, str]] = set()
    for group in groups(turns):
        head = group.head
        if head.role == "tool":
            loose.add((head.number, ""))
        elif head.content.calls:
            loose |= {(head.number, head.content.calls[at].id) for at in group.open_calls}
    return loose
