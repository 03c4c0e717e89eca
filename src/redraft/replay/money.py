"""What calls cost, at the prices of each one's own model."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.cost import Money, NoPrice, PriceBook, PriceCard, Use, first_of
from redraft.replay.recording import Recording

__all__ = ["billed", "money_of", "recorded_usd"]


def billed(recording: Recording, books: Sequence[PriceBook]) -> Money | NoPrice | None:
    """What the reported usage costs; None where no usage was reported."""
    models, pairs = [], []
    for _, call in recording.calls():
        said = call.reported
        if said is not None:
            read = said.read or 0
            fresh = said.prompt - read - said.written
            use = Use(said.prompt, read, said.written, fresh, said.written_long)
            models.append(call.model)
            pairs.append((use, said.output))
    return money_of(models, pairs, books) if pairs else None


def recorded_usd(recording: Recording) -> float | None:
    """What the recorder itself reckoned, summed; None where it did not."""
    amounts = [
        call.reported.usd
        for _, call in recording.calls()
        if call.reported is not None and call.reported.usd is not None
    ]
    return sum(amounts) if amounts else None


def money_of(
    models: Sequence[str], pairs: Sequence[tuple[Use, int]], books: Sequence[PriceBook]
) -> Money | NoPrice:
    """What the calls cost, each at its own model's prices; no sum where one of them has none."""
    by_model: dict[str, list[tuple[Use, int]]] = {}
    for model, pair in zip(models, pairs, strict=True):
        by_model.setdefault(model, []).append(pair)
    parts: list[Money] = []
    for model, calls in by_model.items():
        card = first_of(books, model) if model else NoPrice("the recording names no model")
        if not isinstance(card, PriceCard):
            return NoPrice(f"{len(calls)} of {len(pairs)} calls have no price: {card.reason}")
        parts.append(card.price(calls))
    if not parts:
        return NoPrice("there are no calls")
    return Money(
        sum(part.usd for part in parts),
        ", ".join(dict.fromkeys(part.model for part in parts)),
        ", ".join(dict.fromkeys(part.source for part in parts)),
        ", ".join(dict.fromkeys(part.version for part in parts)),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
