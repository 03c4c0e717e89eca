"""What a run's model calls cost: compute by a model's shape, money by the server's own count."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.agent import ModelCall, RunResult, run_cost
from redraft.cost import Geometry, NoPrice, PriceCard, Rates, call_flops, find_geometry

RATES = Rates.of(2.0, 10.0, read=0.5)
CARD = PriceCard("house-model", "prices.json", "sha256:ab", RATES)
SILENT = ModelCall(tokens=2_000, shared=500)
COUNTED = ModelCall(tokens=1_000, shared=800, prompt=1_100, cached=900, output=50)


def test_compute_is_the_sum_of_the_calls_by_the_formula() -> None:
    shape = Geometry("toy", token=10.0, attention=2.0, full=1)
    cost = run_cost([SILENT, COUNTED], "any", geometry=shape)
    # U = 1,500 and 0 generated; then 1,100 of which 880 are shared (as 800 of 1,000), and 50 generated.
    first = 10 * 1_500 + 2 * (2_000**2 - 500**2) / 2
    second = 10 * (220 + 50) + 2 * ((1_100**2 - 880**2) / 2 + 50 * 1_100 + 50**2 / 2)
    assert cost.flops == first + second
    assert cost.geometry == "toy"


def test_a_known_models_own_shape_is_taken_and_named() -> None:
    shape = find_geometry("Qwen3-8B")
    assert shape is not None
    cost = run_cost([COUNTED], "Qwen/Qwen3-8B")
    assert cost.geometry == "Qwen3-8B"
    assert cost.flops == call_flops(shape, 1_100, 880, 50)


def test_no_shape_is_made_up_for_a_model_that_is_not_known() -> None:
    cost = run_cost([COUNTED], "gpt-5", CARD)
    assert cost.flops is None
    assert cost.as_dict()["geometry"] is None


def test_money_is_what_the_server_counted_at_the_lists_prices() -> None:
    cost = run_cost([COUNTED, COUNTED], "house-model", CARD)
    assert cost.money is not None
    assert cost.money.usd == pytest.approx(2 * (900 * 0.5 + 200 * 2.0 + 50 * 10.0) / 1e6)
    assert (cost.money.source, cost.money.version) == ("prices.json", "sha256:ab")
    assert (cost.unpriced, cost.notes) == ("", ())


def test_a_long_prompt_costs_its_own_tier() -> None:
    dear = PriceCard("m", "list", "1", RATES, tiers=((1_000, Rates.of(20.0, 100.0)),))
    cost = run_cost([COUNTED], "m", dear)
    assert cost.money is not None
    assert cost.money.usd == pytest.approx((1_100 * 20.0 + 50 * 100.0) / 1e6)


@pytest.mark.parametrize(
    ("calls", "card", "says"),
    [
        ([SILENT], CARD, "the server reported no usage"),
        ([COUNTED], NoPrice("nobody knows it"), "nobody knows it"),
        ([COUNTED], None, "no price list was given"),
        ([], CARD, "the server reported no usage"),
    ],
)
def test_where_there_is_no_amount_it_says_why(
    calls: list[ModelCall], card: PriceCard | NoPrice | None, says: str
) -> None:
    cost = run_cost(calls, "m", card)
    assert cost.money is None
    assert cost.unpriced == says


def test_what_the_figures_leave_out_is_said() -> None:
    cost = run_cost([SILENT, COUNTED], "qwen3-8b", CARD)
    assert cost.notes == (
        "generated tokens of 1 call are not in the compute: the server did not count",
        "1 call of 2 not priced: the server did not count",
    )


def test_a_cost_is_plain_values() -> None:
    told = RunResult(calls=(COUNTED,), model="qwen3-8b").cost(CARD).as_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["money"]["source"] == "prices.json"


COUNTS = st.integers(0, 5_000)


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_figures_of_a_server_are_too_odd(
    tokens: int, shared: int, prompt: int, cached: int, output: int
) -> None:
    """A server may count anything; what is reused never exceeds what was sent, nor money what all of it
    costs as fresh input."""
    call = ModelCall(tokens, min(shared, tokens), prompt, cached, output)
    whole, reused = call.reuse
    assert 0 <= reused <= whole
    money = run_cost([call], "qwen3-8b", CARD).money
    assert money is None or money.usd <= (prompt * 2.0 + output * 10.0) / 1e6 + 1e-9
