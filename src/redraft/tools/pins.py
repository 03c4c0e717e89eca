"""Pins with owners: who wants which turns to stay as they are.

`Live.pins` says which turns are pinned; a board says by whom, so that a model takes back its own pins
and nobody else's. A board is a value: every change makes a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast, get_args

__all__ = ["MAX_MODEL_PINS", "Owner", "Pin", "PinBoard"]

Owner = Literal["model", "user", "harness"]
"""Who pinned. The user's pins and the harness's are neither counted for the model nor removed by it."""

MAX_MODEL_PINS = 20
"""Pins that the model may hold in a session (`seeds/001_*`)."""

_EXCERPT = 80


@dataclass(frozen=True, slots=True)
class Pin:
    """One pin: one message, which may hold several turns.

    Attributes:
        owner: who wants it.
        turns: numbers of the turns, rising.
        excerpt: a few words of what is pinned, for a list.
    """

    owner: Owner
    turns: tuple[int, ...]
    excerpt: str = ""

    @property
    def label(self) -> str:
        """The excerpt as a list shows it: whose pin it is stands in front."""
        return f"[{self.owner}] {self.excerpt}".rstrip()


@dataclass(frozen=True, slots=True)
class PinBoard:
    """All pins of a session, oldest first."""

    pins: tuple[Pin, ...] = ()

    @property
    def numbers(self) -> frozenset[int]:
        """The turns that anybody pinned: what `Live.pins` holds."""
        return frozenset(number for pin in self.pins for number in pin.turns)

    def of(self, owner: Owner) -> tuple[Pin, ...]:
        """The pins of one owner."""
        return tuple(pin for pin in self.pins if pin.owner == owner)

    def covers(self, owner: Owner, turns: Iterable[int]) -> bool:
        """Whether one pin of this owner holds all of these turns."""
        wanted = set(turns)
        return any(wanted <= set(pin.turns) for pin in self.of(owner))

    def add(self, owner: Owner, turns: Iterable[int], text: str = "") -> Self:
        """The board with one pin more; the same where that owner holds these turns already.

        Args:
            owner: who pins.
            turns: numbers of the turns of one message.
            text: what they say; the beginning becomes the excerpt.
        """
        numbers = tuple(sorted(set(turns)))
        if not numbers or self.covers(owner, numbers):
            return self
        return replace(self, pins=(*self.pins, Pin(owner, numbers, _excerpt(text))))

    def remove(self, owner: Owner, turns: Iterable[int]) -> Self:
        """The board without this owner's pins that hold any of these turns."""
        gone = set(turns)
        kept = (pin for pin in self.pins if pin.owner != owner or gone.isdisjoint(pin.turns))
        return replace(self, pins=tuple(kept))

    def clear(self, owner: Owner) -> Self:
        """The board without any pin of this owner."""
        return replace(self, pins=tuple(pin for pin in self.pins if pin.owner != owner))

    def present(self, numbers: Collection[int]) -> Self:
        """The board without pins of which no turn is in the context any more.

        Args:
            numbers: the turns of the context.
        """
        return replace(
            self, pins=tuple(pin for pin in self.pins if any(n in numbers for n in pin.turns))
        )

    def as_values(self) -> list[dict[str, Any]]:
        """The board as JSON values, for a journal."""
        return [
            {"owner": pin.owner, "turns": list(pin.turns), "excerpt": pin.excerpt}
            for pin in self.pins
        ]

    @classmethod
    def from_values(cls, values: Sequence[Mapping[str, Any]]) -> Self:
        """The board whose `as_values` gave these; raises `ValueError` where an owner is unknown."""
        return cls(tuple(map(_pin, values)))

    @classmethod
    def of_numbers(cls, numbers: Iterable[int], owner: Owner = "user") -> Self:
        """A board for turns that were pinned before anybody wrote down by whom, one pin each."""
        return cls(tuple(Pin(owner, (number,)) for number in sorted(numbers)))


def _pin(values: Mapping[str, Any]) -> Pin:
    owner = values["owner"]
    if owner not in get_args(Owner):
        raise ValueError(f"a pin belongs to {owner!r}; known are {', '.join(get_args(Owner))}.")
    return Pin(cast("Owner", owner), tuple(values["turns"]), str(values.get("excerpt", "")))


def _excerpt(text: str) -> str:
    words = " ".join(text[: 4 * _EXCERPT].split())
    return words if len(words) <= _EXCERPT else f"{words[: _EXCERPT - 1]}…"
