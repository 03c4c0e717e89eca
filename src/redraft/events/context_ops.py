"""The context tools as events, and how often a turn used them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from redraft.events.catalogue import Event

__all__ = ["ContextOp", "ContextOps", "counted_ops", "op_of"]


@dataclass(frozen=True, slots=True)
class ContextOp(Event):
    """The model called a tool of ours by which it acts on its context or its memory.

    Attributes:
        op: `status`, `pin`, `unpin`, `drop`, `note` or `read`; `store` or `fetch`; `compact`; `branch` or
            `return`.
        ok: whether anything was done; False where all of it was declined or refused.
        handles: what it acted on, or was asked to where nothing was done: results, items of a memory, a
            branch (`b<turn>.<call>`, by the call that began it), a stretch of turns (`turns 3-9`).
        tokens_freed: tokens that the context lost by it; negative where it grew.
        overflow_ids: the bodies that went to the overflow store.
    """

    type: ClassVar[str] = "context_op"
    op: str
    ok: bool
    handles: tuple[str, ...] = ()
    tokens_freed: int = 0
    overflow_ids: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """The name of the tool that was called."""
        return _TOOLS.get(self.op, f"context_{self.op}")


_TOOLS = MappingProxyType(
    {
        "branch": "branch",
        "compact": "compact_context",
        "fetch": "memory_fetch",
        "read": "read_overflow",
        "return": "return_from_branch",
        "store": "memory_store",
    }
)

_OPS = MappingProxyType(
    {name: op for op, name in _TOOLS.items()}
    | {f"context_{op}": op for op in ("status", "pin", "unpin", "drop", "note")}
)


def op_of(tool: str) -> str:
    """What `ContextOp.op` is for a call of this tool; "" for a tool that is none of them."""
    return _OPS.get(tool, "")


_COUNTERS = MappingProxyType(
    {"status": "status", "pin": "pins", "unpin": "unpins", "drop": "drops", "note": "notes"}
)


@dataclass(frozen=True, slots=True)
class ContextOps:
    """How often a turn used the context tools: calls that did something, and tokens that they freed.

    Attributes:
        status, pins, unpins, drops, notes: calls of each tool.
        tokens_freed: tokens that drops and notes took out of the context.
    """

    status: int = 0
    pins: int = 0
    unpins: int = 0
    drops: int = 0
    notes: int = 0
    tokens_freed: int = 0

    def __bool__(self) -> bool:
        """Whether any tool was used."""
        return self != ContextOps()

    def add(self, event: ContextOp) -> ContextOps:
        """The counters after one more call. A call that did nothing is not counted."""
        counter = _COUNTERS.get(event.op)
        if not event.ok or counter is None:
            return self
        counts = asdict(self)
        counts[counter] += 1
        return replace(self, **{**counts, "tokens_freed": self.tokens_freed + event.tokens_freed})

    def as_dict(self) -> dict[str, int]:
        """The counters by name, in the order of `seeds/001_*`."""
        return asdict(self)


def counted_ops(events: Iterable[Event]) -> ContextOps:
    """The counters of a turn's events."""
    ops = ContextOps()
    for event in events:
        if isinstance(event, ContextOp):
            ops = ops.add(event)
    return ops
