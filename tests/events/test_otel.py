"""Events as spans and metrics, read back from OpenTelemetry's exporters in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from redraft import Session
from redraft.errors import SettingsError
from redraft.events import (
    CommandEnded,
    CommandStarted,
    ContextOp,
    EditJudged,
    Event,
    ReplyRead,
    RequestMade,
    RequestRefused,
    RolledBack,
    RunEnded,
)
from redraft.events.otel import Telemetry
from redraft.events.otel_metrics import SECONDS, TOKENS

pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

HEAD = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Go."}]
REQUEST = RequestMade(1, 900, 10_000, 950, 800, 50)
REPLY = ReplyRead(1, 1, True, 1_000, 600, 40)
SHARED = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
}


class World:
    """A telemetry and what it exported."""

    def __init__(self, **settings: Any) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self._tracing = TracerProvider()
        self._tracing.add_span_processor(SimpleSpanProcessor(self._spans))
        self.telemetry = Telemetry(
            **{"model": "gpt-5", "provider": "openai", **settings},
            tracer_provider=self._tracing,
            meter_provider=MeterProvider([self._reader]),
        )

    def spans(self) -> list[ReadableSpan]:
        return list(self._spans.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans() if span.name == name]
        return found

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


def told(*events: Event, **settings: Any) -> World:
    world = World(**settings)
    for event in events:
        world.telemetry(event)
    return world


END = RunEnded(1, "finished", "")


def test_a_model_call_is_a_client_span_inside_of_the_agents() -> None:
    world = told(REQUEST, REPLY, END, agent="scout", conversation="run-1")
    agent, chat = world.span("invoke_agent scout"), world.span("chat gpt-5")
    assert (agent.kind, chat.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert agent.parent is None
    assert chat.parent is not None
    assert chat.parent.span_id == agent.context.span_id
    assert dict(agent.attributes or {}) == {
        **SHARED,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "scout",
        "gen_ai.conversation.id": "run-1",
        "redraft.status": "finished",
    }
    assert dict(chat.attributes or {}) == {
        **SHARED,
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "redraft.round": 1,
        "redraft.tokens": 900,
        "redraft.limit": 10_000,
        "redraft.raw": 950,
        "redraft.reused_raw": 800,
        "redraft.reread_raw": 50,
        "redraft.calls": 1,
        "redraft.complete": True,
    }
    assert chat.status.status_code is StatusCode.UNSET


def test_usage_is_what_the_server_reported_and_nothing_where_it_reported_nothing() -> None:
    world = told(REQUEST, REPLY)
    sums = {p.attributes["gen_ai.token.type"]: p.sum for p in world.points(USAGE)}
    assert sums == {"input": 1_000, "output": 40}
    silent = told(REQUEST, ReplyRead(1, 0, True, 0, 0, 0))
    assert silent.points(USAGE) == []
    attributes = silent.span("chat gpt-5").attributes or {}
    assert not [name for name in attributes if name.startswith("gen_ai.usage")]


USAGE = "gen_ai.client.token.usage"


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ((REQUEST, RequestRefused(1), END), "context_overflow"),
        ((REQUEST, END), "no_reply"),
        ((REQUEST, REQUEST, REPLY, END), "no_reply"),
    ],
)
def test_a_call_that_got_no_reply_is_an_error(events: tuple[Event, ...], error: str) -> None:
    world = told(*events)
    first = next(span for span in world.spans() if span.name == "chat gpt-5")
    assert (first.attributes or {})["error.type"] == error
    assert first.status.status_code is StatusCode.ERROR
    points = world.points("gen_ai.client.operation.duration")
    assert {p.attributes.get("error.type") for p in points} >= {error}
    assert world.span("invoke_agent redraft").status.status_code is StatusCode.UNSET


def test_a_command_is_a_tool_span_whose_text_is_kept_only_if_asked_for() -> None:
    events = (CommandStarted(2, "cat secret", 60.0), CommandEnded(2, 3, False, 120), END)
    span = told(*events).span("execute_tool bash")
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.type": "function",
        "process.exit.code": 3,
        "redraft.printed": 120,
        "redraft.round": 2,
    }
    open_span = told(*events, content=True).span("execute_tool bash")
    assert (open_span.attributes or {})["gen_ai.tool.call.arguments"] == "cat secret"
    late = told(CommandStarted(2, "sleep", 1.0), CommandEnded(2, 124, True, 0))
    assert (late.span("execute_tool bash").attributes or {})["error.type"] == "timeout"
    assert [p.count for p in late.points("gen_ai.execute_tool.duration")] == [1]


def test_what_redraft_does_is_an_event_of_the_agents_span_and_counted() -> None:
    edit = EditJudged(2, 1, "model", "file", "applied", 900, 400, "", 30, 500)
    world = told(
        REQUEST,
        REPLY,
        edit,
        ContextOp(2, "drop", True, ("call_1",), 300, ("ab12",)),
        RolledBack(3, 1, (4, 5), 900, 500),
        END,
    )
    events = world.span("invoke_agent redraft").events
    names = ["redraft.edit_judged", "redraft.context_op", "redraft.rolled_back"]
    assert [event.name for event in events] == names
    assert (events[0].attributes or {})["redraft.after"] == 400
    assert (events[2].attributes or {})["redraft.turns"] == (4, 5)
    (edits,) = world.points("redraft.edits")
    assert (edits.value, edits.attributes["redraft.status"]) == (1, "applied")
    (ops,) = world.points("redraft.context_ops")
    assert (ops.attributes["redraft.op"], ops.attributes["redraft.ok"]) == ("drop", True)
    assert [p.value for p in world.points("redraft.rollbacks")] == [1]
    assert [p.value for p in world.points("redraft.request.reread")] == [50]
    assert [p.sum for p in world.points("redraft.request.tokens")] == [900]


def test_the_boundaries_are_those_of_the_conventions() -> None:
    assert (TOKENS[0], TOKENS[-1], SECONDS[0], SECONDS[-1]) == (1, 67_108_864, 0.01, 81.92)
    world = told(REQUEST, REPLY, END)
    assert world.points(USAGE)[0].explicit_bounds == TOKENS
    assert world.points("gen_ai.invoke_agent.duration")[0].explicit_bounds == SECONDS


def test_a_run_that_failed_is_an_error_and_what_comes_later_begins_anew() -> None:
    world = told(REQUEST, REPLY, RunEnded(1, "failed", "the server is gone"))
    assert world.span("invoke_agent redraft").status.status_code is StatusCode.ERROR
    world.telemetry(REQUEST)
    world.telemetry(REPLY)
    world.telemetry.close()
    world.telemetry.close()
    assert [span.name for span in world.spans()].count("invoke_agent redraft") == 2


def test_an_exception_that_leaves_the_block_ends_all_that_is_open_by_its_name() -> None:
    world = World()
    world.telemetry(REQUEST)
    with pytest.raises(ZeroDivisionError), world.telemetry:
        raise ZeroDivisionError
    errors = {span.name: (span.attributes or {})["error.type"] for span in world.spans()}
    assert set(errors) == {"chat gpt-5", "invoke_agent redraft"}
    assert set(errors.values()) == {"ZeroDivisionError"}


def test_it_watches_a_session_and_passes_every_event_on() -> None:
    seen: list[Event] = []
    keep: Callable[[Event], None] = seen.append
    world = World(then=keep)
    message = {"role": "assistant", "content": "Done."}
    with world.telemetry, Session(HEAD, on_event=world.telemetry) as session:
        session.request()
        with session.answer() as answer:
            answer({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert [event.type for event in seen][:2] == ["request_made", "reply_read"]
    assert [span.name for span in world.spans()] == ["chat gpt-5", "invoke_agent redraft"]


def test_nothing_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, redraft, redraft.cli.app, redraft.events.otel; "
        "sys.exit(any(name.partition('.')[0] == 'opentelemetry' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_where_it_is_not_installed_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SettingsError, match=r"pip install 'redraft\[otel\]'"):
        Telemetry(model="m", provider="openai")
