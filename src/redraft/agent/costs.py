"""What a run's model calls cost: compute where the model's shape is known, money where its price is. Pure.

Both come from the same figures of each call, and these from events, so that a run that was taken up
again costs what it would have cost in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redraft.cost import (
    Geometry,
    Money,
    NoPrice,
    PriceCard,
    Use,
    call_flops,
    find_geometry,
)

__all__ = ["FindPrice", "ModelCall", "OutsideCall", "RunCost", "run_cost"]

FindPrice = Callable[[str], PriceCard | NoPrice]
"""From a model's name to its prices."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One answered request.

    Attributes:
        tokens: its size as shown.
        shared: those of `tokens` that are, byte for byte, the start of the answered request before it.
        prompt, cached, output: tokens as the server counted them; 0 where it reports nothing.
    """

    tokens: int
    shared: int
    prompt: int = 0
    cached: int = 0
    output: int = 0

    @property
    def reuse(self) -> tuple[int, int]:
        """(prompt, the part of it that is reused), in the server's count where there is one."""
        if not self.prompt:
            return self.tokens, self.shared
        return self.prompt, self.prompt * self.shared // max(self.tokens, 1)


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """A call whose tokens never stood in the window, e.g. a summarizer's.

    Attributes:
        model: the model that was asked; "" for the run's own.
        prompt, output: tokens as the server counted them.
    """

    model: str
    prompt: int
    output: int

    @property
    def call(self) -> ModelCall:
        """The same as an answered request. Nothing of it is reused: it shares no prefix with the run's."""
        return ModelCall(self.prompt, 0, self.prompt, 0, self.output)


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run's model calls cost.

    Attributes:
        flops: prefix-reuse compute of all of them (DESIGN.md section 7), every prefix that a request
            shares with the one before it being reused; None where the model's shape is not known.
        geometry: the model whose shape that is reckoned with; "" for none.
        money: what they cost by the server's own count; None where that or the price is not known.
        unpriced: why there is no amount; "" where there is one.
        notes: what the figures leave out.
    """

    flops: float | None = None
    geometry: str = ""
    money: Money | None = None
    unpriced: str = ""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "flops": self.flops,
            "geometry": self.geometry or None,
            "money": self.money.as_dict() if self.money else None,
            "unpriced": self.unpriced,
            "notes": list(self.notes),
        }


def run_cost(
    calls: Sequence[ModelCall],
    model: str,
    card: PriceCard | NoPrice | None = None,
    *,
    geometry: Geometry | None = None,
    outside: Sequence[OutsideCall] = (),
    find: FindPrice | None = None,
) -> RunCost:
    """What a run's model calls cost.

    Args:
        calls: the calls.
        model: the model's name.
        card: the model's prices, or why there are none; None where nobody asks for money.
        geometry: the model's shape; by default `redraft.cost.find_geometry` of its name.
        outside: calls beside the window. The own model's count like the others; those of another model are
            added where its shape and price are known, and named where they are not.
        find: the prices of other models.
    """
    calls = [*calls, *(one.call for one in outside if one.model in ("", model))]
    cost = _run_cost(calls, model, card, geometry)
    others: dict[str, list[ModelCall]] = {}
    for one in outside:
        if one.model not in ("", model):
            others.setdefault(one.model, []).append(one.call)
    for name, theirs in others.items():
        price = find(name) if find is not None else NoPrice("no price list was given")
        cost = _with_another(cost, name, theirs, _run_cost(theirs, name, price, None))
    return cost


def _with_another(cost: RunCost, name: str, calls: Sequence[ModelCall], theirs: RunCost) -> RunCost:
    """What a run cost, with the calls of another model added where that can be done."""
    notes, flops, money = list(cost.notes), cost.flops, cost.money
    if flops is not None:
        if theirs.flops is None:
            notes.append(
                f"{_calls(len(calls))} of {name} not in the compute: its shape is not known"
            )
        else:
            flops += theirs.flops
    if money is not None:
        if theirs.money is None:
            notes.append(f"{_calls(len(calls))} of {name} not priced: {theirs.unpriced}")
        else:
            money = replace(money, usd=money.usd + theirs.money.usd)
            notes.append(f"${theirs.money.usd:.4f} of it for {_calls(len(calls))} of {name}")
    return replace(cost, flops=flops, money=money, notes=tuple(notes))


def _run_cost(
    calls: Sequence[ModelCall],
    model: str,
    card: PriceCard | NoPrice | None,
    geometry: Geometry | None,
) -> RunCost:
    shape = geometry or find_geometry(model)
    flops = None if shape is None else sum(call_flops(shape, *c.reuse, c.output) for c in calls)
    price = _price(calls, card or NoPrice("no price list was given"))
    paid = isinstance(price, Money)
    return RunCost(
        flops,
        shape.name if shape else "",
        price if isinstance(price, Money) else None,
        price.reason if isinstance(price, NoPrice) else "",
        tuple(_notes(calls, compute=shape is not None, paid=paid)),
    )


def _price(calls: Sequence[ModelCall], card: PriceCard | NoPrice) -> Money | NoPrice:
    counted = [call for call in calls if call.prompt]
    if not counted:
        return NoPrice("the server reported no usage")
    if isinstance(card, NoPrice):
        return card
    return card.price((_use(call), call.output) for call in counted)


def _use(call: ModelCall) -> Use:
    # Servers tell what they read from a cache. What they wrote to it they do not tell in one way, so
    # the rest counts as fresh.
    read = min(call.cached, call.prompt)
    return Use(call.prompt, read, 0, call.prompt - read)


def _notes(calls: Sequence[ModelCall], *, compute: bool, paid: bool) -> Iterator[str]:
    silent = sum(not call.prompt for call in calls)
    if silent and compute:
        yield f"generated tokens of {_calls(silent)} are not in the compute: the server did not count"
    if silent and paid:
        yield f"{_calls(silent)} of {len(calls):,} not priced: the server did not count"


def _calls(number: int) -> str:
    return f"{number:,} call" if number == 1 else f"{number:,} calls"
