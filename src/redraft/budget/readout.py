"""How full the context is, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Readout"]


@dataclass(frozen=True, slots=True)
class Readout:
    """The figures that every tool result shows.

    Attributes:
        used: tokens that the context holds, as shown (calibrated).
        limit: tokens that it may hold; positive.
    """

    used: int
    limit: int

    @property
    def percent(self) -> int:
        """How full it is, rounded down: 100 only once it is truly full."""
        return self.used * 100 // self.limit

    @property
    def free(self) -> int:
        """Tokens up to the limit; negative where the context is over it."""
        return self.limit - self.used

    @property
    def over(self) -> bool:
        """Whether the context has overflowed: a rollback is due."""
        return self.used > self.limit
