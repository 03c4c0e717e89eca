"""A scorecard's rows and means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.dialects import Usage
from redraft.events import ContextOp, ContextOps, aggregate, harness_metrics, scorecard_row

OPS = ContextOps().add(ContextOp(1, "drop", True, ("a",), 70, ("x",)))


def test_a_row_says_what_the_turn_cost() -> None:
    usage = [Usage(100, cached=90, output=10), None, Usage(200, output=20)]
    assert scorecard_row(rounds=3, tool_calls=4, usage=usage, ops=OPS) == {
        "rounds": 3,
        "tool_calls": 4,
        "input_tokens": 300,
        "total_tokens": 330,
        "tokens_per_tool_call": 82.5,
        "tokens_per_round": 110.0,
        "context_ops": OPS.as_dict(),
    }


@pytest.mark.parametrize("usage", [[], [None], [None, None]])
def test_without_usage_figures_the_columns_are_absent(usage: list[Usage | None]) -> None:
    assert scorecard_row(rounds=2, tool_calls=3, usage=usage) == {"rounds": 2, "tool_calls": 3}


def test_nothing_is_divided_by_nothing() -> None:
    row = scorecard_row(rounds=0, tool_calls=0, usage=[Usage(10, output=1)])
    assert row == {"rounds": 0, "tool_calls": 0, "input_tokens": 10, "total_tokens": 11}


def test_context_ops_are_absent_where_the_model_used_none() -> None:
    assert "context_ops" not in scorecard_row(rounds=1, tool_calls=1, ops=ContextOps())


def test_means_are_over_the_rows_that_carry_the_column() -> None:
    rows = [
        scorecard_row(rounds=2, tool_calls=0, usage=[Usage(100, output=20)]),
        scorecard_row(rounds=1, tool_calls=5),
        scorecard_row(rounds=1, tool_calls=4, usage=[Usage(300, output=20)]),
    ]
    assert aggregate(rows) == {
        "avg_input_tokens": 200.0,
        "avg_total_tokens": 220.0,
        "avg_tokens_per_tool_call": 80.0,
        "avg_tokens_per_round": 190.0,
    }
    assert aggregate([]) == {}
    assert aggregate([rows[1]]) == {}


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_a_mean_lies_between_the_smallest_and_the_largest(totals: list[int]) -> None:
    rows = [scorecard_row(rounds=1, tool_calls=1, usage=[Usage(total)]) for total in totals]
    mean = aggregate(rows)["avg_total_tokens"]
    assert min(totals) - 1e-6 <= mean <= max(totals) + 1e-6


def test_the_harness_metrics_gain_totals_and_counters() -> None:
    assert harness_metrics([Usage(100, output=20)], OPS) == {
        "total_tokens": 120,
        "context_ops": OPS.as_dict(),
    }
    assert harness_metrics([None], ContextOps()) == {"context_ops": ContextOps().as_dict()}
