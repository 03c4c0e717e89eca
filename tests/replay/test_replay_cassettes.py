"""Recorded HTTP: raw exchanges for wire tests, calls with their exact bodies, streams."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from replay_world import read

from redraft.cost import HOUR, MINUTES, Mark
from redraft.errors import RecordingError
from redraft.replay import Reported, Source
from redraft.replay.bodies import prompt_of
from redraft.replay.loaders.cassette import exchanges
from redraft.replay.streams import assemble
from redraft.tokens import Meter

METER = Meter()


def cassette(*pairs: tuple[str, Any, Any], key: str = "parsed_body") -> str:
    """A cassette of (url, request, response); JSON is YAML."""
    made = []
    for url, request, response in pairs:
        made.append(
            {
                "request": {"method": "POST", "uri": url, key: request},
                "response": {"status": {"code": 200, "message": "OK"}, key: response},
            }
        )
    return "interactions:\n" + "\n".join(f"- {json.dumps(one)}" for one in made) + "\nversion: 1\n"


ANTHROPIC = "https://api.anthropic.com/v1/messages?beta=true"
HELLO = {"role": "user", "content": "hello"}
USAGE = {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5}
HI = {
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "hi"}],
    "usage": {**USAGE, "output_tokens": 2},
}


def test_a_conversation_of_messages_is_one_thread_with_exact_bodies() -> None:
    pytest.importorskip("yaml")
    first = {"model": "claude-sonnet-4-5", "system": "s", "messages": [HELLO]}
    more = [HELLO, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "more"}]
    found = read(cassette((ANTHROPIC, first, HI), (ANTHROPIC, {**first, "messages": more}, HI)))
    (thread,) = found.threads
    assert [call.reply for call in thread.calls] == [2, 4]
    assert thread.calls[0].body == first
    assert thread.calls[0].api == "anthropic"
    assert thread.calls[0].reported == Reported(18, 10, 5, 0, 2)


def test_a_request_that_does_not_go_on_begins_a_thread() -> None:
    pytest.importorskip("yaml")
    body = {"model": "claude-sonnet-4-5", "messages": [HELLO]}
    other = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "other"}]}
    found = read(cassette((ANTHROPIC, body, HI), (ANTHROPIC, other, HI)))
    assert [thread.follows for thread in found.threads] == ["", "request 1"]


def test_what_a_server_keeps_of_earlier_responses_is_put_in_front() -> None:
    pytest.importorskip("yaml")
    url = "https://api.openai.com/v1/responses"
    output = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]}
    ]
    first = {"id": "r1", "output": output, "usage": {"input_tokens": 9, "input_tokens_details": {}}}
    found = read(
        cassette(
            (url, {"model": "gpt-5", "input": "2+2?"}, first),
            (url, {"model": "gpt-5", "input": "why?", "previous_response_id": "r1"}, {"id": "r2"}),
        )
    )
    (thread,) = found.threads
    assert [message["content"] for message in thread.messages] == ["2+2?", "4", "why?"]


def test_other_requests_and_failed_ones_are_passed_over_and_noted() -> None:
    pytest.importorskip("yaml")
    body = {"model": "claude-sonnet-4-5", "messages": [HELLO]}
    text = cassette(("https://x/v1/files", {"purpose": "x"}, {}), (ANTHROPIC, body, HI))
    assert "1 requests failed or were no call" in read(text).notes[0]
    with pytest.raises(RecordingError, match="no request in it is a call to a model"):
        read(cassette(("https://x/v1/files", {"purpose": "x"}, {})))


@pytest.mark.parametrize(
    "wrap", [lambda text: text, lambda text: {"string": text, "encoding": "utf-8"}]
)
def test_bodies_as_vcr_keeps_them_are_parsed(wrap: Any) -> None:
    pytest.importorskip("yaml")
    body = json.dumps({"model": "gpt-5", "messages": [HELLO]})
    answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": "hi"}}]})
    text = cassette(("https://x/v1/chat/completions", wrap(body), wrap(answer)), key="body")
    (exchange,) = exchanges(Source("c.yaml", text))
    assert exchange.request["messages"] == [HELLO]
    assert (exchange.api, exchange.status, exchange.method) == ("chat", 200, "POST")


def test_broken_yaml_is_named_by_its_line() -> None:
    pytest.importorskip("yaml")
    with pytest.raises(RecordingError, match=r"recording:3: this is not YAML here"):
        read("interactions:\n- request: {}\n  - : [\n")


def test_an_interaction_that_lacks_a_side_is_named() -> None:
    pytest.importorskip("yaml")
    with pytest.raises(
        RecordingError, match=r"interactions\[0\] lacks a `request` or a `response`"
    ):
        read("interactions:\n- request: {method: GET}\n")


def test_without_pyyaml_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(RecordingError, match="pip install pyyaml"):
        read("interactions: []\n")


def sse(*events: dict[str, Any]) -> str:
    return "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)


def test_a_stream_of_messages_is_put_together() -> None:
    stream = sse(
        {"type": "message_start", "message": {"model": "m", "content": [], "usage": USAGE}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "he"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "llo"}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 2}},
    )
    final = assemble(stream)
    assert final["content"] == [{"type": "text", "text": "hello"}]
    assert final["usage"] == {**USAGE, "output_tokens": 2}


def test_a_stream_of_responses_ends_in_its_last_event() -> None:
    done = {"id": "r", "output": [], "usage": {"input_tokens": 1}}
    stream = sse({"type": "response.created"}, {"type": "response.completed", "response": done})
    assert assemble(stream) == done


def test_a_stream_of_chunks_is_put_together() -> None:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"model": "m", "choices": [{"delta": delta}]}

    part = {"index": 0, "id": "c1", "function": {"name": "ls", "arguments": "{"}}
    stream = sse(
        chunk(content="he"),
        chunk(content="y"),
        chunk(tool_calls=[part]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": "}"}}]),
        {"choices": [], "usage": {"prompt_tokens": 5}},
    )
    final = assemble(stream + "data: [DONE]\n\n")
    message = final["choices"][0]["message"]
    assert message["content"] == "hey"
    assert message["tool_calls"][0]["function"] == {"name": "ls", "arguments": "{}"}
    assert final["usage"] == {"prompt_tokens": 5}


def test_what_is_no_stream_stays_as_it_is() -> None:
    assert assemble({"a": 1}) == {"a": 1}
    assert assemble("plain") == "plain"


# -- bodies as caches see them -------------------------------------------------------------------------

MARK = {"type": "ephemeral"}
BODY = {
    "tools": [{"name": "ls"}, {"name": "cat", "cache_control": {**MARK, "ttl": "1h"}}],
    "system": [{"type": "text", "text": "s", "cache_control": MARK}],
    "messages": [HELLO, {"role": "assistant", "content": "hi"}],
}


def test_tools_stand_first_and_breakpoints_where_the_client_set_them() -> None:
    prompt = prompt_of({**BODY, "cache_control": MARK}, "anthropic", METER)
    assert [segment.kind for segment in prompt.segments] == ["frame"] * 3 + ["turn"] * 2
    assert prompt.marks == [Mark(2, HOUR), Mark(3, MINUTES), Mark(5, MINUTES)]


def test_a_breakpoint_is_no_part_of_the_text() -> None:
    bare = {**BODY, "tools": [{"name": "ls"}, {"name": "cat"}]}
    one, two = (prompt_of(body, "anthropic", METER).segments for body in (BODY, bare))
    assert one == two


def test_a_changed_thinking_budget_stands_behind_the_frame() -> None:
    one, two = (
        prompt_of({**BODY, "thinking": {"type": "enabled", "budget_tokens": n}}, "anthropic", METER)
        for n in (1_024, 2_048)
    )
    differs = [a.digest != b.digest for a, b in zip(one.segments, two.segments, strict=True)]
    assert differs == [False, False, False, True, False, False]


def test_openai_sets_a_breakpoint_of_its_own_unless_told_not_to() -> None:
    marked = [
        {**HELLO, "content": [{"type": "input_text", "text": "a", "prompt_cache_breakpoint": {}}]}
    ]
    body = {"input": [*marked, {"role": "user", "content": "b"}]}
    explicit = {**body, "prompt_cache_options": {"mode": "explicit"}}
    assert [mark.after for mark in prompt_of(body, "responses", METER).marks] == [1, 2]
    assert [mark.after for mark in prompt_of(explicit, "responses", METER).marks] == [1]
    plain = {"input": [HELLO]}
    assert prompt_of(plain, "responses", METER).marks == [], "the cache model sets the only one"


def test_of_responses_what_stands_before_a_compaction_is_not_read() -> None:
    items = [HELLO, {"type": "compaction", "encrypted_content": "x"}, HELLO]
    prompt = prompt_of({"instructions": "s", "input": items}, "responses", METER)
    assert len(prompt.segments) == 3
