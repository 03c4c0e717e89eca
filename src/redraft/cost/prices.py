"""Money: what a call costs by a price list, and where each price comes from.

An unknown model has no price. It is never taken for free: the answer is a `NoPrice` with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redraft.cost.caches import Use

__all__ = [
    "RELATIVE",
    "Money",
    "NoPrice",
    "PriceBook",
    "PriceCard",
    "Rates",
    "first_of",
    "model_names",
]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices in USD for a million tokens.

    Attributes:
        input: a token of the prompt that is neither read from a cache nor stored in one.
        output: a generated token, reasoning included.
        read: a token served from the cache.
        write: a token stored in the cache.
        write_long: a token stored for an hour.
    """

    input: float
    output: float
    read: float
    write: float
    write_long: float

    @classmethod
    def of(
        cls,
        given: float,
        output: float,
        read: float | None = None,
        write: float | None = None,
        write_long: float | None = None,
    ) -> Rates:
        """Rates with what a list leaves out filled in: what has no price of its own costs as input
        (`given`), and storing for an hour as storing."""
        write = given if write is None else write
        return cls(
            given,
            output,
            given if read is None else read,
            write,
            write if write_long is None else write_long,
        )

    def of_use(self, use: Use, output: int) -> float:
        """USD for one call.

        Args:
            use: how its prompt was served.
            output: tokens generated.
        """
        return (
            use.read * self.read
            + (use.written - use.written_long) * self.write
            + use.written_long * self.write_long
            + use.fresh * self.input
            + output * self.output
        ) / _MILLION


RELATIVE = Rates(input=1.0, output=5.0, read=0.1, write=1.25, write_long=2.0)
"""Prices relative to a fresh token, where no model is named: Anthropic's multipliers (reads 0.1,
writes 1.25 and 2, from the pricing page of platform.claude.com); OpenAI's reads cost as much, and its
writes 1.25 from GPT-5.6 on."""


@dataclass(frozen=True, slots=True)
class PriceCard:
    """The prices of one model.

    Attributes:
        model: the model as the list names it.
        source: the price list, e.g. `genai-prices`.
        version: the list's version.
        rates: its prices.
        tiers: (more tokens in the prompt than this, rates), rising; the whole call costs the rates
            of the last tier that it is over.
        notes: what the list leaves out.
    """

    model: str
    source: str
    version: str
    rates: Rates
    tiers: tuple[tuple[int, Rates], ...] = ()
    notes: tuple[str, ...] = ()

    def rates_at(self, prompt: int) -> Rates:
        """The rates for a prompt of so many tokens."""
        over = [rates for more_than, rates in self.tiers if prompt > more_than]
        return over[-1] if over else self.rates

    def price(self, calls: Iterable[tuple[Use, int]]) -> Money:
        """What calls cost, each given as (use, tokens generated)."""
        usd = sum(self.rates_at(use.prompt).of_use(use, output) for use, output in calls)
        return Money(usd, self.model, self.source, self.version, self.notes)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount, and the price list that it comes from.

    Attributes:
        usd: US dollars.
        model, source, version: the price's origin.
        notes: what the list leaves out.
    """

    usd: float
    model: str
    source: str
    version: str
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "usd": self.usd,
            "model": self.model,
            "source": self.source,
            "version": self.version,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class NoPrice:
    """There is no price, and why."""

    reason: str


class PriceBook(Protocol):
    """A price list."""

    def find(self, model: str) -> PriceCard | NoPrice:
        """The prices of `model`, by any of its usual names."""


def first_of(books: Sequence[PriceBook], model: str) -> PriceCard | NoPrice:
    """The prices of `model` from the first list that has them.

    Args:
        books: price lists, the one that overrides the others first.
        model: the model's name.

    Returns:
        a card, or a `NoPrice` with every list's reason.
    """
    reasons: list[str] = []
    for book in books:
        found = book.find(model)
        if isinstance(found, PriceCard):
            return found
        reasons.append(found.reason)
    return NoPrice("; ".join(reasons) or "no price list was given")


_CLOUD = re.compile(r"^(?:[a-z-]+\.)+(?=[a-z])")
_REVISION = re.compile(r"-v\d+(?::\d+)?$|@.*$|:[a-z]+$")
_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d)$")


def model_names(model: str) -> Iterator[str]:
    """The names under which a list may have `model`, the fullest first, each once.

    Args:
        model: any spelling: `openrouter/anthropic/claude-opus-4-6`,
            `us.anthropic.claude-haiku-4-5-20251001-v1:0`.

    Yields:
        lower-case names, shortened by providers, cloud prefixes, revisions and dates.
    """
    name = model.strip().lower()
    seen: set[str] = set()
    while name:
        bare = _REVISION.sub("", _CLOUD.sub("", name))
        for one in (name, bare, _DATE.sub("", bare)):
            if one not in seen:
                seen.add(one)
                yield one
        _, _, name = name.partition("/")
