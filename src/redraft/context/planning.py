"""What a revision would do, told before it is proposed: the door without the step through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redraft.context.binding import is_bound
from redraft.context.checks import Check
from redraft.context.door import commit
from redraft.context.live import Live
from redraft.context.plan import reach
from redraft.context.revision import Refusal, Revision, Status
from redraft.dialects.base import Native

__all__ = ["EditPlan", "plan_edit"]


@dataclass(frozen=True, slots=True)
class EditPlan:
    """What a revision would do.

    Attributes:
        status: what the receipt would say: `applied`, `grew`, `over`, `queued`, `rejected`, `ignored`.
        rule: which gate or check would refuse it, and why; "" where none would. For a queued revision,
            until when it waits.
        first: the number of the first turn that changes or goes; that of the first new one where it
            only adds; 0 where nothing would change.
        reread: raw tokens of the request behind the change, which no prefix cache serves.
        reasoning: raw tokens of reasoning that it voids; 0 where the model binds none.
        breakpoints: cache markers (`cache_control`) at or behind the change: what they name is lost.
        waits: whether it would have to wait until the open exchange has ended.
        before, after: raw tokens of the live context around it. For a refused one, `after` is the size
            that was refused, or that of before where no size was looked at.
        net: raw tokens freed once replacement, plan and receipt are paid; 0 where it is refused.
    """

    status: Status
    rule: str
    first: int
    reread: int
    reasoning: int
    breakpoints: int
    waits: bool
    before: int
    after: int
    net: int

    @property
    def passes(self) -> bool:
        """Whether the door would let it pass."""
        return self.status not in (Status.REJECTED, Status.IGNORED)


def plan_edit(live: Live, revision: Revision, limit: int, checks: Sequence[Check] = ()) -> EditPlan:
    """What `revision` would do to `live`. Nothing changes.

    Args:
        live: the live context.
        revision: what is to be proposed.
        limit: the raw limit.
        checks: further tests, as for `redraft.context.commit`.
    """
    answer = commit(live, revision, limit, checks)
    receipt = answer.receipt
    if isinstance(answer, Refusal):
        size = receipt.proposed or live.tokens
        return EditPlan(receipt.status, receipt.rule, 0, 0, 0, 0, False, live.tokens, size, 0)
    after = answer.live
    return EditPlan(
        status=receipt.status,
        rule=receipt.rule,
        first=_first(live, after),
        reread=answer.reach.reread,
        reasoning=answer.reach.reasoning if is_bound(live) else 0,
        breakpoints=_broken(_natives(live), _natives(after)),
        waits=after.older is not None,
        before=live.tokens,
        after=after.tokens,
        net=answer.deltas.net,
    )


def _first(live: Live, after: Live) -> int:
    at = reach(live.turns, after.turns).first
    gone = [turn for turn in live.turns[at : at + 1] if turn not in after.turns]
    first = gone or after.turns[at : at + 1]
    return first[0].number if first else 0


def _natives(live: Live) -> Sequence[Native]:
    natives = live.dialect.join(live.frame, [turn.content for turn in live.turns])
    found = natives.get(live.dialect.turns_field)
    return found if isinstance(found, list) else ()


def _broken(before: Sequence[Native], after: Sequence[Native]) -> int:
    """Cache markers of `before` at or behind the first place at which `after` differs."""
    at = _common(before, after)
    if at == len(before):
        return 0
    old, new = _blocks(before[at]), _blocks(after[at]) if at < len(after) else ()
    same = _common(old, new)
    inside = sum(1 for block in old[:same] for _ in _markers(block))
    return sum(1 for native in before[at:] for _ in _markers(native)) - inside


def _blocks(native: Native) -> Sequence[object]:
    body = native.get("content")
    return body if isinstance(body, (list, tuple)) else ()


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    at = 0
    for left, right in zip(one, other, strict=False):
        if left is not right:
            break
        at += 1
    return at


def _markers(value: object) -> Iterator[object]:
    """The cache markers on a message, on its blocks, and on what stands in these."""
    if isinstance(value, Mapping):
        if value.get("cache_control"):
            yield value["cache_control"]
        yield from _markers(value.get("content"))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _markers(item)
