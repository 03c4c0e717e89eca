"""Prices from a file in the format of LiteLLM's `model_prices_and_context_window.json`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from redraft.cost.prices import NoPrice, PriceCard, Rates, model_names

__all__ = ["LiteLLMPrices"]

_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_PARTS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "read": "cache_read_input_token_cost",
    "write": "cache_creation_input_token_cost",
    "write_long": "cache_creation_input_token_cost_above_1hr",
}


class LiteLLMPrices:
    """A price list in LiteLLM's format: a JSON object, model name -> costs in USD for one token.

    Args:
        entries: the parsed file. Fields that are not prices of tokens are passed over.
        source: what to call the list, e.g. the file's name.
        version: its version.

    Raises:
        ValueError: it is no JSON object of objects.
    """

    def __init__(self, entries: Mapping[str, Any], source: str, version: str) -> None:
        if not isinstance(entries, Mapping):
            raise ValueError(f"{source} is no JSON object; {_EXPECTED}")
        self._entries = {key.lower(): (key, value) for key, value in entries.items()}
        self._source = source
        self._version = version

    @classmethod
    def parse(cls, text: str, source: str) -> LiteLLMPrices:
        """Read a price file. Its version is the start of its text's SHA-256.

        Args:
            text: the file's text.
            source: the file's name.

        Raises:
            ValueError: it is not JSON of this form.
        """
        try:
            entries = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{source} is not JSON ({error}); {_EXPECTED}") from error
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(entries, source, f"sha256:{digest[:12]}")

    def find(self, model: str) -> PriceCard | NoPrice:
        """The entry named `model`, or the one for its bare name; a date at the end may be missing."""
        for name in model_names(model):
            if name in self._entries:
                key, entry = self._entries[name]
                return self._card(key, entry)
        return NoPrice(f"{self._source} has no entry {model!r}; add one, in USD for one token")

    def _card(self, key: str, entry: Any) -> PriceCard | NoPrice:
        if not isinstance(entry, Mapping):
            return NoPrice(f"{self._source}: the entry {key!r} is no JSON object; {_EXPECTED}")
        rates = _rates(entry, "")
        if rates is None:
            return NoPrice(
                f"{self._source}: {key!r} has no `input_cost_per_token` and "
                "`output_cost_per_token` that are numbers of 0 or more; add them"
            )
        missing = [field for field in list(_PARTS.values())[2:4] if _number(entry, field) is None]
        notes = tuple(f"{field} is not given; priced as input" for field in missing)
        tiers = tuple(sorted(_tiers(entry, rates), key=lambda tier: tier[0]))
        return PriceCard(key, self._source, self._version, rates, tiers, notes)


_EXPECTED = (
    'it must look like {"some-model": {"input_cost_per_token": 3e-06, '
    '"output_cost_per_token": 1.5e-05}}'
)


def _number(entry: Mapping[str, Any], field: str) -> float | None:
    value = entry.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        return None  # a dollar for one token is a slip of units
    return value * 1_000_000.0


def _rates(entry: Mapping[str, Any], suffix: str, base: Rates | None = None) -> Rates | None:
    """The rates whose fields end in `suffix`; what has none there costs as in `base`."""
    found = {part: _number(entry, field + suffix) for part, field in _PARTS.items()}
    if base is not None:
        ratio = 1.0 if found["input"] is None or not base.input else found["input"] / base.input
        found = {
            part: getattr(base, part) * (1.0 if part == "output" else ratio)
            if value is None
            else value
            for part, value in found.items()
        }
    given, output = found["input"], found["output"]
    if given is None or output is None:
        return None
    return Rates.of(given, output, found["read"], found["write"], found["write_long"])


def _tiers(entry: Mapping[str, Any], base: Rates) -> Iterator[tuple[int, Rates]]:
    for field in entry:
        found = _ABOVE.fullmatch(field)
        if found:
            rates = _rates(entry, f"_above_{found[1]}k_tokens", base)
            if rates is not None:
                yield int(found[1]) * 1_000, rates
