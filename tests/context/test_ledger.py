"""Token accounting by cause: exact, and loud where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import Deltas, Ledger, Row, Spend
from redraft.errors import LedgerError

sizes = st.integers(0, 10_000)


@given(sizes, sizes, sizes, sizes, sizes)
def test_a_row_closes_exactly_where_its_causes_lead(
    before: int, intake: int, freed: int, rewrite: int, measured: int
) -> None:
    row = Row(1, before).add(intake=intake, freed=freed).add(rewrite=rewrite, measurement=measured)
    after = before + intake - freed + rewrite + measured
    assert row.close(after).after == after
    for wrong in (after - 1, after + 1):
        with pytest.raises(LedgerError, match="report it"):
            row.close(wrong)


@given(sizes, sizes, sizes, sizes, sizes)
def test_without_intake_it_is_the_identity_of_the_seed(
    before: int, freed: int, replacement: int, plan: int, measured: int
) -> None:
    deltas = Deltas(before, freed, replacement, plan, measured)
    row = Row(1, before).add(freed=freed, rewrite=replacement + plan, measurement=measured)
    assert before - row.expected == deltas.net == deltas.as_plan().net
    assert deltas.marginal_net == deltas.as_plan(include_plan=False).net == deltas.net + plan


def test_the_total_of_rows_is_a_row_that_balances() -> None:
    rows = [
        Row(1, 100).add(intake=50).close(150),
        Row(2, 150).add(freed=70, rewrite=20, measurement=5).close(105),
        Row(3, 105).close(105),
    ]
    total = Ledger(rows).total()
    assert (total.before, total.intake, total.freed, total.rewrite_cost) == (100, 50, 70, 20)
    assert total.expected == total.after == 105


def test_rows_that_do_not_join_are_a_fault() -> None:
    rows = [Row(1, 100).close(100), Row(2, 90).close(90)]
    with pytest.raises(LedgerError, match="round 2 begins with 90"):
        Ledger(rows).total()


def test_an_empty_ledger_adds_up_to_nothing() -> None:
    total = Ledger().total()
    assert (total.before, total.after) == (0, 0)


def test_tokens_spent_outside_of_the_window_stand_beside_it() -> None:
    ledger = Ledger()
    ledger.spend.append(Spend("summary", 900, 100))
    assert ledger.total().expected == 0
