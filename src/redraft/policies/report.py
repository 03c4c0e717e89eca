"""The context report: what a rotation did, in the five parts of `seeds/003_*`, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redraft.context import Live
from redraft.dialects.stubs import stubs_in
from redraft.policies.audit import Preservation
from redraft.policies.tuning import Adjustment, Rotation

__all__ = ["ContextReport", "MemoryPlan", "saved_per_hour"]


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where offloaded material is and how it is asked for.

    Attributes:
        storage: the mechanisms that the pointers name; empty where nothing is offloaded.
        pointers: how many pointers the context holds.
        size: bytes behind them.
        query: the shape of a look-up.
        items: where items and states are kept beside it; "" for a session without a memory.
    """

    storage: tuple[str, ...] = ()
    pointers: int = 0
    size: int = 0
    query: str = "by id: the SHA-256 in the pointer"
    items: str = ""

    @classmethod
    def of(cls, live: Live, items: str = "") -> MemoryPlan:
        """What the pointers of a context say; `items` as in the class."""
        stubs = {stub.id: stub for turn in live.turns for stub in stubs_in(turn.content.text)}
        storage = tuple(sorted({stub.storage for stub in stubs.values()}))
        size = sum(stub.size for stub in stubs.values())
        return cls(storage, len(stubs), size, items=items)


@dataclass(frozen=True, slots=True)
class ContextReport:
    """The report.

    Attributes:
        tokens, limit: status: tokens of the context and what it may have.
        strategy, why: the strategy chosen last and the reason; "" where none was yet.
        preservation: each critical item, found or missing.
        memory: where offloaded material is.
        saved_per_hour: tokens that rotations saved, net, for each hour of the session.
        rotations: the log behind it.
        adjustments: how the trigger was moved.

    A session's report has tokens as its limit is given and as the model is told of them;
    `Manager.report`, which knows no model, has raw ones.
    """

    tokens: int
    limit: int
    strategy: str
    why: str
    preservation: Preservation
    memory: MemoryPlan
    saved_per_hour: float
    rotations: tuple[Rotation, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()

    @property
    def share(self) -> float:
        """The share of the limit that is used."""
        return self.tokens / self.limit if self.limit > 0 else 1.0

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it; its five parts are the first five keys."""
        return {
            "status": {
                "tokens": self.tokens,
                "limit": self.limit,
                "percent": round(100 * self.share, 1),
            },
            "strategy": {"name": self.strategy, "why": self.why},
            "preservation": self.preservation.as_dict(),
            "memory": {
                "storage": list(self.memory.storage),
                "pointers": self.memory.pointers,
                "bytes": self.memory.size,
                "query": self.memory.query,
                "items": self.memory.items,
            },
            "efficiency": {"saved_per_hour": round(self.saved_per_hour, 1)},
            "rotations": [rotation.as_dict() for rotation in self.rotations],
            "adjustments": [
                {"at": one.at, "before": one.before, "after": one.after, "why": one.why}
                for one in self.adjustments
            ],
        }


def saved_per_hour(rotations: Sequence[Rotation], started: float, now: float) -> float:
    """Tokens saved for each hour, what summaries cost taken off; 0 where no time has passed.

    Args:
        rotations: what happened.
        started, now: seconds of one clock.
    """
    hours = (now - started) / 3600
    return sum(one.saved - one.spent for one in rotations) / hours if hours > 0 else 0.0
