"""Events as OpenTelemetry spans and metrics, in the names of the conventions for generative AI.

An optional extra: `pip install 'redraft[otel]'`. Nothing of OpenTelemetry is imported before a
`Telemetry` is made.

Source of the names: `docs/gen-ai` of github.com/open-telemetry/semantic-conventions-genai (status:
development). What they have no name for is called `redraft.*`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from redraft.errors import SettingsError
from redraft.events.approvals import ApprovalAsked
from redraft.events.catalogue import Event, ReplyRead, RequestMade
from redraft.events.otel_metrics import Instruments
from redraft.events.running import CommandEnded, CommandStarted, RequestRefused, RunEnded

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

__all__ = ["Telemetry"]

_SCOPE = "redraft"
_TOOL = "bash"
_NO_REPLY = "no_reply"
_TOO_LARGE = "context_overflow"
_TIMEOUT = "timeout"

Attributes = dict[str, Any]


class _Timed:
    """A span that is open, and when it began."""

    def __init__(self, span: Span, shared: Attributes) -> None:
        self.span = span
        self.shared = shared
        self.began = time.perf_counter()

    def close(self, error: str = "") -> tuple[float, Attributes]:
        """End it; the seconds it took, and what its metrics are told apart by."""
        from opentelemetry.trace import Status, StatusCode

        failed = {"error.type": error} if error else {}
        if error:
            self.span.set_attributes(failed)
            self.span.set_status(Status(StatusCode.ERROR, error))
        self.span.end()
        return time.perf_counter() - self.began, {**self.shared, **failed}


class Telemetry:
    """Tells OpenTelemetry what a session or an agent does: give it as `on_event`.

    One span `invoke_agent` holds a span `chat` for each model call and `execute_tool` for each command
    of an agent; every other event is an event of the outer span. Metrics are listed in
    `docs/events.md`. It is for one session, in one thread at a time; `close` ends what is open.

    Args:
        model: the model's name as it stands in a request.
        provider: who answers: `openai`, `anthropic`, `gcp.gemini`, or a name of your own.
        agent: the agent's name.
        conversation: an id for the session; "" for none.
        content: whether the model's commands are recorded. They may hold secrets, so they are not
            unless you say so.
        tracer_provider: where spans go. Default: OpenTelemetry's global one.
        meter_provider: where metrics go. Default: the global one.
        then: called with every event afterwards, so that others can watch too.

    Raises:
        SettingsError: OpenTelemetry is not installed.
    """

    def __init__(
        self,
        *,
        model: str,
        provider: str,
        agent: str = "redraft",
        conversation: str = "",
        content: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        then: Callable[[Event], None] | None = None,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as missing:
            raise SettingsError(
                "OpenTelemetry is not installed; run pip install 'redraft[otel]'."
            ) from missing
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._told = Instruments(metrics.get_meter(_SCOPE, meter_provider=meter_provider))
        self._where: Attributes = {"gen_ai.provider.name": provider, "gen_ai.request.model": model}
        self._agent_name, self._conversation = agent, conversation
        self._content, self._then = content, then
        self._agent: _Timed | None = None
        self._chat: _Timed | None = None
        self._command: _Timed | None = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        self._take(event)
        if self._then is not None:
            self._then(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(kind.__qualname__ if kind else "")

    def close(self, error: str = "") -> None:
        """End what is open. An event that comes later begins anew.

        Args:
            error: the class of the error that ended it; "" for none.
        """
        self._close_command(error or _NO_REPLY)
        self._close_chat(error or _NO_REPLY)
        if self._agent is not None:
            self._told.agent_seconds(*self._agent.close(error))
            self._agent = None

    # -- one event -------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        agent = self._agent = self._agent or self._begin_agent()
        match event:
            case RequestMade():
                self._close_chat(_NO_REPLY)
                self._chat = self._begin_chat(agent, event)
            case ReplyRead():
                self._replied(event)
            case RequestRefused():
                self._close_chat(_TOO_LARGE)
            case CommandStarted():
                self._close_command(_NO_REPLY)
                self._command = self._begin_command(agent, event)
            case CommandEnded():
                self._ended(event)
            case RunEnded():
                agent.span.set_attribute("redraft.status", event.status)
                self.close("failed" if event.status == "failed" else "")
            case _:
                agent.span.add_event(f"redraft.{event.type}", self._shown(event))
        self._told.count(event, self._where)

    def _shown(self, event: Event) -> Attributes:
        """An event's fields, without those that quote the model where that is not wanted."""
        values = _attributes(event)
        if isinstance(event, ApprovalAsked) and not self._content:
            del values["redraft.asked"]
        return values

    def _begin_agent(self) -> _Timed:
        name = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._agent_name}
        known = {"gen_ai.conversation.id": self._conversation} if self._conversation else {}
        return self._begin(f"invoke_agent {self._agent_name}", {**name, **self._where}, known)

    def _begin_chat(self, agent: _Timed, event: RequestMade) -> _Timed:
        shared = {"gen_ai.operation.name": "chat", **self._where}
        name = f"chat {self._where['gen_ai.request.model']}".strip()
        return self._begin(name, shared, _attributes(event), agent, remote=True)

    def _begin_command(self, agent: _Timed, event: CommandStarted) -> _Timed:
        shared = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": _TOOL}
        more: Attributes = {"gen_ai.tool.type": "function", "redraft.round": event.round}
        if self._content:
            more["gen_ai.tool.call.arguments"] = event.command
        return self._begin(f"execute_tool {_TOOL}", shared, more, agent)

    def _begin(
        self,
        name: str,
        shared: Attributes,
        more: Attributes,
        inside: _Timed | None = None,
        *,
        remote: bool = False,
    ) -> _Timed:
        from opentelemetry.trace import SpanKind, set_span_in_context

        span = self._tracer.start_span(
            name,
            context=set_span_in_context(inside.span) if inside else None,
            kind=SpanKind.CLIENT if remote else SpanKind.INTERNAL,
            attributes={**shared, **more},
        )
        return _Timed(span, shared)

    def _replied(self, event: ReplyRead) -> None:
        """The server's figures, where it reported any: a guess is no usage."""
        if self._chat is None:
            return
        figures = {"input": event.prompt, "output": event.output}
        usage = {f"gen_ai.usage.{of}_tokens": count for of, count in figures.items() if count}
        if event.prompt:
            usage["gen_ai.usage.cache_read.input_tokens"] = event.cached
        own = {"redraft.calls": event.calls, "redraft.complete": event.complete}
        self._chat.span.set_attributes({**usage, **own})
        self._told.tokens(figures, self._chat.shared)
        self._close_chat()

    def _ended(self, event: CommandEnded) -> None:
        if self._command is not None:
            own = {"process.exit.code": event.exit_code, "redraft.printed": event.printed}
            self._command.span.set_attributes(own)
            self._close_command(_TIMEOUT if event.timed_out else "")

    def _close_chat(self, error: str = "") -> None:
        if self._chat is not None:
            self._told.chat_seconds(*self._chat.close(error))
            self._chat = None

    def _close_command(self, error: str = "") -> None:
        if self._command is not None:
            self._told.tool_seconds(*self._command.close(error))
            self._command = None


def _attributes(event: Event) -> Attributes:
    """An event's fields under names of our own."""
    return {f"redraft.{name}": value for name, value in event.as_dict().items() if name != "type"}
