"""Money: rates, tiers, price lists, and models that have no price."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from redraft.cost import (
    GenaiPrices,
    LiteLLMPrices,
    NoPrice,
    PriceCard,
    Rates,
    Use,
    first_of,
    model_names,
)

USE = Use(prompt=1_000_000, read=600_000, written=300_000, fresh=100_000, written_long=100_000)
CLAUDE = {
    "input_cost_per_token": 3e-06,
    "output_cost_per_token": 1.5e-05,
    "cache_read_input_token_cost": 3e-07,
    "cache_creation_input_token_cost": 3.75e-06,
    "cache_creation_input_token_cost_above_1hr": 6e-06,
    "litellm_provider": "anthropic",
    "mode": "chat",
}
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


def card(entry: dict[str, Any], model: str = "m") -> PriceCard:
    found = LiteLLMPrices({model: entry}, "prices.json", "1").find(model)
    assert isinstance(found, PriceCard), found
    return found


def test_each_kind_of_token_has_its_price() -> None:
    rates = Rates(input=3.0, output=15.0, read=0.3, write=3.75, write_long=6.0)
    # 0.6 * 0.3 + 0.2 * 3.75 + 0.1 * 6 + 0.1 * 3 + 0.01 * 15
    assert rates.of_use(USE, 10_000) == pytest.approx(0.18 + 0.75 + 0.6 + 0.3 + 0.15)


def test_a_price_file_in_litellms_format_is_read() -> None:
    found = card(CLAUDE)
    assert (found.rates.input, found.rates.output) == pytest.approx((3.0, 15.0))
    assert (found.rates.read, found.rates.write) == pytest.approx((0.3, 3.75))
    assert found.rates.write_long == pytest.approx(6.0)


def test_an_amount_carries_its_source_and_version() -> None:
    money = card(CLAUDE).price([(USE, 0), (USE, 10_000)])
    assert money.usd == pytest.approx(2 * 1.83 + 0.15)
    assert (money.model, money.source, money.version) == ("m", "prices.json", "1")
    assert money.as_dict()["source"] == "prices.json"


def test_a_price_file_is_named_by_what_is_in_it() -> None:
    one = LiteLLMPrices.parse(json.dumps({"m": CLAUDE}), "a.json").find("m")
    two = LiteLLMPrices.parse(json.dumps({"m": {**CLAUDE, "mode": "x"}}), "a.json").find("m")
    assert isinstance(one, PriceCard)
    assert isinstance(two, PriceCard)
    assert one.version.startswith("sha256:")
    assert one.version != two.version


def test_another_price_gives_another_amount() -> None:
    dear = card({**CLAUDE, "input_cost_per_token": 6e-06}).price([(USE, 0)])
    assert dear.usd == pytest.approx(card(CLAUDE).price([(USE, 0)]).usd + 0.3)


def test_what_a_list_leaves_out_costs_as_fresh_input_and_is_said() -> None:
    found = card({"input_cost_per_token": 2e-06, "output_cost_per_token": 6e-06})
    assert found.rates == Rates(2.0, 6.0, 2.0, 2.0, 2.0)
    assert len(found.notes) == 2


def test_a_long_prompt_costs_the_rates_of_its_tier_for_all_its_tokens() -> None:
    tiered = {
        **CLAUDE,
        "input_cost_per_token_above_200k_tokens": 6e-06,
        "output_cost_per_token_above_200k_tokens": 2.25e-05,
        "cache_read_input_token_cost_above_200k_tokens": 6e-07,
    }
    found = card(tiered)
    below, above = Use(200_000, 0, 0, 200_000), Use(200_001, 0, 0, 200_001)
    assert found.price([(below, 0)]).usd == pytest.approx(0.6)
    assert found.price([(above, 1_000)]).usd == pytest.approx(200_001 * 6e-06 + 0.0225)
    assert found.rates_at(300_000).write == pytest.approx(7.5), "scaled with the input"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "has no `input_cost_per_token`"),
        ({"input_cost_per_token": 3e-06}, "`output_cost_per_token`"),
        ({**CLAUDE, "input_cost_per_token": "3"}, "numbers of 0 or more"),
        ({**CLAUDE, "input_cost_per_token": -1e-06}, "numbers of 0 or more"),
        ({**CLAUDE, "input_cost_per_token": 3.0}, "numbers of 0 or more"),
        ([], "is no JSON object"),
    ],
)
def test_an_entry_without_usable_prices_has_no_price_and_never_zero(entry: Any, says: str) -> None:
    found = LiteLLMPrices({"m": entry}, "prices.json", "1").find("m")
    assert isinstance(found, NoPrice)
    assert says in found.reason


@pytest.mark.parametrize(("text", "says"), [("{", "is not JSON"), ("[1]", "is no JSON object")])
def test_a_file_that_is_no_price_file_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LiteLLMPrices.parse(text, "prices.json")


def test_a_model_is_found_under_shorter_names() -> None:
    book = LiteLLMPrices({"claude-sonnet-4-5": CLAUDE}, "p", "1")
    for name in (
        "anthropic/claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "Claude-Sonnet-4-5",
    ):
        assert isinstance(book.find(name), PriceCard), name


def test_the_full_name_wins() -> None:
    book = LiteLLMPrices({"m": CLAUDE, "x/m": {**CLAUDE, "input_cost_per_token": 1e-06}}, "p", "1")
    found = book.find("x/m")
    assert isinstance(found, PriceCard)
    assert found.model == "x/m"


def test_names_get_shorter_and_none_comes_twice() -> None:
    names = list(model_names("openrouter/anthropic/claude-3-5-sonnet-20241022"))
    assert names[0] == "openrouter/anthropic/claude-3-5-sonnet-20241022"
    assert names[-1] == "claude-3-5-sonnet"
    assert len(set(names)) == len(names)


def test_the_first_list_that_has_the_model_counts_and_all_reasons_are_given() -> None:
    mine = LiteLLMPrices({"m": CLAUDE}, "mine", "1")
    other = LiteLLMPrices({"m": CLAUDE, "n": CLAUDE}, "other", "1")
    found = first_of([mine, other], "m")
    assert isinstance(found, PriceCard)
    assert found.source == "mine"
    also = first_of([mine, other], "n")
    assert isinstance(also, PriceCard)
    assert also.source == "other"
    missing = first_of([mine, other], "o")
    assert isinstance(missing, NoPrice)
    assert "mine" in missing.reason
    assert "other" in missing.reason
    assert isinstance(first_of([], "m"), NoPrice)


def test_genai_prices_gives_cache_prices_and_says_its_version() -> None:
    version = pytest.importorskip("genai_prices").__version__
    found = GenaiPrices(NOVEMBER).find("claude-sonnet-4-5")
    assert isinstance(found, PriceCard)
    assert (found.source, found.version) == ("genai-prices", version)
    rates = found.rates
    assert rates.read < rates.input < rates.write < rates.write_long < rates.output
    assert found.rates_at(250_000).input == 2 * rates.input, "the tier above 200,000 tokens"


@pytest.mark.parametrize(
    "name", ["anthropic/claude-opus-4-6", "us.anthropic.claude-opus-4-6-v1:0", "openai/gpt-5-mini"]
)
def test_genai_prices_finds_models_under_the_names_of_clouds(name: str) -> None:
    pytest.importorskip("genai_prices")
    assert isinstance(GenaiPrices(NOVEMBER).find(name), PriceCard)


def test_genai_prices_has_no_price_for_a_model_that_it_does_not_know() -> None:
    pytest.importorskip("genai_prices")
    found = GenaiPrices(NOVEMBER).find("no-such-model-9")
    assert isinstance(found, NoPrice)
    assert "no-such-model-9" in found.reason


def test_without_the_package_the_reason_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    found = GenaiPrices(NOVEMBER).find("claude-sonnet-4-5")
    assert isinstance(found, NoPrice)
    assert "pip install" in found.reason
