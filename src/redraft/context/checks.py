"""Tests that a revision must pass besides its gate. A check is a function; any can be injected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from redraft.context.groups import group_at, groups
from redraft.context.live import Live
from redraft.context.plan import difference
from redraft.context.revision import Change, Insert, Move, Revision
from redraft.context.turn import Draft, Origin, Turn

__all__ = ["Check", "Proposal", "admissible", "open_round_last", "whole_groups"]


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


def admissible(live: Live, revision: Revision, positions: Mapping[int, int]) -> tuple[str, bool]:
    """Whether the door may look at a revision at all.

    Args:
        live: the live context.
        revision: what is proposed.
        positions: `live.positions()`.

    Returns:
        (rule, own_substrate): the rule that forbids it, or "", and whether that rule is the one on
        plans, which counts as a violation of conservation.
    """
    for rule in _stale(live, revision, positions):
        return rule, False
    own = next(_own_plans(live, revision, positions), "")
    if own:
        return own, True
    for change in revision.changes:
        for rule in _bad_change(live, revision, change, positions[change.number]):
            return rule, False
    for rule in _bad_inserts(live, revision, positions):
        return rule, False
    return "", False


def _stale(live: Live, revision: Revision, positions: Mapping[int, int]) -> Iterator[str]:
    """Compare and swap: what is touched must be what the proposer saw."""
    numbers = [change.number for change in revision.changes]
    if len(set(numbers)) != len(numbers):
        yield "one turn is changed twice in one revision"
    for change in revision.changes:
        at = positions.get(change.number)
        if at is None or live.turns[at].digest != change.digest:
            yield f"turn {change.number} has changed since it was read"


def _own_plans(live: Live, revision: Revision, positions: Mapping[int, int]) -> Iterator[str]:
    """No plan touches itself: the round in progress is closed to all, a policy's plans to policies."""
    open_at = live.open_at
    for change in revision.changes:
        at = positions[change.number]
        if at >= max(open_at, live.head):
            yield f"turn {change.number} belongs to the round in progress; wait one round"
        elif revision.author in ("policy", "harness") and change.number in live.plans:
            yield f"turn {change.number} is a plan of the policy itself"


def _bad_change(live: Live, revision: Revision, change: Change, at: int) -> Iterator[str]:
    """A change keeps its turn's role, or becomes a user's plain text; it never gains authority."""
    number, new, old = change.number, change.new, live.turns[at]
    if at < live.head or old.role == "system":
        yield f"turn {number} is pinned: system prompt and task stay as they are"
    if isinstance(new, Turn):
        if (new.number, new.place) != (old.number, old.place):
            yield f"turn {number} cannot become another turn"
        if revision.author != "person":
            yield _NOT_AN_UNDO
    elif new is not None:
        role = new.content.role
        if role != old.role and not (role == "user" and _plain(new)):
            yield f"turn {number} cannot change its role from {old.role} to {role}"
        if new.origin is Origin.ORIGINAL:
            yield _MINTED


_MINTED = "rewritten words cannot pass for the original ones"
_NOT_AN_UNDO = "only a person's undo brings a turn back"


def _bad_inserts(live: Live, revision: Revision, positions: Mapping[int, int]) -> Iterator[str]:
    back: set[int] = set()
    for insert in revision.inserts:
        new = insert.new
        if isinstance(new, Turn):
            if new.number in positions or new.number in back:
                yield f"turn {new.number} is in the context already"
            if new.number >= live.next_number:
                yield f"turn {new.number} was never in this context"
            if revision.author != "person":
                yield _NOT_AN_UNDO
            back.add(new.number)
        else:
            yield from _bad_note(live, insert, new, positions)


def _bad_note(
    live: Live, insert: Insert, new: Draft, positions: Mapping[int, int]
) -> Iterator[str]:
    if insert.after and insert.after not in positions:
        yield f"turn {insert.after}, which a note follows, is gone"
    if not _plain(new):
        yield "a new turn can only be plain text with role user or assistant"
    if new.origin is Origin.ORIGINAL:
        yield _MINTED
    if live.open_at < live.head:
        yield "the pinned prefix ends in the round in progress; wait one round"


def _plain(draft: Draft) -> bool:
    content = draft.content
    return content.role in ("user", "assistant") and not content.calls and content.answers is None


def whole_groups(proposal: Proposal) -> str | None:
    """No call without its result and no result without its call that was not so before."""
    before, after = proposal.before.turns, proposal.after.turns
    stretch = difference(before, after)
    # Turns outside of the stretch are the same, so groups outside of it and its border are too.
    start = group_at(before, stretch.start - 1).start if stretch.start else 0
    broken = _loose(after, start, stretch.after) - _loose(before, start, stretch.before)
    # What comes back stood like this before the revision that is undone (a stray result that the
    # client sent, say), so nothing is parted now that was not then.
    back = _coming_back(proposal.revision)
    if broken and back:
        back.update(_beside(after, back))
    return "a call and its result would be parted" if {key[0] for key in broken} - back else None


def _coming_back(revision: Revision) -> set[int]:
    """Numbers of the turns that a revision brings back as they were."""
    news = [change.new for change in revision.changes] + [item.new for item in revision.inserts]
    return {new.number for new in news if isinstance(new, Turn)}


def _beside(turns: Sequence[Turn], numbers: Collection[int]) -> Iterator[int]:
    """Numbers of the call in front of each of these turns and of the results behind it: what a turn
    that comes back parts, it parted before it went."""
    for at, turn in enumerate(turns):
        if turn.number not in numbers:
            continue
        head = at - 1
        while head > 0 and turns[head].role == "tool":
            head -= 1
        yield turns[max(head, 0)].number
        for result in takewhile(lambda turn: turn.role == "tool", turns[at + 1 :]):
            yield result.number


def _loose(turns: Sequence[Turn], start: int, end: int) -> Counter[tuple[int, str]]:
    """Every call without its result, and every result without its call, from `start` to the first
    turn at or behind `end` that is no result. Counted: ids repeat."""
    while end < len(turns) and turns[end].role == "tool":
        end += 1
    loose: Counter[tuple[int, str]] = Counter()
    for group in groups(turns, start, end):
        head = group.head
        if head.role == "tool":
            loose[head.number, ""] += 1
        loose.update((head.number, head.content.calls[at].id) for at in group.open_calls)
    return loose


def open_round_last(proposal: Proposal) -> str | None:
    """Results are appended at the end, so nothing may stand behind the calls that wait for them, but what
    stood there before an edit took it away and comes back."""
    before, after = proposal.before, proposal.after
    waiting = before.turns[before.open_at :]
    first = waiting[0].number if waiting else 0
    back = {number for number in _coming_back(proposal.revision) if number > first}
    kept = {turn.number for turn in waiting}
    standing = tuple(turn for turn in after.turns if turn.number not in back - kept)
    if standing[len(standing) - len(waiting) :] == waiting:
        return None
    return "the round in progress must stay the last"
