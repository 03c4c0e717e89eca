"""The one door: every change of the live context but an append goes through `commit`.

Pure: the same arguments give the same answer, and nothing happens but the answer. The caller
journals a commit, then swaps the live context, then shows the receipt.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from redraft.context.binding import Effect, Unbound, is_bound, unbound, waits
from redraft.context.checks import Check, Proposal, admissible, open_round_last, whole_groups
from redraft.context.gates import Verdict, judge
from redraft.context.ledger import Deltas
from redraft.context.live import Live
from redraft.context.plan import reach
from redraft.context.revision import (
    RECEIPT_CAP,
    Change,
    Commit,
    Insert,
    Move,
    Receipt,
    Refusal,
    Revision,
    Status,
)
from redraft.context.settle import Settled, settle
from redraft.context.turn import Draft, Turn, place_before
from redraft.errors import RewriteBudgetViolation

__all__ = ["commit"]


UNTIL = "until this exchange ends or space is short"
"""What a receipt says of a queued revision."""


def commit(
    live: Live,
    revision: Revision,
    limit: int,
    checks: Sequence[Check] = (),
    *,
    effect: Effect = Effect.WAIT,
) -> Commit | Refusal:
    """Check, price and apply one revision.

    Args:
        live: the live context as it is.
        revision: what is proposed.
        limit: the budget's limit in raw tokens (see `redraft.tokens.Calibration.raw_limit`).
        checks: further tests, each with a veto; the structural ones always run.
        effect: when it takes effect, where the model's reasoning is bound to what stands before it.
            A revision that asks for nothing only takes void reasoning away, and lets what was queued
            take effect.

    Returns:
        a `Commit` with the new live context, or a `Refusal`; both carry a receipt.
    """
    # The order is the rule: (1) may it be looked at, (2) is anything left of it once it is made
    # whole, (3) what does it cost, (4) does the gate let it pass, (5) does any check object.
    positions = live.positions()
    rule, own_substrate = admissible(live, revision, positions)
    if rule:
        return _refuse(live, revision, limit, _violation(own_substrate, rule))
    settled = settle(live, revision, positions)
    if revision and not settled.slots and not settled.inserts:
        return _nothing(live, revision, limit, settled)
    whole, moves = _apply(live, settled, positions)
    done = unbound(whole, moves, effect)
    if not done.moves and not done.strips:
        return _nothing(live, revision, limit, settled)
    after = _in_effect(live, done, effect)
    deltas = _price(live, revision, done)
    verdict = judge(revision.gate, deltas, limit, marginal=revision.marginal)
    if verdict.status is Status.REJECTED:
        return _refuse(live, revision, limit, verdict, after.tokens)
    agreed = _settled(live, revision, settled, positions)
    moves = (*done.moves, *done.strips)
    proposal = Proposal(live, after, agreed, moves)
    for check in (whole_groups, open_round_last, *checks):
        objection = check(proposal)
        if objection:
            verdict = Verdict(Status.REJECTED, objection)
            return _refuse(live, revision, limit, verdict, after.tokens)
    receipt = Receipt(
        verdict.status, live.tokens, after.tokens, limit=limit, notes=tuple(settled.notes)
    )
    if after.older is not None:
        receipt = replace(receipt, status=Status.QUEUED, rule=UNTIL)
    found = reach(live.turns, after.turns)
    if is_bound(after):
        found = replace(found, reasoning=done.lost)
    return Commit(after, receipt, agreed, moves, deltas, found)


def _in_effect(live: Live, done: Unbound, effect: Effect) -> Live:
    """The new context; the older one goes on being sent where a change must wait."""
    wait = effect is Effect.WAIT and waits(live.outgoing, done.live, done.left)
    return replace(done.live, older=live.outgoing if wait else None)


def _violation(own_substrate: bool, rule: str) -> Verdict:
    violation = RewriteBudgetViolation(rule) if own_substrate else None
    return Verdict(Status.REJECTED, rule, violation)


def _refuse(
    live: Live, revision: Revision, limit: int, verdict: Verdict, proposed: int = 0
) -> Refusal:
    receipt = Receipt(
        Status.REJECTED, live.tokens, live.tokens, verdict.rule, limit, proposed=proposed
    )
    return Refusal(receipt, revision, verdict.violation)


def _nothing(live: Live, revision: Revision, limit: int, settled: Settled) -> Refusal:
    """Nothing is left: rejected where a rule took it away, ignored where nothing was asked."""
    notes = tuple(settled.notes)
    status = Status.REJECTED if notes else Status.IGNORED
    return Refusal(
        Receipt(status, live.tokens, live.tokens, "; ".join(notes), limit, notes), revision
    )


def _settled(
    live: Live, revision: Revision, settled: Settled, positions: Mapping[int, int]
) -> Revision:
    """The revision as it is applied, with the turns that the rules drew in."""
    changes = tuple(
        Change(number, live.turns[positions[number]].digest, new)
        for number, new in settled.slots.items()
    )
    return replace(
        revision, changes=changes, inserts=tuple(settled.inserts), notes=tuple(settled.notes)
    )


@dataclass(slots=True)
class _Build:
    """The new list of turns while it is put together."""

    number: int
    turns: list[Turn] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    plans: set[int] = field(default_factory=set)
    anchor: int = 0

    def step(self, old: Turn, new: Draft | Turn | None) -> None:
        """Replace or remove one turn; it keeps its number and place."""
        if new is None:
            self.moves.append(Move(old, None, self.anchor))
            return
        turn = Turn.of(new, old.number, old.place) if isinstance(new, Draft) else new
        self.moves.append(Move(old, turn))
        self.keep([turn])

    def keep(self, turns: Sequence[Turn]) -> None:
        """Take over turns as they are."""
        if turns:
            self.turns.extend(turns)
            self.anchor = turns[-1].number

    def add(self, insert: Insert, following: Turn | None) -> None:
        """Add a turn in front of `following`; it is no anchor, since undoing this very commit
        removes it."""
        new = insert.new
        if isinstance(new, Draft):
            new = Turn.of(new, self.number, place_before(following, self.number))
            self.number += 1
        self.turns.append(new)
        self.moves.append(Move(None, new))
        if insert.plan:
            self.plans.add(new.number)


def _apply(
    live: Live, settled: Settled, positions: Mapping[int, int]
) -> tuple[Live, Sequence[Move]]:
    """The new live context; turns that nothing touches are taken over in slices."""
    turns = live.turns
    added = _gaps(live, settled.inserts, positions)
    stops = sorted({positions[number] for number in settled.slots} | added.keys())
    build = _Build(live.next_number)
    done = 0
    for at in stops:
        build.keep(turns[done : max(at, 0)])
        if at >= 0:
            old = turns[at]
            if old.number in settled.slots:
                build.step(old, settled.slots[old.number])
            else:
                build.keep([old])
        done = at + 1
        for insert in added.get(at, ()):
            build.add(insert, turns[done] if done < len(turns) else None)
    build.keep(turns[done:])
    tokens = live.tokens
    for move in build.moves:
        tokens += (move.new.tokens if move.new else 0) - (move.old.tokens if move.old else 0)
    after = replace(
        live,
        turns=tuple(build.turns),
        tokens=tokens,
        next_number=build.number,
        plans=live.plans | build.plans if build.plans else live.plans,
    )
    return after, build.moves


def _gaps(
    live: Live, inserts: Sequence[Insert], positions: Mapping[int, int]
) -> dict[int, list[Insert]]:
    """What is added behind which position. A turn that returns goes to its place; new turns stand
    behind it, in the order in which they were proposed."""
    added: dict[int, list[Insert]] = {}
    back = [insert for insert in inserts if isinstance(insert.new, Turn)]
    back.sort(key=_place)
    for insert in back:
        at = bisect_left(live.turns, _place(insert), key=lambda turn: turn.place) - 1
        added.setdefault(at, []).append(insert)
    for insert in inserts:
        if isinstance(insert.new, Draft):
            at = positions[insert.after] if insert.after else live.head - 1
            added.setdefault(at, []).append(insert)
    return added


def _place(insert: Insert) -> tuple[int, ...]:
    assert isinstance(insert.new, Turn)
    return insert.new.place


def _price(live: Live, revision: Revision, done: Unbound) -> Deltas:
    return Deltas(
        before=live.tokens,
        freed=done.stripped + sum(move.old.tokens for move in done.moves if move.old),
        replacement=sum(move.new.tokens for move in done.moves if move.new),
        plan=revision.plan_tokens,
        measurement=RECEIPT_CAP,
    )
