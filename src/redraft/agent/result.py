"""What a run ended with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from redraft.agent.costs import FindPrice, ModelCall, OutsideCall, RunCost, run_cost
from redraft.agent.metrics import Metrics
from redraft.cost import NoPrice, PriceCard
from redraft.events import EditJudged, Exchange

__all__ = ["RunResult", "RunStatus"]


class RunStatus(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    """It has not ended, or not begun."""
    FINISHED = "finished"
    """The model gave its answer of its own accord."""
    STOPPED = "stopped"
    """Steps or context were spent. There may be an answer from the last turn."""
    WAITING = "waiting"
    """A call waits for a person's approval. Decide, then resume the run."""
    INTERRUPTED = "interrupted"
    """A person stopped it."""
    FAILED = "failed"
    """An error ended it."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run's answer and what it took.

    Attributes:
        answer: the model's last words; "" where there are none.
        status: how the run stands.
        why: why it did not finish; "" where it did.
        metrics: the figures.
        edits: what became of every proposed change of the context, in order, whoever proposed it.
        calls: the requests that were answered, in order.
        model: the model's name.
        outside: calls beside the window, e.g. a summarizer's, in order.
        exchanges: what each exchange took, from a user turn to the final answer: one, and one more for
            each time that a run which had its answer was given more to do.
    """

    answer: str = ""
    status: RunStatus = RunStatus.RUNNING
    why: str = ""
    metrics: Metrics = field(default_factory=Metrics)
    edits: tuple[EditJudged, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    model: str = ""
    outside: tuple[OutsideCall, ...] = ()
    exchanges: tuple[Exchange, ...] = ()

    def cost(
        self, card: PriceCard | NoPrice | None = None, find: FindPrice | None = None
    ) -> RunCost:
        """What its model calls cost: compute, and money where prices are given.

        Args:
            card: the model's prices, e.g. `redraft.cost.GenaiPrices(datetime.now(UTC)).find(model)`.
            find: the prices of other models, where another one summarizes.
        """
        return run_cost(self.calls, self.model, card, outside=self.outside, find=find)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "answer": self.answer,
            "status": str(self.status),
            "why": self.why,
            "metrics": self.metrics.as_dict(),
            "exchanges": [exchange.as_dict() for exchange in self.exchanges],
            "receipts": [_receipt(edit) for edit in self.edits],
        }


def _receipt(edit: EditJudged) -> dict[str, Any]:
    values = edit.as_dict()
    del values["type"]
    return values
