"""The Messages API: the fields of a request, how a reply is read, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic_world import (
    CLAUDE,
    Json,
    call,
    contents,
    one,
    reply,
    result,
    said,
    text,
    thought,
    user,
)
from block_world import PNG

from redraft.errors import DialectError
from redraft.testing.strategies.anthropic import MARK

# -- the frame -------------------------------------------------------------------------------------


def test_the_fields_of_a_request_keep_their_order_and_their_values() -> None:
    body = {
        "cache_control": MARK,
        "max_tokens": 9,
        "messages": [user(text())],
        "thinking": {},
        "x": [1],
    }
    frame, turns = CLAUDE.split(body)
    assert json.dumps(CLAUDE.join(frame, turns)) == json.dumps(body)
    assert "messages" not in frame.fields


def test_the_system_prompt_and_the_tools_are_counted() -> None:
    tools = [{"name": "bash"}]
    frame, _ = CLAUDE.split({"messages": [], "system": [text("Be"), text("brief")], "tools": tools})
    assert frame.counted == ("Be\nbrief", '[{"name":"bash"}]')


@pytest.mark.parametrize(
    ("system", "instructed"),
    [
        (None, "SECTION"),
        ("", "SECTION"),
        ([], "SECTION"),
        ("Be brief.", "Be brief.\n\nSECTION"),
        (
            [text("Be brief.", cache_control=MARK)],
            [text("Be brief.", cache_control=MARK), text("SECTION")],
        ),
    ],
)
def test_a_section_goes_to_the_end_of_the_system_field_once(system: Any, instructed: Any) -> None:
    fields = {} if system is None else {"system": system}
    frame, turns = CLAUDE.split({**fields, "messages": [user(text())], "max_tokens": 1})
    for _ in range(2):
        frame, turns = CLAUDE.instruct(frame, turns, "SECTION")
    body = CLAUDE.join(frame, turns)
    assert body["system"] == instructed
    assert body["messages"] == [user(text())]
    assert any("SECTION" in counted for counted in frame.counted)


def test_a_section_does_not_move_the_messages_among_the_fields() -> None:
    body = {"system": "s", "messages": [user(text())], "max_tokens": 1}
    frame, turns = CLAUDE.instruct(*CLAUDE.split(body), "SECTION")
    assert list(CLAUDE.join(frame, turns)) == list(body)


# -- replies ---------------------------------------------------------------------------------------


def test_a_reply_is_sent_back_block_by_block_as_it_came() -> None:
    blocks = [thought(), text("so", citations=None), call()]
    read = CLAUDE.read(reply(*blocks, stop_reason="tool_use", id="msg", model="m"))
    assert read.content.carriers == (said(*blocks),)
    assert (read.complete, read.content.calls[0].id) == (True, "a")


@pytest.mark.parametrize(
    ("reason", "complete"),
    [
        ("end_turn", True),
        ("tool_use", True),
        ("stop_sequence", True),
        (None, True),
        ("max_tokens", False),
        ("model_context_window_exceeded", False),
        ("refusal", False),
        ("pause_turn", False),
        ("compaction", False),
    ],
)
def test_a_reply_is_complete_unless_it_was_cut_off_paused_or_refused(
    reason: str | None, complete: bool
) -> None:
    assert CLAUDE.read(reply(text(), stop_reason=reason)).complete is complete


def test_the_prompt_is_what_was_read_and_what_the_cache_gave_and_took() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 1111,
        "cache_creation_input_tokens": 418,
        "output_tokens": 33,
    }
    read = CLAUDE.read(reply(text(), usage=usage)).usage
    assert read is not None
    assert (read.prompt, read.cached, read.output, read.comparable) == (1532, 1111, 33, True)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0}, {"input_tokens": True}, "x"])
def test_a_usage_without_a_prompt_is_none(usage: Any) -> None:
    assert CLAUDE.read(reply(text(), usage=usage)).usage is None


def test_a_loop_over_server_tools_counts_the_first_pass_as_the_prompt() -> None:
    passes = [
        {"type": "message", "input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 2},
        {"type": "message", "input_tokens": 20, "cache_read_input_tokens": 9, "output_tokens": 3},
    ]
    usage = {
        "input_tokens": 30,
        "cache_read_input_tokens": 14,
        "output_tokens": 5,
        "server_tool_use": {"web_search_requests": 1},
    }
    read = CLAUDE.read(reply(text(), usage={**usage, "iterations": passes})).usage
    assert read is not None
    assert (read.prompt, read.cached, read.output, read.comparable) == (15, 5, 5, True)
    looped = CLAUDE.read(reply(text(), usage=usage)).usage
    assert looped is not None
    assert not looped.comparable


@pytest.mark.parametrize(
    "fields",
    [
        {"context_management": {"applied_edits": [{"type": "clear_tool_uses_20250919"}]}},
        {"input_transformations": [{"type": "thinking_dropped", "path": "messages.1.content.0"}]},
        {"usage": {"input_tokens": 9, "iterations": [{"type": "compaction", "input_tokens": 90}]}},
    ],
)
def test_a_prompt_that_the_server_changed_is_no_measure_of_what_was_sent(fields: Json) -> None:
    usage = CLAUDE.read(reply(text(), **fields)).usage
    assert usage is not None
    assert usage.comparable is False


def test_an_untouched_prompt_is_a_measure_of_what_was_sent() -> None:
    usage = CLAUDE.read(
        reply(text(), context_management={"applied_edits": []}, input_transformations=[])
    ).usage
    assert usage is not None
    assert usage.comparable


def test_calls_of_a_reply_have_ids_of_their_own() -> None:
    other = call("a", input={"command": "pwd"})
    nameless = {"type": "tool_use", "name": "bash", "input": {}}
    read = CLAUDE.read(reply(call("a"), call("a"), other, nameless, call("old")), taken={"old"})
    ids = [c.id for c in read.content.calls]
    assert ids == ["a", "a_2", "toolu_3", "old_2"]
    assert len({*ids}) == 4


def test_a_reply_that_holds_nothing_is_read_as_nothing() -> None:
    content = CLAUDE.read(reply(stop_reason="end_turn")).content
    assert (content.text, content.calls, content.parts) == ("", (), ())


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (42, "int is not a message"),
        ("text", "str is not a message"),
        ({"type": "error", "error": {"message": "Overloaded"}}, "Overloaded"),
        ({"choices": []}, "dict is not a message"),
        (reply("text"), "`content` of the reply is a list"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_reply_is_refused_with_what_to_pass(response: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        CLAUDE.read(response)


# -- the official SDK ------------------------------------------------------------------------------


def _sdk_message(*blocks: Json, beta: bool = False) -> Any:
    types = pytest.importorskip("anthropic.types", reason="the anthropic SDK is not installed")
    kind = types.beta.BetaMessage if beta else types.Message
    fields = {"id": "msg", "model": "claude", "stop_reason": "tool_use", "stop_sequence": None}
    return kind.model_validate({**reply(*blocks), **fields})


@pytest.mark.parametrize("beta", [False, True])
def test_a_message_of_the_sdk_is_read_like_its_json(beta: bool) -> None:
    blocks = [thought(), text("so", citations=None), call(input={"n": None, "deep": [None]})]
    read = CLAUDE.read(_sdk_message(*blocks, beta=beta))
    assert read.content.carriers == (said(*blocks),)
    assert read.usage is not None
    assert (read.usage.prompt, read.usage.output) == (3, 7)


def test_what_the_sdk_added_to_a_parsed_text_is_not_sent_back() -> None:
    parsed = {**text("{}"), "parsed_output": {"a": 1}}
    assert CLAUDE.read(reply(parsed)).content.carriers == (said(text("{}")),)


def test_objects_of_the_sdk_may_stand_in_the_messages() -> None:
    message = _sdk_message(text("so", citations=None), call())
    blocks = [text("so", citations=None), call()]
    for given in ({"role": "assistant", "content": message.content}, message):
        turns = contents(given, user(result()))
        assert turns[0].carriers == (said(*blocks),)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"role": "tool", "content": "x"}, "role 'tool'"),
        ({"content": "x"}, "role None"),
        ({"role": ["user"], "content": "x"}, "role"),
        ("hello", "messages.0. is a str"),
        ({"role": "user", "content": 5}, "`content` of messages.0. is a int"),
        ({"role": "user", "content": ["x"]}, "`content` of messages.0. is a list"),
        (user(result("a", {"x": 1})), "a `tool_result` in messages.0. holds a dict"),
        (user(result("a", ["x"])), "a `tool_result` in messages.0. holds a list"),
    ],
)
def test_a_message_of_no_known_shape_is_refused_with_its_place(message: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        contents(message)


@pytest.mark.parametrize("messages", [None, "hello", b"x", 5, {"role": "user"}])
def test_messages_must_be_a_list(messages: Any) -> None:
    with pytest.raises(DialectError, match="`messages` must be a list"):
        CLAUDE.split({"messages": messages})


def test_a_request_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append({"type": "x", "y": loop})
    with pytest.raises(DialectError, match="nested too deeply"):
        contents({"role": "user", "content": loop})


def test_a_large_image_is_measured_by_its_start() -> None:
    data = PNG + "A" * 5_000_000
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert one(user(image)).parts[0].width == 640
