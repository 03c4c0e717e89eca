"""What edits cost at the prices of the session's model: for receipts, for listings and for the door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache
from pathlib import Path

from redraft.context import Check, Commit, Live
from redraft.cost import (
    RELATIVE,
    EditPrice,
    GenaiPrices,
    LiteLLMPrices,
    NoPrice,
    PriceBook,
    PriceCard,
    Rates,
    first_of,
    max_payback,
    price_commit,
    price_turn,
)
from redraft.dialects import Dialect
from redraft.dialects.capabilities import capabilities_of
from redraft.errors import SettingsError
from redraft.settings import Settings

__all__ = ["Pricing"]


class Pricing:
    """The prices of one session's model. They are looked up at the first question, which may take half
    a second; nothing is asked of a network.

    Args:
        model: the model's name; "" for none, and then prices are relative to a fresh token.
        dialect: the wire format, which says whether reasoning is bound to what stands in front of it.
        file: a price file in LiteLLM's format, which wins over `genai-prices`; "" for none.

    Raises:
        SettingsError: the price file cannot be read, or is no price file.
    """

    def __init__(self, model: str, dialect: Dialect, file: str = "") -> None:
        self._model = model
        self._own: Sequence[PriceBook] = [_file(file)] if file else []
        self._binding = capabilities_of(model, dialect.name).reasoning in ("bound", "dropped")

    @cached_property
    def card(self) -> PriceCard | NoPrice:
        """The model's prices with their source and version, or why there are none."""
        if not self._model:
            return NoPrice("the session names no model; pass `model`")
        found = first_of(self._own, self._model)
        if isinstance(found, PriceCard):
            return found
        listed = _listed(self._model, datetime.now(UTC).date())
        if isinstance(listed, NoPrice) and self._own:
            return NoPrice(f"{found.reason}; {listed.reason}")
        return listed

    def rates(self, prompt: int = 0) -> Rates:
        """The prices for a prompt of so many tokens; `redraft.cost.RELATIVE` where none are known."""
        card = self.card
        return card.rates_at(prompt) if isinstance(card, PriceCard) else RELATIVE

    def of_commit(self, commit: Commit) -> EditPrice:
        """What an edit that passed the door costs."""
        rates = self.rates(commit.deltas.after)
        return price_commit(commit, rates=rates, binding=self._binding)

    def of_turn(self, live: Live, at: int) -> EditPrice:
        """What it would cost to empty the turn at a position."""
        return price_turn(live, at, rates=self.rates(live.tokens), binding=self._binding)

    def check(
        self, settings: Settings, limit: Callable[[], int], show: Callable[[int], int]
    ) -> Sequence[Check]:
        """The check on the price of edits, where the settings ask for one.

        Args:
            settings: `max_payback` says how many calls an edit may take to pay for itself.
            limit: gives the raw limit as it stands.
            show: turns raw tokens into those that the model is shown.
        """
        if settings.max_payback is None:
            return ()
        return (
            max_payback(
                settings.max_payback,
                rates=self.rates,
                limit=limit,
                binding=self._binding,
                show=show,
            ),
        )


@lru_cache(maxsize=64)
def _listed(model: str, _: date) -> PriceCard | NoPrice:
    """The built-in list's prices, looked up once a day and model."""
    return GenaiPrices(datetime.now(UTC)).find(model)


def _file(name: str) -> LiteLLMPrices:
    path = Path(name)
    try:
        return LiteLLMPrices.parse(path.read_text(encoding="utf-8-sig"), path.name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(f"the price file {name}: {reason}; check `price_file`") from error
    except ValueError as error:
        raise SettingsError(f"the price file {name}: {error}") from error
