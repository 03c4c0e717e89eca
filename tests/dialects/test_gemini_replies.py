"""generateContent: the fields of a request, how a reply is read, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from gemini_world import (
    GEMINI,
    Json,
    call,
    contents,
    joined,
    model,
    one,
    reply,
    rewritten,
    text,
    user,
)

from redraft.errors import DialectError

# -- the frame -------------------------------------------------------------------------------------


def test_the_fields_of_a_request_keep_their_order_and_their_values() -> None:
    body = {"tools": [], "contents": [user(text())], "generationConfig": {"topK": 1}, "x": None}
    assert json.dumps(GEMINI.join(*GEMINI.split(body))) == json.dumps(body)


def test_one_content_and_one_part_are_read_as_lists_of_one() -> None:
    body = {"contents": {"role": "user", "parts": {"text": "hello"}}}
    frame, turns = GEMINI.split(body)
    assert turns[0].text == "hello"
    assert GEMINI.join(frame, turns) == {"contents": [body["contents"]]}
    assert rewritten(turns[0], "bye").carriers == (user(text("bye")),)


class Config:
    """A configuration object as the Gen AI SDK has it: it copies itself with other fields."""

    def __init__(self, system_instruction: Any = None, tools: Any = None) -> None:
        self.system_instruction = system_instruction
        self.tools = tools

    def model_copy(self, update: Mapping[str, Any]) -> Config:
        return Config(**{**vars(self), **update})


_INSTRUCTED = {"parts": [text("SECTION")]}
_BOTH = {"parts": [text("Be brief."), text("SECTION")]}


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ({}, {"systemInstruction": _INSTRUCTED}),
        ({"systemInstruction": {"parts": [text("Be brief.")]}}, {"systemInstruction": _BOTH}),
        (
            {"system_instruction": {"role": "user", "parts": text("Be brief.")}},
            {"system_instruction": {"role": "user", **_BOTH}},
        ),
        ({"systemInstruction": text("Be brief.")}, {"systemInstruction": _BOTH}),
        ({"system_instruction": "Be brief."}, {"system_instruction": "Be brief.\n\nSECTION"}),
        (
            {"system_instruction": ["Be", "brief"]},
            {"system_instruction": ["Be", "brief", text("SECTION")]},
        ),
        (
            {"config": {"temperature": 0}},
            {"config": {"temperature": 0, "system_instruction": _INSTRUCTED}},
        ),
        (
            {"config": {"systemInstruction": "Be brief."}},
            {"config": {"systemInstruction": "Be brief.\n\nSECTION"}},
        ),
    ],
)
def test_a_section_goes_to_the_end_of_the_system_instruction_once(
    fields: Json, changed: Json
) -> None:
    frame, turns = GEMINI.split({**fields, "contents": [user(text())]})
    for _ in range(2):
        frame, turns = GEMINI.instruct(frame, turns, "SECTION")
    assert GEMINI.join(frame, turns) == {**changed, "contents": [user(text())]}
    assert any("SECTION" in counted for counted in frame.counted)


def test_a_section_goes_into_a_configuration_object_of_the_sdk() -> None:
    config = Config("Be brief.", [{"googleSearch": {}}])
    frame, turns = GEMINI.split({"contents": [user(text())], "config": config})
    for _ in range(2):
        frame, turns = GEMINI.instruct(frame, turns, "SECTION")
    new = frame.fields["config"]
    assert (new.system_instruction, new.tools) == ("Be brief.\n\nSECTION", config.tools)
    assert config.system_instruction == "Be brief."
    assert frame.counted == ("Be brief.\n\nSECTION", '[{"googleSearch":{}}]')


def test_instruction_tools_and_schemas_are_counted_wherever_they_stand() -> None:
    tools, schema = [{"googleSearch": {}}], {"type": "OBJECT"}
    for fields in (
        {"systemInstruction": "Be", "tools": tools, "generationConfig": {"responseSchema": schema}},
        {"config": {"system_instruction": "Be", "tools": tools, "response_schema": schema}},
    ):
        frame, _ = GEMINI.split({"contents": [], **fields})
        assert frame.counted == ("Be", '[{"googleSearch":{}}]', '{"type":"OBJECT"}')


# -- replies ---------------------------------------------------------------------------------------


def test_a_reply_is_sent_back_part_by_part_as_it_came() -> None:
    parts = [text("a plan", thought=True), call(own="x", thoughtSignature="s"), call()]
    read = GEMINI.read(reply(*parts))
    assert read.content.carriers == (model(*parts),)
    assert [c.id for c in read.content.calls] == ["x", "bash#2"]
    assert read.complete


@pytest.mark.parametrize(
    ("finish", "complete"),
    [
        ("STOP", True),
        (None, True),
        ("FINISH_REASON_UNSPECIFIED", True),
        ("MAX_TOKENS", False),
        ("SAFETY", False),
        ("MALFORMED_FUNCTION_CALL", False),
        ("A_REASON_OF_TOMORROW", False),
    ],
)
def test_a_reply_is_complete_only_where_the_model_stopped(
    finish: str | None, complete: bool
) -> None:
    assert GEMINI.read(reply(text(), finish=finish)).complete is complete


def test_a_reply_that_was_cut_off_before_its_first_part_is_an_empty_turn() -> None:
    for content in ({}, {"role": "model"}, None):
        read = GEMINI.read({"candidates": [{"content": content, "finishReason": "MAX_TOKENS"}]})
        assert (read.content.text, read.complete) == ("", False)
        assert read.content.carriers == (model(),)


def test_cached_tokens_are_part_of_the_prompt_and_thoughts_part_of_the_output() -> None:
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 80,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 30,
        "toolUsePromptTokenCount": 11,
        "totalTokenCount": 148,
    }
    for given in (reply(text(), usageMetadata=usage), reply(text(), usage_metadata=usage)):
        read = GEMINI.read(given).usage
        assert read is not None
        assert (read.prompt, read.cached, read.output) == (100, 80, 37)
    assert GEMINI.read(reply(text())).usage is None


def test_the_responses_of_a_stream_are_one_reply() -> None:
    chunks = [
        reply(text("It is eas"), finish=None, usageMetadata={"promptTokenCount": 9}),
        reply(text("y."), finish=None),
        reply(text("", thoughtSignature="s"), call(), finish="MAX_TOKENS"),
        {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5}},
    ]
    read = GEMINI.read(chunks)
    assert read.content.text == "It is easy."
    assert len(read.content.carriers) == 1
    assert [c.id for c in read.content.calls] == ["bash#1"]
    assert not read.complete
    assert read.usage is not None
    assert (read.usage.prompt, read.usage.output) == (9, 5)


def test_a_content_alone_is_read_as_a_reply() -> None:
    assert GEMINI.read(model(text("hello"))).content.text == "hello"


def test_calls_of_a_reply_have_ids_of_their_own() -> None:
    read = GEMINI.read(
        reply(call(own="x"), call(own="x"), call("read", own="x"), call(own="old")), {"old"}
    )
    assert [c.id for c in read.content.calls] == ["x", "x_2", "old_2"]
    again = GEMINI.read(reply(call(), call()))
    assert [c.id for c in again.content.calls] == ["bash#1", "bash#2"]


class Sdk:
    """An object of the Gen AI SDK: plain data with `model_dump`, whose own names are snake case."""

    def __init__(self, data: Json) -> None:
        self._data = data

    def model_dump(self, **options: Any) -> Json:
        assert options["by_alias"]
        assert options["mode"] == "json"
        assert options["exclude_none"]
        return self._data


def test_objects_of_the_sdk_are_read_as_the_json_that_its_client_sends() -> None:
    assert GEMINI.read(Sdk(reply(text("hello")))).content.carriers == (model(text("hello")),)
    turns = contents(Sdk(user(text("hi"))), {"role": "model", "parts": [Sdk(text("hello"))]})
    assert joined(*turns) == [user(text("hi")), model(text("hello"))]


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (42, "int is not a response"),
        ("text", "str is not a response"),
        ({}, "no candidate; ask"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "blocked: SAFETY"),
        ({"error": {"code": 400, "message": "Bad signature"}}, "Bad signature"),
        ([], "no candidate"),
        (reply("text"), "`parts` of the reply"),
    ],
)
def test_what_is_no_reply_is_refused_with_what_to_do(response: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        GEMINI.read(response)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"role": "assistant", "parts": []}, "role 'assistant'"),
        ({"role": "system", "parts": []}, "systemInstruction"),
        ({"role": ["user"], "parts": []}, "role"),
        ("hello", "contents.0. is a str"),
        ({"role": "user", "parts": "hello"}, "`parts` of contents.0."),
        ({"role": "user", "parts": ["hello"]}, "`parts` of contents.0."),
    ],
)
def test_a_content_of_no_known_shape_is_refused_with_its_place(message: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        contents(message)


@pytest.mark.parametrize("given", [None, "hello", b"x", 5])
def test_contents_must_be_a_list(given: Any) -> None:
    with pytest.raises(DialectError, match="`contents` must be a list"):
        GEMINI.split({"contents": given})


def test_a_content_without_parts_is_an_empty_turn() -> None:
    turn = one({"role": "user"})
    assert (turn.text, turn.parts) == ("", ())
    assert joined(turn) == [{"role": "user"}]
