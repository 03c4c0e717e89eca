"""The rule on size: three gates, weakest to strictest, and the conservation law of `seeds/002`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from context_world import (
    applied,
    calls,
    drop,
    edit,
    insert,
    refused,
    result,
    revise,
    said,
    start,
    user,
    words,
)
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import (
    RECEIPT_CAP,
    Deltas,
    Gate,
    RewritePlan,
    Status,
    commit_rewrite,
    judge,
)
from redraft.errors import RewriteBudgetViolation

sizes = st.integers(0, 5_000)
deltas = st.builds(
    lambda before, freed, new, plan: Deltas(before + freed, freed, new, plan, RECEIPT_CAP),
    sizes,
    sizes,
    sizes,
    st.integers(0, 500),
)


class TestTheConservationGate:
    def test_the_rewrite_that_saves_400_and_costs_380_and_90_is_refused(self) -> None:
        """The printed example of the seed: size alone would let it pass."""
        plan = RewritePlan(
            tokens_freed=400, rewrite_cost=380, measurement_cost=90, touched_own_substrate=False
        )
        with pytest.raises(RewriteBudgetViolation, match=r"400.*380.*90.*net -70.*50") as raised:
            commit_rewrite(plan, budget_slack=50)
        assert isinstance(raised.value, RuntimeError)
        assert plan.net == -70

    def test_it_gives_the_net_of_a_rewrite_that_conserves(self) -> None:
        assert commit_rewrite(RewritePlan(500, 380, 90, False), budget_slack=0) == 30

    def test_a_zero_net_is_churn(self) -> None:
        with pytest.raises(RewriteBudgetViolation, match="net 0"):
            commit_rewrite(RewritePlan(470, 380, 90, False), budget_slack=9_999)

    def test_a_plan_that_touched_itself_is_refused_whatever_it_frees(self) -> None:
        with pytest.raises(RewriteBudgetViolation, match="its own turn"):
            commit_rewrite(RewritePlan(9_999, 1, 1, True), budget_slack=9_999)

    @pytest.mark.parametrize("costs", [(-1, 0, 0), (900, -1, 0), (900, 0, -1)])
    def test_a_cost_that_nobody_attributed_is_refused(self, costs: tuple[int, int, int]) -> None:
        with pytest.raises(RewriteBudgetViolation, match="not attributed"):
            commit_rewrite(RewritePlan(*costs, touched_own_substrate=False), budget_slack=0)

    @given(sizes, sizes, sizes, sizes)
    def test_what_passes_shrinks_the_window_by_its_net(
        self, before: int, freed: int, cost: int, measured: int
    ) -> None:
        plan = RewritePlan(freed, cost, measured, touched_own_substrate=False)
        after = before - freed + cost + measured
        try:
            net = commit_rewrite(plan, budget_slack=0)
        except RewriteBudgetViolation:
            assert after >= before
        else:
            assert net == before - after > 0


def status(gate: Gate, before: int, freed: int, new: int, limit: int, plan: int = 0) -> Status:
    return judge(gate, Deltas(before, freed, new, plan, RECEIPT_CAP), limit).status


class TestTheTable:
    @pytest.mark.parametrize(
        ("gate", "before", "freed", "new", "limit", "wanted"),
        [
            # fit: growth if the result fits the limit, its receipt included.
            (Gate.FIT, 1_000, 0, 100, 1_164, Status.GREW),
            (Gate.FIT, 1_000, 0, 100, 1_163, Status.REJECTED),
            (Gate.FIT, 1_000, 300, 300, 2_000, Status.APPLIED),
            (Gate.FIT, 1_000, 300, 200, 2_000, Status.APPLIED),
            # All: over the limit only where it is smaller than before.
            (Gate.FIT, 1_000, 100, 99, 500, Status.OVER),
            (Gate.FIT, 1_000, 100, 100, 500, Status.REJECTED),
            (Gate.SHRINK, 1_000, 100, 99, 500, Status.OVER),
            (Gate.SHRINK, 1_000, 100, 100, 500, Status.REJECTED),
            (Gate.CONSERVE, 1_000, 500, 100, 500, Status.OVER),
            # shrink: no growth.
            (Gate.SHRINK, 1_000, 100, 100, 2_000, Status.APPLIED),
            (Gate.SHRINK, 1_000, 100, 101, 2_000, Status.REJECTED),
            # conserve: net > 0 once the receipt is paid.
            (Gate.CONSERVE, 1_000, 165, 100, 2_000, Status.APPLIED),
            (Gate.CONSERVE, 1_000, 164, 100, 2_000, Status.REJECTED),
            (Gate.CONSERVE, 1_000, 0, 0, 2_000, Status.REJECTED),
        ],
    )
    def test_each_row(
        self, gate: Gate, before: int, freed: int, new: int, limit: int, wanted: Status
    ) -> None:
        assert status(gate, before, freed, new, limit) is wanted

    @given(deltas, st.integers(0, 9_000), st.booleans())
    def test_each_gate_is_stricter_than_the_one_before(
        self, deltas: Deltas, limit: int, marginal: bool
    ) -> None:
        passed = [
            judge(gate, deltas, limit, marginal=marginal).status is not Status.REJECTED
            for gate in (Gate.FIT, Gate.SHRINK, Gate.CONSERVE)
        ]
        assert passed == sorted(passed, reverse=True)

    @given(deltas, st.integers(0, 9_000), st.sampled_from(Gate), st.booleans())
    def test_no_gate_lets_a_context_grow_over_its_limit(
        self, deltas: Deltas, limit: int, gate: Gate, marginal: bool
    ) -> None:
        verdict = judge(gate, deltas, limit, marginal=marginal)
        over = deltas.after + RECEIPT_CAP > limit
        assert (verdict.status is Status.REJECTED) >= (over and deltas.after >= deltas.before)
        assert (verdict.status is Status.OVER) <= over
        assert bool(verdict.rule) == (verdict.status is Status.REJECTED)

    @given(deltas, st.integers(0, 9_000))
    def test_only_the_conservation_gate_speaks_of_violations(
        self, deltas: Deltas, limit: int
    ) -> None:
        for gate in (Gate.FIT, Gate.SHRINK):
            assert judge(gate, deltas, limit).violation is None


class TestThePlan:
    def test_a_policy_pays_for_its_rationale(self) -> None:
        assert status(Gate.CONSERVE, 1_000, 300, 100, 2_000, plan=135) is Status.APPLIED
        assert status(Gate.CONSERVE, 1_000, 300, 100, 2_000, plan=136) is Status.REJECTED

    def test_near_the_limit_the_marginal_net_counts_and_the_full_one_is_recorded(self) -> None:
        """The plan of a model's edit is spent whatever the door answers."""
        live = start(user(), said(words(300)))
        change = edit(live, 2, words(100))
        refused(revise(live, change, gate=Gate.CONSERVE, plan_tokens=500))
        done = applied(revise(live, change, gate=Gate.CONSERVE, plan_tokens=500, marginal=True))
        assert done.deltas.marginal_net == 200 - RECEIPT_CAP
        assert done.deltas.net == 200 - RECEIPT_CAP - 500

    def test_the_plan_is_no_part_of_what_the_context_gains(self) -> None:
        """It stands in the context already, as intake of the round that issued it."""
        live = start(user(), said(words(300)))
        done = applied(revise(live, edit(live, 2, words(100)), plan_tokens=500))
        assert done.deltas.after == done.live.tokens == live.tokens - 200


