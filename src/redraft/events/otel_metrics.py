"""The metrics that events are counted in; see `redraft.events.otel`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redraft.events.catalogue import EditJudged, Event, RequestMade, RolledBack
from redraft.events.context_ops import ContextOp

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

__all__ = ["SECONDS", "TOKENS", "Instruments"]

TOKENS = tuple(4**power for power in range(14))
"""Boundaries for token counts, as the conventions ask for: 1 to 67,108,864."""

SECONDS = tuple(2**power / 100 for power in range(14))
"""Boundaries for the seconds of a model call, as the conventions ask for: 0.01 to 81.92."""


class Instruments:
    """Every instrument, made once.

    Args:
        meter: what makes them.
    """

    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, what: str) -> Any:
            return meter.create_histogram(
                name, unit="s", description=what, explicit_bucket_boundaries_advisory=SECONDS
            )

        def sizes(name: str, what: str) -> Any:
            return meter.create_histogram(
                name, unit="{token}", description=what, explicit_bucket_boundaries_advisory=TOKENS
            )

        def counter(name: str, unit: str, what: str) -> Any:
            return meter.create_counter(name, unit=unit, description=what)

        self._usage = sizes("gen_ai.client.token.usage", "Tokens of a model call.")
        self._chat = seconds("gen_ai.client.operation.duration", "Seconds of a model call.")
        self._tool = seconds("gen_ai.execute_tool.duration", "Seconds of a command.")
        self._agent = seconds("gen_ai.invoke_agent.duration", "Seconds of a run.")
        self._size = sizes("redraft.request.tokens", "Size of a request, as shown to the model.")
        self._reread = counter(
            "redraft.request.reread", "{token}", "Raw tokens read again because of a change."
        )
        self._edits = counter("redraft.edits", "{edit}", "Revisions that the door answered.")
        self._rollbacks = counter("redraft.rollbacks", "{rollback}", "Rollbacks.")
        self._ops = counter("redraft.context_ops", "{call}", "Calls of the context tools.")

    def chat_seconds(self, seconds: float, told: Mapping[str, Any]) -> None:
        """A model call took this long."""
        self._chat.record(seconds, told)

    def tool_seconds(self, seconds: float, told: Mapping[str, Any]) -> None:
        """A command took this long."""
        self._tool.record(seconds, told)

    def agent_seconds(self, seconds: float, told: Mapping[str, Any]) -> None:
        """A run took this long."""
        self._agent.record(seconds, told)

    def tokens(self, figures: Mapping[str, int], told: Mapping[str, Any]) -> None:
        """What the server counted, by the type of token; a count of 0 was not reported."""
        for kind, count in figures.items():
            if count:
                self._usage.record(count, {**told, "gen_ai.token.type": kind})

    def count(self, event: Event, told: Mapping[str, Any]) -> None:
        """Count what redraft itself does; `told` says for which model."""
        match event:
            case RequestMade():
                self._size.record(event.tokens, told)
                self._reread.add(event.reread_raw, told)
            case EditJudged():
                own = {"redraft.author": event.author, "redraft.status": event.status}
                self._edits.add(1, {**told, **own})
            case RolledBack():
                self._rollbacks.add(1, told)
            case ContextOp():
                self._ops.add(1, {**told, "redraft.op": event.op, "redraft.ok": event.ok})
            case _:
                pass
