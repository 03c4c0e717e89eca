"""Prices from the package `genai-prices`, as it was shipped: offline, with cache prices by model."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from redraft.cost.prices import NoPrice, PriceCard, Rates, model_names

__all__ = ["GenaiPrices"]

_SOURCE = "genai-prices"
_PARTS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "read": "cache_read_mtok",
    "write": "cache_write_mtok",
    "write_long": "cache_write_1h_mtok",
}


class GenaiPrices:
    """The price list of `genai-prices`. Loading it takes about a second, at the first question.

    Args:
        on: the moment whose prices count, with its time zone; prices change over time.
    """

    def __init__(self, on: datetime) -> None:
        self._on = on

    def find(self, model: str) -> PriceCard | NoPrice:
        """The prices of `model`, found by the package's own rules for the name or a shorter one."""
        try:
            package = importlib.import_module(_SOURCE.replace("-", "_"))
            snapshot = importlib.import_module("genai_prices.data_snapshot").get_snapshot()
        except ImportError:
            return NoPrice(
                f"{_SOURCE} is not installed; `pip install {_SOURCE}`, or pass a price file"
            )
        for name in model_names(model):
            try:
                _, info = snapshot.find_provider_model(name, None, None, None)
            except LookupError:
                continue
            return _card(info, self._on, str(package.__version__))
        return NoPrice(
            f"{_SOURCE} {package.__version__} does not know {model!r}; pass a price file"
        )


def _card(info: Any, on: datetime, version: str) -> PriceCard | NoPrice:
    listed = info.get_prices(on)
    prices = {part: getattr(listed, field, None) for part, field in _PARTS.items()}
    if prices["input"] is None or prices["output"] is None:
        return NoPrice(f"{_SOURCE} {version} has no token prices for {info.id}; pass a price file")
    starts = sorted({tier.start for price in prices.values() for tier in _tiers(price)})
    notes = tuple(
        f"{_PARTS[part]} is not listed; priced as input"
        for part in ("read", "write")
        if prices[part] is None
    )
    return PriceCard(
        str(info.id),
        _SOURCE,
        version,
        _rates(prices, 0),
        tuple((start, _rates(prices, start)) for start in starts),
        notes,
    )


def _tiers(price: Any) -> Iterator[Any]:
    yield from getattr(price, "tiers", ())


def _rates(prices: dict[str, Any], start: int) -> Rates:
    """The rates from `start` tokens of prompt on."""
    amounts = {part: _amount(price, start) for part, price in prices.items()}
    given, output = amounts["input"], amounts["output"]
    assert given is not None
    assert output is not None
    return Rates.of(given, output, amounts["read"], amounts["write"], amounts["write_long"])


def _amount(price: Any, start: int) -> float | None:
    if price is None:
        return None
    amount = getattr(price, "base", price)
    for tier in _tiers(price):
        if tier.start <= start:
            amount = tier.price
    return float(amount)
