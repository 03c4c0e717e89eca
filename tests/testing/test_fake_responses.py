"""The fake Responses API answers the official client over a real socket, and refuses as the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai
import pytest

from redraft.testing import FakeResponses, Fault

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def echo(request: Mapping[str, Any]) -> Json:
    return {"role": "assistant", "content": f"you said {request['messages'][-1]['content']}"}


def thinker(request: Mapping[str, Any]) -> Json:
    """Thinks, and calls a tool until it has a result."""
    place = len(request["messages"])
    message: Json = {"role": "assistant", "content": None, "reasoning_content": f"hm {place}"}
    if request["messages"][-1]["role"] == "tool":
        return {**message, "content": f"read {request['messages'][-1]['content']}"}
    call = {"id": f"call_{place}", "type": "function"}
    return {**message, "tool_calls": [{**call, "function": {"name": "bash", "arguments": "{}"}}]}


def client(server: FakeResponses, **options: Any) -> Any:
    defaults: Json = {"api_key": "k", "max_retries": 0, "timeout": 20}
    return openai.OpenAI(base_url=server.base_url, **(defaults | options))


def ask(server: FakeResponses, given: Any = "hello", **fields: Any) -> Any:
    with client(server) as api:
        return api.responses.create(model="m", input=given, **fields)


def items(reply: Any) -> list[Json]:
    return [item.to_dict() for item in reply.output]


def output(reply: Any, text: str = "out") -> Json:
    return {
        "type": "function_call_output",
        "call_id": reply.output[-1].call_id,
        "output": text,
    }


def test_the_player_answers() -> None:
    with FakeResponses(echo) as server:
        reply = ask(server)
    assert (reply.output_text, reply.status) == ("you said hello", "completed")
    assert reply._request_id.startswith("req_")


def test_reasoning_is_sealed_where_nothing_is_stored_and_calls_are_calls() -> None:
    with FakeResponses(thinker) as server:
        reasoning, call = ask(server, store=False).output
        assert reasoning.encrypted_content.startswith("gAAAAAB")
        assert ask(server).output[0].encrypted_content is None
    assert (call.type, call.name, call.arguments) == ("function_call", "bash", "{}")


def test_a_stream_carries_the_same_answer() -> None:
    with (
        FakeResponses(echo) as server,
        client(server) as api,
        api.responses.stream(model="m", input="a long enough question") as stream,
    ):
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(pieces) == final.output_text == "you said a long enough question"


def test_the_items_go_back_as_they_came() -> None:
    with FakeResponses(thinker) as server:
        first = ask(server, [{"role": "user", "content": "go"}], store=False)
        history = [{"role": "user", "content": "go"}, *items(first), output(first, "it")]
        assert ask(server, history, store=False).output_text == "read it"


def test_a_history_on_the_server_is_gone_on_with_by_its_response_id() -> None:
    with FakeResponses(thinker) as server:
        first = ask(server)
        second = ask(server, [output(first, "it")], previous_response_id=first.id)
        assert second.output_text == "read it"
        assert second.usage.input_tokens > first.usage.input_tokens
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, previous_response_id="resp_none")
    assert caught.value.code == "previous_response_not_found"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda r, c, o: [r, c], "No tool output found for function call call_1"),
        (lambda r, c, o: [o], "No tool call found for function call output with call_id call_1"),
        (lambda r, c, o: [r], "without its required following item"),
        (lambda r, c, o: [c, o], "without its required 'reasoning' item"),
        (lambda r, c, o: [r, {**c, "id": "x"}, o], "begins with 'fc'"),
        (lambda r, c, o: [r, c, o, r, c, o], "Duplicate item found"),
        (lambda r, c, o: [r, {**c, "arguments": None}, o], "Missing required parameter"),
        (lambda r, c, o: [{**r, "status": "completed"}, c, o], "Unknown parameter"),
    ],
)
def test_a_list_that_breaks_a_rule_is_refused_in_the_apis_shape(broken: Any, says: str) -> None:
    user = {"role": "user", "content": "go"}
    with FakeResponses(thinker) as server:
        first = ask(server, [user])
        reasoning, call = items(first)
        with pytest.raises(openai.BadRequestError, match=says) as caught:
            ask(server, [user, *broken(reasoning, call, output(first))])
        bare = {key: value for key, value in call.items() if key != "id"}
        assert ask(server, [user, bare, output(first)]).output_text
    assert caught.value.body["type"] == "invalid_request_error"
    assert caught.value.request_id.startswith("req_")


def test_a_wrong_key_an_unknown_model_and_a_small_window_are_refused() -> None:
    with FakeResponses(echo, key="right", models=["m"], window=50) as server:
        with pytest.raises(openai.AuthenticationError):
            ask(server)
        with client(server, api_key="right") as api:
            with pytest.raises(openai.NotFoundError):
                api.responses.create(model="other", input="x")
            with pytest.raises(openai.BadRequestError) as caught:
                api.responses.create(model="m", input="x" * 900)
            assert caught.value.code == "context_length_exceeded"
            assert api.responses.create(model="m", input="x").output_text


def test_a_cut_answer_says_why() -> None:
    with FakeResponses(echo, faults=[Fault.cut()]) as server:
        reply = ask(server)
    assert (reply.status, reply.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert reply.output_text == "you sai"


def test_an_appended_request_is_cached_and_an_edited_one_is_not() -> None:
    long = [{"role": "user", "content": "x" * 4000}]
    more = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    with FakeResponses(echo) as server:
        first = ask(server, long).usage
        second = ask(server, [*long, *more]).usage
        other = ask(server, [{"role": "user", "content": "y" * 4000}, *more]).usage
    assert first.input_tokens_details.cached_tokens == 0
    cached = second.input_tokens_details.cached_tokens
    assert first.input_tokens - 1 <= cached < second.input_tokens
    assert other.input_tokens_details.cached_tokens < 20