class TestThroughTheDoor:
    def test_a_rejected_rewrite_is_a_no_op_with_a_violation_to_escalate(self) -> None:
        live = start(user(), said(words(100)))
        answer = refused(
            revise(live, edit(live, 2, words(90)), gate=Gate.CONSERVE, author="policy")
        )
        assert isinstance(answer.violation, RewriteBudgetViolation)
        assert answer.receipt.status is Status.REJECTED
        assert answer.receipt.before == answer.receipt.after == live.tokens
        assert answer.receipt.proposed == live.tokens - 10

    def test_a_refusal_for_size_says_how_large_it_would_have_been(self) -> None:
        live = start(user(), said())
        answer = refused(revise(live, insert(live, 2, words(500)), limit=200))
        assert (answer.receipt.proposed, answer.receipt.limit) == (live.tokens + 504, 200)
        assert "over the limit" in answer.receipt.rule

    def test_a_growing_edit_says_so(self) -> None:
        live = start(user(), said())
        assert applied(revise(live, insert(live, 2, "x"))).receipt.status is Status.GREW

    def test_an_edit_that_shrinks_a_context_over_its_limit_is_let_in(self) -> None:
        live = start(user(), calls("a"), result("a", words(900)), said())
        done = applied(revise(live, edit(live, 3, words(500)), limit=300))
        assert done.receipt.status is Status.OVER

    def test_a_plan_inserted_with_the_rewrite_is_priced_like_all_that_comes_in(self) -> None:
        live = start(user(), said(words(300)), said())
        rationale = replace(insert(live, 3, words(280)), plan=True)
        answer = revise(live, drop(live, 2), rationale, gate=Gate.CONSERVE, author="policy")
        assert "net -" in refused(answer).receipt.rule
