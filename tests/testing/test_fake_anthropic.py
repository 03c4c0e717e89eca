"""The fake Messages API answers the official client over a real socket, and refuses as the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic
import pytest

from redraft.testing import FakeAnthropic, Fault
from redraft.testing.binding import CONTROL
from redraft.testing.players import alert_player

Json = dict[str, Any]

USER: Any = {"role": "user", "content": "hello"}
MARK = {"type": "ephemeral"}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)


def echo(request: Mapping[str, Any]) -> Json:
    return {"role": "assistant", "content": f"you said {request['messages'][-1]['content']}"}


def thinker(request: Mapping[str, Any]) -> Json:
    """Thinks, and calls a tool until it has a result."""
    place = len(request["messages"])
    message: Json = {"role": "assistant", "content": None, "reasoning_content": f"hm {place}"}
    if request["messages"][-1]["role"] == "tool":
        return {**message, "content": "done"}
    call = {"id": f"toolu_{place}", "type": "function"}
    return {**message, "tool_calls": [{**call, "function": {"name": "bash", "arguments": "{}"}}]}


def client(server: FakeAnthropic, **options: Any) -> Any:
    defaults: Json = {"api_key": "k", "max_retries": 0, "timeout": 20}
    return anthropic.Anthropic(base_url=server.base_url, **(defaults | options))


def ask(server: FakeAnthropic, *messages: Any, **fields: Any) -> Any:
    defaults: Json = {"model": "m", "max_tokens": 100, "messages": list(messages or (USER,))}
    with client(server) as api:
        return api.messages.create(**(defaults | fields))


def answered(reply: Any) -> Json:
    return {"role": "assistant", "content": reply.to_dict()["content"]}


def result(reply: Any, text: str = "out") -> Json:
    (call,) = [block for block in reply.content if block.type == "tool_use"]
    block = {"type": "tool_result", "tool_use_id": call.id, "content": text}
    return {"role": "user", "content": [block]}


def test_the_player_answers_and_reads_the_request_as_chat_completions() -> None:
    with FakeAnthropic(echo) as server:
        reply = ask(server, system="Be brief.")
    assert (reply.content[0].text, reply.stop_reason) == ("you said hello", "end_turn")
    assert reply._request_id.startswith("req_")


def test_thinking_comes_back_signed_and_calls_as_calls() -> None:
    with FakeAnthropic(thinker) as server:
        reply = ask(server)
    thought, call = reply.content
    assert (thought.type, thought.thinking) == ("thinking", "hm 1")
    assert thought.signature
    assert (call.type, call.name, call.input, reply.stop_reason) == (
        "tool_use",
        "bash",
        {},
        "tool_use",
    )


def test_a_stream_carries_the_same_answer() -> None:
    with FakeAnthropic(thinker) as server, client(server) as api:
        whole = ask(server)
        with api.messages.stream(model="m", max_tokens=9, messages=[USER]) as stream:
            streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == ["thinking", "tool_use"]
    assert streamed.content[1] == whole.content[1]
    assert streamed.content[0].signature != whole.content[0].signature
    assert streamed.usage.input_tokens == whole.usage.input_tokens


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (
            Fault.status(529, "Overloaded", server="anthropic"),
            anthropic.APIStatusError,
            "Overloaded",
        ),
        (Fault.rate_limit(server="anthropic"), anthropic.RateLimitError, "rate_limit_error"),
        (
            Fault.overflow(300_001, 200_000, server="anthropic"),
            anthropic.BadRequestError,
            "too long",
        ),
        (Fault.disconnect(), anthropic.APIConnectionError, "Connection error"),
    ],
)
def test_faults_reach_the_client_as_errors_of_its_own(fault: Fault, error: Any, says: str) -> None:
    with FakeAnthropic(echo, faults=[fault]) as server:
        with pytest.raises(error, match=says):
            ask(server)
        assert ask(server).content


def test_a_wrong_key_an_unknown_model_and_a_small_window_are_refused() -> None:
    with FakeAnthropic(echo, key="right", models=["m"], window=50) as server:
        with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
            ask(server)
        with client(server, api_key="right") as api:
            body: Json = {"max_tokens": 9, "messages": [USER]}
            with pytest.raises(anthropic.NotFoundError, match="model: other"):
                api.messages.create(model="other", **body)
            with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
                api.messages.create(model="m", system="x" * 900, **body)
            assert api.messages.create(model="m", **body).content


def test_a_list_that_breaks_a_rule_is_refused_in_the_apis_shape() -> None:
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}
    with FakeAnthropic(echo) as server:
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(server, orphan)
        assert server.refused
        with pytest.raises(anthropic.BadRequestError, match="prefill"):
            ask(server, USER, {"role": "assistant", "content": "so"})
    assert caught.value.body["type"] == "error"
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert "unexpected `tool_use_id`" in caught.value.body["error"]["message"]
    assert caught.value.request_id == caught.value.body["request_id"]


# -- bound thinking ------------------------------------------------------------------------------


def test_thinking_behind_the_prefix_that_it_was_made_under_is_taken() -> None:
    with FakeAnthropic(thinker) as server:
        first = ask(server, system="S")
        second = ask(server, USER, answered(first), result(first), system="S")
        last = ask(
            server,
            {**USER, "content": [{"type": "text", "text": "hello", "cache_control": MARK}]},
            answered(first),
            result(first),
            answered(second),
            USER,
            system=[{"type": "text", "text": "S"}],
        )
    assert last.content


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"system": "T"}, "The `system` differ"),
        ({"tools": [{"name": "x", "input_schema": {"type": "object"}}]}, "The `tools` differ"),
        ({"first": {"role": "user", "content": "HELLO"}}, "The `messages` differ"),
    ],
)
def test_thinking_behind_another_prefix_is_refused_or_dropped_on_demand(
    change: Json, says: str
) -> None:
    with FakeAnthropic(thinker) as server, client(server) as api:
        reply = ask(server, system="S")
        first = change.pop("first", USER)
        messages = [first, answered(reply), result(reply)]
        request: Json = {
            "system": "S",
            "model": "m",
            "max_tokens": 9,
            "messages": messages,
            **change,
        }
        with pytest.raises(anthropic.BadRequestError, match="bound to a different") as caught:
            api.messages.create(**request)
        assert says in str(caught.value)
        control = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}, "type": "adaptive"}
        with pytest.raises(anthropic.BadRequestError, match="anthropic-beta"):
            api.messages.create(**request, thinking=control)
        answer = api.beta.messages.create(**request, thinking=control, betas=[CONTROL])
        bare = [USER if first is USER else first, {**answered(reply)}, result(reply)]
        bare[1] = {"role": "assistant", "content": answered(reply)["content"][1:]}
        assert api.messages.create(**{**request, "messages": bare}).content
    assert [(one.path, one.reason) for one in answer.input_transformations] == [
        ("messages.1.content.0", "prefix_binding_mismatch")
    ]


def test_a_model_without_binding_takes_thinking_behind_another_prefix() -> None:
    with FakeAnthropic(thinker, bound=False) as server:
        reply = ask(server, system="S")
        assert ask(server, USER, answered(reply), result(reply), system="T").content


def test_thinking_that_was_changed_or_is_nobodys_is_refused() -> None:
    with FakeAnthropic(thinker, bound=False) as server:
        reply = ask(server)
        said = answered(reply)
        for block in ({"thinking": "other"}, {"signature": "forged"}):
            changed = [{**said["content"][0], **block}, *said["content"][1:]]
            with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
                ask(server, USER, {**said, "content": changed}, result(reply))


def test_thinking_left_out_between_others_is_refused_and_at_the_beginning_taken() -> None:
    with FakeAnthropic(thinker) as server:
        first = ask(server)
        history = [USER, answered(first), result(first)]
        second = ask(server, *history)
        history += [answered(second), USER]
        third = ask(server, *history)
        history += [answered(third), result(third)]

        def without(*places: int) -> list[Json]:
            return [
                {**m, "content": m["content"][1:]} if at in places else m
                for at, m in enumerate(history)
            ]

        assert ask(server, *without(1)).content
        assert ask(server, *without(1, 3)).content
        with pytest.raises(anthropic.BadRequestError, match="left out or moved"):
            ask(server, *without(3))


def test_thinking_of_an_open_exchange_is_there_as_a_whole_or_not_at_all() -> None:
    def twice(request: Mapping[str, Any]) -> Json:
        return {**thinker(request), "native": [{"type": "redacted_thinking"}]}

    with FakeAnthropic(twice) as server:
        reply = ask(server)
        said = answered(reply)
        part = {**said, "content": said["content"][1:]}
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
            ask(server, USER, part, result(reply))
        assert ask(server, USER, {**said, "content": said["content"][2:]}, result(reply)).content


def test_a_conversation_that_began_elsewhere_can_be_learned() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    said = {"role": "assistant", "content": [block, {"type": "text", "text": "hi"}]}
    with FakeAnthropic(echo) as server:
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            ask(server, USER, said, USER)
        server.remember({"messages": [USER, said]})
        assert ask(server, USER, said, USER).content


# -- the prompt cache ----------------------------------------------------------------------------


def test_a_marker_stores_the_prompt_and_the_next_request_reads_it() -> None:
    system = [{"type": "text", "text": "x" * 4000, "cache_control": MARK}]
    marked = {"role": "user", "content": [{"type": "text", "text": "and?", "cache_control": MARK}]}
    with FakeAnthropic(echo) as server:
        first = ask(server, system=system).usage
        said = {"role": "assistant", "content": "you said hello"}
        second = ask(server, USER, said, marked, system=system).usage
        other = ask(server, USER, system=[{**system[0], "text": "y" * 4000}]).usage
    assert first.cache_read_input_tokens == 0
    assert first.cache_creation_input_tokens >= 1000
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert second.cache_creation_input_tokens > 0
    assert second.input_tokens == 0
    assert other.cache_read_input_tokens == 0


def test_no_marker_no_cache() -> None:
    with FakeAnthropic(echo) as server:
        ask(server)
        usage = ask(server).usage
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (0, 0)
    assert usage.input_tokens > 0


def test_an_entry_is_found_up_to_twenty_blocks_in_front_of_a_marker() -> None:
    def body(blocks: int, marked: int) -> list[Json]:
        texts = [{"type": "text", "text": f"block {at} " + "x" * 400} for at in range(blocks)]
        texts[marked] |= {"cache_control": MARK}
        return [{"role": "user", "content": texts}]

    for more, found in ((20, True), (21, False)):
        with FakeAnthropic(echo) as server:
            ask(server, *body(1, 0))
            usage = ask(server, *body(1 + more, -1)).usage
        assert (usage.cache_read_input_tokens > 0) is found


def test_the_scripted_players_play_here_too() -> None:
    task = {"role": "user", "content": "The log: part-01.log to part-02.log."}
    with FakeAnthropic(alert_player) as server:
        reply = ask(server, task)
        assert reply.content[0].input == {"command": "cat part-01.log"}
        last = ask(server, task, answered(reply), result(reply, "x ALERT auth ref=ab owner=1"))
        assert last.content[0].input == {"command": "cat part-02.log"}
