"""The rule on size: what a revision frees must stand in a proven relation to what it costs.

The law of `seeds/002`: `after = before - freed + rewrite_cost + measurement_cost`. A check of size
alone accepts a rewrite that frees 400 tokens, costs 380 to plan and 90 to measure, and loses 70.
"""

from __future__ import annotations

from dataclasses import dataclass

from redraft.context.ledger import Deltas
from redraft.context.revision import RECEIPT_CAP, Gate, Status
from redraft.errors import RewriteBudgetViolation

__all__ = ["RewritePlan", "Verdict", "commit_rewrite", "judge"]


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """The attributed cost of one rewrite, in raw tokens, before it commits.

    Attributes:
        tokens_freed: what leaves the window.
        rewrite_cost: the replacement text, and the rationale and command that produced it.
        measurement_cost: receipts and readouts that the rewrite causes.
        touched_own_substrate: whether it edits the plan or rationale of its own turn.
    """

    tokens_freed: int
    rewrite_cost: int
    measurement_cost: int
    touched_own_substrate: bool

    @property
    def net(self) -> int:
        """Tokens that the rewrite frees once everything is paid."""
        return self.tokens_freed - self.rewrite_cost - self.measurement_cost


def commit_rewrite(plan: RewritePlan, budget_slack: int) -> int:
    """The conservation gate: the net tokens freed, or a violation.

    Args:
        plan: the attributed cost of the rewrite.
        budget_slack: raw tokens between the context and its limit now; reported, never traded: a
            rewrite that does not conserve is refused however much room there is.

    Returns:
        net raw tokens freed, always positive.

    Raises:
        RewriteBudgetViolation: the plan edits its own rationale, a component is unattributed
            (negative), or the net is not strictly positive. Source: `seeds/002`.
    """
    if plan.touched_own_substrate:
        raise RewriteBudgetViolation(
            "the rewrite edits the plan of its own turn; leave that turn alone until the next one"
        )
    if min(plan.tokens_freed, plan.rewrite_cost, plan.measurement_cost) < 0:
        raise RewriteBudgetViolation(
            f"a cost is not attributed (freed {plan.tokens_freed}, rewrite {plan.rewrite_cost}, "
            f"measurement {plan.measurement_cost}); count each of them and propose again"
        )
    if plan.net <= 0:
        raise RewriteBudgetViolation(
            f"frees {plan.tokens_freed}, costs {plan.rewrite_cost} to rewrite and "
            f"{plan.measurement_cost} to measure: net {plan.net} with {budget_slack} of room left; "
            "free more in one batch or write less"
        )
    return plan.net


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says.

    Attributes:
        status: `applied`, `grew`, `over` or `rejected`.
        rule: why it was rejected, else "".
        violation: set where conservation could not be proven.
    """

    status: Status
    rule: str = ""
    violation: RewriteBudgetViolation | None = None


def judge(gate: Gate, deltas: Deltas, limit: int, *, marginal: bool = False) -> Verdict:
    """Judge a settled revision.

    Args:
        gate: the rule that it must pass.
        deltas: its attributed cost.
        limit: the raw limit in tokens.
        marginal: leave the plan out of the conservation test (it is spent either way).

    Returns:
        the verdict. Every gate refuses a result over the limit unless it is smaller than before.
    """
    before, after = deltas.before, deltas.after
    over = after + RECEIPT_CAP > limit
    if over and after >= before:
        return Verdict(Status.REJECTED, f"{gate}: the result is over the limit")
    if gate is Gate.SHRINK and after > before:
        return Verdict(Status.REJECTED, "shrink: the result is larger than before")
    if gate is Gate.CONSERVE:
        plan = deltas.as_plan(include_plan=not marginal)
        try:
            commit_rewrite(plan, limit - before)
        except RewriteBudgetViolation as violation:
            return Verdict(Status.REJECTED, f"conserve: {violation}", violation)
    if over:
        return Verdict(Status.OVER)
    return Verdict(Status.GREW if after > before else Status.APPLIED)
