"""Answers of the Responses API, read: what is sent back, whether it is whole, its usage."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ParsedResponse, Response
from pydantic import BaseModel
from responses_world import RESPONSES, call, compaction, said, search, sent, thought

from redraft.dialects import Usage
from redraft.errors import DialectError

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 12},
    "total_tokens": 120,
}


def response(*output: Any, **fields: Any) -> dict[str, Any]:
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt",
        "status": "completed",
    }
    body |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    return {**body, "output": list(output), "usage": USAGE, **fields}


def back(reply: Any, **fields: Any) -> list[Any]:
    return sent([RESPONSES.read(reply, **fields).content])


def test_a_reply_is_one_turn_whose_items_go_back_as_they_came() -> None:
    items = [thought(), said("looking", phase="commentary"), call("a"), call("b")]
    reply = RESPONSES.read(response(*items))
    assert (reply.content.role, reply.content.text) == ("assistant", "looking")
    assert [c.id for c in reply.content.calls] == ["a", "b"]
    assert sent([reply.content]) == items
    assert (reply.complete, reply.usage) == (True, Usage(100, 60, 20))


@pytest.mark.parametrize("kind", [Response, ParsedResponse[Any]])
def test_a_reply_of_the_sdk_reads_like_its_mapping(kind: Any) -> None:
    body = response(
        thought(), said("hi"), call("a"), search(), {"type": "from_the_future", "k": [1]}
    )
    assert back(kind.construct(**body)) == back(body)
    assert back(kind.construct(**body).output) == back(body)


class Answer(BaseModel):
    value: int


def test_what_the_sdk_parsed_is_not_sent_back() -> None:
    message, asked = said('{"value": 1}'), call("a")
    message["content"][0]["parsed"] = Answer(value=1)
    parsed = ParsedResponse[Answer].construct(
        **response(message, {**asked, "parsed_arguments": {}})
    )
    assert back(parsed) == [said('{"value": 1}'), asked]


def test_reasoning_goes_back_without_its_status() -> None:
    assert back(response(thought(status="completed"), said())) == [thought(), said()]
    assert back(response(thought(status=None), said())) == [thought(), said()]


def test_fields_that_no_request_may_hold_are_left_out() -> None:
    asked = {**call("a"), "id": None, "namespace": None, "created_by": "server"}
    assert back(response(asked)) == [{k: v for k, v in call("a").items() if k != "id"}]
    code = {"type": "code_interpreter_call", "id": "ci_1", "code": None, "outputs": None}
    assert back(response(code)) == [code]


def test_reasoning_with_nothing_behind_it_is_not_sent_back() -> None:
    reply = RESPONSES.read(response(said(), thought(), status="incomplete"))
    assert (sent([reply.content]), reply.complete) == ([said()], False)
    reply = RESPONSES.read(response(thought(), status="incomplete"))
    assert (sent([reply.content]), reply.content.hidden) == ([], "")


def test_reasoning_that_was_neither_stored_nor_sealed_is_not_sent_back() -> None:
    open_ = thought(encrypted_content=None)
    bare = {key: value for key, value in said().items() if key != "id"}
    assert back(response(open_, said(), store=False)) == [bare]
    assert back(response(open_, said(), store=True)) == [open_, said()]
    assert back(response(thought(), said(), store=False)) == [thought(), said()]


@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter"])
def test_a_reply_that_was_cut_off_is_not_complete(reason: str) -> None:
    body = response(call("a", '{"comm'), status="incomplete", incomplete_details={"reason": reason})
    reply = RESPONSES.read(body)
    assert (reply.complete, reply.content.calls[0].arguments) == (False, '{"comm')


def test_the_last_event_of_a_stream_reads_like_its_response() -> None:
    body = response(said("hi"))
    assert back({"type": "response.completed", "response": body}) == [said("hi")]


def test_a_call_that_repeats_an_id_is_renamed() -> None:
    reply = RESPONSES.read(response(call("a"), call("a", "{}"), call("b")), taken={"b"})
    assert [c.id for c in reply.content.calls] == ["a", "a_2", "b_2"]
    assert [item["call_id"] for item in reply.content.carriers] == ["a", "a_2", "b_2"]
    assert back(response(call("a"), call("a"))) == [call("a")]
    assert back(response(call(""))) == [{**call(""), "call_id": "call_0"}]


def test_a_shell_call_that_came_with_its_output_is_none_of_the_clients_business() -> None:
    asked = {"type": "shell_call", "id": "sh_1", "call_id": "c", "action": {"commands": ["ls"]}}
    done = {"type": "shell_call_output", "id": "so_1", "call_id": "c", "output": []}
    reply = RESPONSES.read(response(asked, done, said()))
    assert (reply.content.calls, len(reply.content.parts)) == ((), 1)
    assert sent([reply.content]) == [asked, done, said()]


def test_a_compaction_in_a_reply_stays_with_its_turn() -> None:
    reply = RESPONSES.read(response(said("words"), compaction()))
    assert reply.content.hidden
    assert list(RESPONSES.write(reply.content, "short", (), ()).carriers)[1:] == [compaction()]


@pytest.mark.parametrize(
    "body",
    [
        response(search(), said()),
        response(said(), compaction()),
        response(said(), input_transformations=[{"id": "rs_1", "action": "removed"}]),
        response(said(), previous_response_id="resp_0"),
    ],
)
def test_usage_that_does_not_measure_what_was_sent_is_not_compared(body: Any) -> None:
    assert RESPONSES.read(body).usage == Usage(100, 60, 20, comparable=False)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0}, {"input_tokens": True}])
def test_usage_that_says_nothing_is_none(usage: Any) -> None:
    assert RESPONSES.read(response(said(), usage=usage)).usage is None


def test_odd_usage_is_read_as_far_as_it_goes() -> None:
    usage = {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 9}}
    assert RESPONSES.read(response(said(), usage=usage)).usage == Usage(5, 5, 0)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (None, "NoneType is not a response"),
        ("hi", "str is not a response"),
        ({"choices": []}, "final one"),
        ({"error": {"message": "overloaded"}}, r"\(overloaded\)"),
        (
            response(status="failed", error={"message": "server_error"}),
            r"'failed' \(server_error\)",
        ),
        (response(status="in_progress"), "wait until it is completed"),
        (response(said(), 3), "is not a response"),
        ({**response(), "object": "response.compaction"}, "pass its `output` on"),
        (response({"role": "critic", "content": "x"}), "'critic'"),
    ],
)
def test_what_is_no_answer_is_refused_with_what_to_do(reply: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        RESPONSES.read(reply)
