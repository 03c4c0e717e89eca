"""What each turn would cost to edit, as `redraft show` tells it: in values, in cells, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.context import Live
from redraft.cost import PriceCard
from redraft.dialects import Dialect
from redraft.errors import SettingsError
from redraft.session.pricing import Pricing
from redraft.session.terms import Terms

__all__ = ["as_values", "edit_cells", "edit_values", "pricing_of", "words"]

_MILLION = 1_000_000


def pricing_of(terms: Terms, dialect: Dialect) -> Pricing:
    """The prices of a run's model; where its price file is gone, those of the built-in list."""
    try:
        return Pricing(terms.model, dialect, terms.settings.price_file)
    except SettingsError:
        return Pricing(terms.model, dialect)


def as_values(pricing: Pricing) -> dict[str, Any]:
    """Where the prices come from, or why there are none."""
    card = pricing.card
    if not isinstance(card, PriceCard):
        return {"source": None, "reason": card.reason}
    return {
        "source": card.source,
        "version": card.version,
        "model": card.model,
        "notes": list(card.notes),
    }


def edit_values(pricing: Pricing, live: Live, at: int) -> dict[str, Any]:
    """What emptying the turn at a position would cost, as plain values.

    Returns:
        tokens as in `redraft.cost.EditPrice`, `payback_calls` (null for never), and in US dollars what
        the next call would cost more (`now_usd`) and each later one less (`later_usd`); null where no
        price is known.
    """
    price = pricing.of_turn(live, at)
    known = isinstance(pricing.card, PriceCard)
    return {
        "freed": price.freed,
        "reread": price.reread,
        "tail": price.tail,
        "reasoning": price.reasoning,
        "payback_calls": price.payback,
        "now_usd": price.now / _MILLION if known else None,
        "later_usd": price.later / _MILLION if known else None,
    }


def edit_cells(edit: Mapping[str, Any] | None, held: str) -> dict[str, str]:
    """The same for a table: tokens read again, calls until it pays, and money.

    Args:
        edit: the values; None for a turn that no edit may touch.
        held: why not.
    """
    if edit is None:
        return {"edit": held, "pays": "", "costs": ""}
    lost = f" +{edit['reasoning']:,}" if edit["reasoning"] else ""
    calls, usd = edit["payback_calls"], edit["now_usd"]
    return {
        "edit": f"{edit['tail']:,}{lost}",
        "pays": "never" if calls is None else f"{calls:,}",
        "costs": "" if usd is None else f"${usd:,.4f}",
    }


def words(pricing: Pricing) -> str:
    """Where the prices come from, in a line."""
    card = pricing.card
    if isinstance(card, PriceCard):
        return f"prices: {card.source} {card.version}, {card.model}"
    return (
        f"no price is known ({card.reason}); `pays` takes a cached read for 0.1 of a fresh token and a "
        "write for 1.25"
    )
