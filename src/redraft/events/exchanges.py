"""What each exchange of a conversation took, gathered from its events. Pure.

An exchange goes from a user turn to the final answer; an agent calls it a turn (`seeds/001_*`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from redraft.dialects import Usage
from redraft.events.catalogue import Event, ReplyRead
from redraft.events.context_ops import ContextOp, ContextOps
from redraft.events.running import ExchangeEnded, Prodded
from redraft.events.scorecard import harness_metrics, scorecard_row

__all__ = ["Exchange", "exchanges_after", "exchanges_of"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one exchange took.

    Attributes:
        first: the number of its first round.
        rounds: model calls that were answered.
        tool_calls: calls of tools in them.
        usage: what the server reported for each model call; None where it reported nothing.
        ops: the use of the context tools.
        answered: whether it has its final answer.
    """

    first: int
    rounds: int = 0
    tool_calls: int = 0
    usage: tuple[Usage | None, ...] = ()
    ops: ContextOps = field(default_factory=ContextOps)
    answered: bool = False

    @property
    def row(self) -> dict[str, Any]:
        """Its row of a scorecard; see `redraft.events.scorecard_row`."""
        return scorecard_row(
            rounds=self.rounds, tool_calls=self.tool_calls, usage=self.usage, ops=self.ops
        )

    @property
    def metrics(self) -> dict[str, Any]:
        """Its metrics under the name `harness`; see `redraft.events.harness_metrics`."""
        return {"harness": harness_metrics(self.usage, self.ops)}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the row and the metrics."""
        return {
            "first_round": self.first,
            "answered": self.answered,
            **self.row,
            "metrics": self.metrics,
        }

    def ended(self, number: int) -> ExchangeEnded:
        """The event that tells of it.

        Args:
            number: the round in which it is told.
        """
        total = self.metrics["harness"].get("total_tokens", 0)
        ops = self.ops.as_dict()
        return ExchangeEnded(number, self.rounds, self.tool_calls, self.answered, total, **ops)

    def _replied(self, event: ReplyRead) -> Exchange:
        reported = event.prompt or event.output
        usage = Usage(event.prompt, event.cached, event.output) if reported else None
        return replace(
            self,
            rounds=self.rounds + 1,
            tool_calls=self.tool_calls + event.calls,
            usage=(*self.usage, usage),
            answered=event.complete and not event.calls,
        )


def exchanges_after(known: tuple[Exchange, ...], event: Event) -> tuple[Exchange, ...]:
    """The exchanges after one more event; the last one may still be going on.

    Args:
        known: the exchanges before it.
        event: what happened.
    """
    *before, last = known or (Exchange(0, answered=True),)
    match event:
        case ReplyRead():
            if last.answered:
                return (*known, Exchange(event.round)._replied(event))
            last = last._replied(event)
        case Prodded() if known:  # the reply was no answer
            last = replace(last, answered=False)
        case ContextOp() if known:
            last = replace(last, ops=last.ops.add(event))
        case _:
            return known
    return (*before, last)


def exchanges_of(events: Iterable[Event]) -> tuple[Exchange, ...]:
    """The exchanges of a run from all that was told of it, in order."""
    known: tuple[Exchange, ...] = ()
    for event in events:
        known = exchanges_after(known, event)
    return known
