"""Replies of all kinds: SDK objects, final objects of streams, mappings, messages, and garbage."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from chat_world import CHAT, call, calls, said
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from redraft.dialects import Reply, Usage
from redraft.errors import DialectError
from redraft.testing.server import FakeServer


def completion(message: Any, finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": message}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **fields}


def native(reply: Reply) -> Any:
    (carrier,) = reply.content.carriers
    return carrier


ANSWER = calls("a", content="looking", reasoning_content="hm")


@pytest.mark.parametrize(
    "response",
    [
        completion(ANSWER),
        ChatCompletion.model_validate(completion(ANSWER)),
        ANSWER,
        ChatCompletionMessage.model_validate(ANSWER),
    ],
    ids=["mapping", "SDK object", "message", "SDK message"],
)
def test_every_form_of_a_reply_is_the_same_turn(response: Any) -> None:
    reply = CHAT.read(response)
    assert native(reply) == ANSWER
    assert (reply.content.role, reply.content.text, reply.content.hidden) == (
        "assistant",
        "looking",
        "hm",
    )
    assert reply.complete


class TestARealClient:
    def reply(self, player: Any, **options: Any) -> Any:
        server = FakeServer(player, **options)
        server.start()
        return server

    def test_a_plain_answer_a_parsed_one_and_the_final_object_of_a_stream_are_one(self) -> None:
        tool = {"name": "bash", "strict": True, "parameters": {"type": "object", "properties": {}}}
        request: dict[str, Any] = {
            "model": "m",
            "messages": [{"role": "user", "content": "x"}],
            "tools": [{"type": "function", "function": tool}],
        }
        with FakeServer(lambda asked: calls("a", "b", content="hi")) as server:
            with openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
                plain = client.chat.completions.create(**request)
                parsed = client.chat.completions.parse(**request)
                with client.chat.completions.stream(
                    **request, stream_options={"include_usage": True}
                ) as stream:
                    final = stream.get_final_completion()
            replies = [CHAT.read(response) for response in (plain, parsed, final)]
            for reply in replies:
                assert native(reply) == calls("a", "b", content="hi")
                assert reply.usage is not None
                assert reply.usage.prompt > 0
            # What was read goes back as it was read.
            with openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
                results = [
                    {"role": "tool", "tool_call_id": name, "content": "x"} for name in ("a", "b")
                ]
                history = [*request["messages"], native(replies[2]), *results]
                client.chat.completions.create(model="m", messages=history)
        assert server.requests[-1]["messages"][1] == calls("a", "b", content="hi")


class TestWhatComesBack:
    def test_nulls_empty_calls_and_what_the_sdk_added_are_not_sent_back(self) -> None:
        message = said(
            "hi", refusal=None, function_call=None, tool_calls=[], parsed={"x": 1}, annotations=[]
        )
        assert native(CHAT.read(completion(message))) == said("hi", annotations=[])

    def test_nulls_inside_of_a_field_stay(self) -> None:
        details = [{"type": "reasoning.text", "text": "t", "signature": None, "parsed": 1}]
        message = said("hi", reasoning_details=details)
        assert native(CHAT.read(completion(message))) == message

    def test_an_answer_with_calls_may_lack_content_and_one_without_may_not(self) -> None:
        with_calls = {"role": "assistant", "tool_calls": [call("a")]}
        assert native(CHAT.read(completion(with_calls)))["content"] is None
        assert native(CHAT.read(completion({"role": "assistant"})))["content"] == ""
        assert native(CHAT.read(completion({})))["role"] == "assistant"

    def test_the_server_gets_back_its_sounds_by_id(self) -> None:
        audio = {"id": "s1", "data": "UklGR", "expires_at": 9, "transcript": "hi"}
        assert native(CHAT.read(completion(said(None, audio=audio))))["audio"] == {"id": "s1"}

    def test_reading_copies(self) -> None:
        message = calls("a")
        reply = CHAT.read(completion(message))
        message["tool_calls"][0]["function"]["arguments"] = "changed"
        assert reply.content.calls[0].arguments == "{}"
        assert native(reply) == calls("a")


class TestIds:
    def ids(self, *natives: Any, taken: Any = ()) -> list[str]:
        message = said(None, tool_calls=list(natives))
        reply = CHAT.read(completion(message, "tool_calls"), taken)
        assert [c["id"] for c in native(reply)["tool_calls"]] == [c.id for c in reply.content.calls]
        return [c.id for c in reply.content.calls]

    def test_a_call_given_twice_is_one_call(self) -> None:
        assert self.ids(call("a", '{"x":1}'), call("a", '{"x":1}')) == ["a"]

    def test_two_calls_under_one_id_are_two_calls(self) -> None:
        assert self.ids(call("a", '{"x":1}'), call("a", '{"x":2}'), call("a", '{"x":1}')) == [
            "a",
            "a_2",
        ]

    def test_a_call_without_an_id_gets_one(self) -> None:
        nameless = {"type": "function", "function": {"name": "bash", "arguments": "{}"}}
        assert self.ids(nameless, nameless, call("call_0")) == ["call_0", "call_1", "call_0_2"]

    def test_an_id_that_the_context_knows_is_renamed(self) -> None:
        assert self.ids(call("a"), call("b"), taken={"a", "a_2"}) == ["a_3", "b"]

    def test_the_index_of_a_streamed_call_is_dropped(self) -> None:
        message = said(None, tool_calls=[{"index": 0, **call("a")}])
        assert native(CHAT.read(completion(message)))["tool_calls"] == [call("a")]


class TestCutOff:
    @pytest.mark.parametrize("finish", ["length", "content_filter"])
    def test_output_that_was_cut_off_is_not_complete(self, finish: str) -> None:
        assert not CHAT.read(completion(said("half a sen"), finish)).complete

    @pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", None, "eos"])
    def test_every_other_end_is(self, finish: str | None) -> None:
        assert CHAT.read(completion(said("whole"), finish)).complete

    def test_cut_off_arguments_are_kept_as_they_came(self) -> None:
        message = said(None, tool_calls=[call("a", '{"command": "rm -r')])
        reply = CHAT.read(completion(message, "length"))
        assert reply.content.calls[0].arguments == '{"command": "rm -r'


class TestUsage:
    def usage(self, usage: Any) -> Usage | None:
        return CHAT.read(completion(said(), usage=usage)).usage

    def test_cached_tokens_are_part_of_the_prompt(self) -> None:
        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 80},
        }
        assert self.usage(usage) == Usage(prompt=100, cached=80, output=7)

    @pytest.mark.parametrize(
        "usage", [None, {}, [], "x", {"prompt_tokens": None}, {"prompt_tokens": 0}]
    )
    def test_a_server_that_reports_nothing_reports_nothing(self, usage: Any) -> None:
        assert self.usage(usage) is None

    @pytest.mark.parametrize("details", [None, [], {"cached_tokens": None}, {"cached_tokens": "9"}])
    def test_odd_details_count_as_none(self, details: Any) -> None:
        usage = {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": details}
        assert self.usage(usage) == Usage(5)


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        5,
        "a chat completion",
        b"\x00",
        [],
        ...,
        {},
        {"choices": None},
        {"choices": []},
        {"choices": "abc"},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": "hi"}]},
        {"choices": [{"delta": {"content": "hi"}}]},
        {"error": {"message": "overloaded"}},
        {"role": "user", "content": "x"},
        completion(said(b"\xff")),
        completion(said({"text": "x"})),
        completion(said(5)),
        completion(said(None, tool_calls="abc")),
        completion(said(None, tool_calls=["abc"])),
        completion(said(None, tool_calls=5)),
        ChatCompletion,
    ],
    ids=lambda garbage: repr(garbage)[:60],
)
def test_garbage_is_refused_and_says_what_to_do(garbage: Any) -> None:
    with pytest.raises(DialectError, match=r"(ask the model again|pass the response|must be)"):
        CHAT.read(garbage)
