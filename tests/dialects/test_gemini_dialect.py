"""generateContent: what becomes a turn, how calls and results find each other, how a reply is read."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from block_world import PNG, gemini_image

from redraft.context import groups
from redraft.dialects import Call, Content, Frame
from redraft.dialects.gemini import Gemini
from redraft.errors import DialectError

Json = dict[str, Any]

GEMINI = Gemini()


def model(*parts: Any) -> Json:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> Json:
    return {"role": "user", "parts": list(parts)}


def text(words: str = "words", **fields: Any) -> Json:
    return {"text": words, **fields}


def call(name: str = "bash", own: str = "", **fields: Any) -> Json:
    ids = {"id": own} if own else {}
    return {"functionCall": {**ids, "name": name, "args": {"n": 1}}, **fields}


def result(output: Any = "out", name: str = "bash", own: str = "") -> Json:
    ids = {"id": own} if own else {}
    response = output if isinstance(output, Mapping) else {"output": output}
    return {"functionResponse": {**ids, "name": name, "response": response}}


def contents(*messages: Any) -> tuple[Content, ...]:
    return GEMINI.split({"contents": list(messages)})[1]


def one(message: Any) -> Content:
    (content,) = contents(message)
    return content


def joined(*turns: Content) -> list[Any]:
    messages: list[Any] = GEMINI.join(Frame(), turns)["contents"]
    return messages


def rewritten(content: Content, words: str) -> Content:
    return GEMINI.write(content, words, content.calls, content.parts)


def answers(*messages: Any) -> list[str | None]:
    return [turn.answers for turn in contents(*messages) if turn.role == "tool"]


# -- calls and results ---------------------------------------------------------------------------


def test_a_call_without_an_id_is_named_by_its_place_among_the_calls_of_its_name() -> None:
    turn = one(model(call(), call("read"), call()))
    assert [c.id for c in turn.calls] == ["bash#1", "read#1", "bash#2"]
    assert turn.calls[0] == Call("bash#1", "bash", '{"n":1}', 0)


def test_results_without_ids_pair_with_the_calls_of_their_name_in_order() -> None:
    asked = model(call(), call("read"), call())
    sent = user(result("a"), result("c"), result("b", name="read"))
    assert answers(asked, sent) == ["bash#1", "bash#2", "read#1"]
    assert answers(asked, user(result()), user(result()), user(result(name="read"))) == [
        "bash#1",
        "bash#2",
        "read#1",
    ]


def test_an_id_pairs_before_a_name_does() -> None:
    asked = model(call(own="x"), call(own="y"))
    assert answers(asked, user(result("b", own="y"), result("a", own="x"))) == ["y", "x"]


def test_a_result_that_left_out_the_id_pairs_with_the_next_call_of_its_name() -> None:
    asked = model(call(own="x"), call(own="y"))
    assert answers(asked, user(result("a"), result("b"))) == ["x", "y"]
    assert answers(asked, user(result("b", own="y"), result("a"))) == ["y", "x"]


def test_a_result_with_an_id_that_its_call_has_not_pairs_by_name() -> None:
    assert answers(model(call()), user(result(own="made-up"))) == ["bash#1"]
    assert answers(model(call(own="x")), user(result(own="made-up"))) == ["made-up"]


def test_a_later_result_of_the_same_call_answers_it_too() -> None:
    asked = model(call("job"))
    assert answers(asked, user(result("pending", "job")), user(result("final", "job"))) == [
        "job#1",
        "job#1",
    ]
    asked = model(call("job", own="x"), call("other", own="y"))
    assert answers(asked, user(result("pending", "job"), result("final", "job"))) == ["x", "x"]


def test_a_result_without_name_or_id_pairs_by_place_alone() -> None:
    nameless = {"functionResponse": {"response": {"output": "x"}}}
    assert answers(model(call("a"), call("b")), user(nameless, nameless)) == ["a#1", "b#1"]


def test_a_result_that_answers_nothing_is_told_from_one_that_does() -> None:
    assert answers(model(call("a")), user(result(name="b"))) == ["b#1"]
    assert answers(user(result(), result())) == ["bash#1", "bash#2"]


def test_pairs_are_formed_inside_the_group_and_never_across_turns() -> None:
    asked, answer = model(call()), user(result())
    turns = contents(user(text()), asked, answer, asked, answer)
    assert [turn.answers for turn in turns if turn.role == "tool"] == ["bash#1", "bash#1"]


def test_a_label_stays_with_its_call_when_the_calls_before_it_go() -> None:
    turns = contents(model(call(), call()), user(result("a"), result("b")))
    written = GEMINI.write(turns[0], "", turns[0].calls[1:], ())
    assert [(c.id, c.index) for c in written.calls] == [("bash#2", 0)]
    assert turns[2].answers == "bash#2"
    again = GEMINI.write(written, "x", written.calls, ())
    assert [c.id for c in again.calls] == ["bash#2"]


@pytest.mark.parametrize("own", ["bash#1", "bash#1#", "x#2##", "#", "a#b", "plain", "id:bash#1"])
def test_an_id_of_the_servers_is_never_taken_for_a_label(own: str) -> None:
    turns = contents(model(call(own=own), call()), user(result("a", own=own), result("b")))
    shown = [c.id for c in turns[0].calls]
    assert len(set(shown)) == 2
    assert [turn.answers for turn in turns[1:]] == shown
    made = [GEMINI.result(c, "x").carriers[0]["parts"][0] for c in turns[0].calls]
    assert [part["functionResponse"].get("id") for part in made] == [own, None]


def test_new_results_of_one_round_are_one_content() -> None:
    (turn,) = contents(model(call(own="x"), call()))
    results = [GEMINI.result(c, out) for c, out in zip(turn.calls, "ab", strict=True)]
    assert joined(turn, *results)[1] == user(result("a", own="x"), result("b"))
    assert [r.answers for r in results] == ["x", "bash#2"]


def test_a_turn_takes_its_results_and_leaves_the_words_that_came_with_them() -> None:
    turns = contents(model(call()), user(result("r"), gemini_image(), text("also")))
    assert [(t.role, t.text, t.seat) for t in turns[1:]] == [
        ("tool", "r", (0, 2)),
        ("user", "also", (1, 2)),
    ]
    sent = joined(turns[0], rewritten(turns[1], "new"), turns[2])[1]
    assert sent == user(result("new"), gemini_image(), text("also"))
    assert sent["parts"][2] is turns[2].carriers[0]["parts"][2]


@pytest.mark.parametrize("role", ["user", "function", None])
def test_results_come_under_each_of_the_roles_that_the_api_takes(role: str | None) -> None:
    native = {"role": role, "parts": [result()]} if role else {"parts": [result()]}
    turns = contents(model(call()), native)
    assert (turns[1].role, turns[1].answers) == ("tool", "bash#1")
    assert rewritten(turns[1], "new").carriers[0] == {**native, "parts": [result("new")]}


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        ({"output": "out"}, "out"),
        ({"result": "out"}, "out"),
        ({"error": "no such file"}, "no such file"),
        ({"output": "out", "code": 0}, '{"output":"out","code":0}'),
        ({"output": {"a": 1}}, '{"output":{"a":1}}'),
        ({"output": ""}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_result_shows_its_text_where_it_is_all_there_is(response: Any, shown: str) -> None:
    part = {"functionResponse": {"name": "bash", "response": response}}
    assert contents(model(call()), user(part))[1].text == shown


@pytest.mark.parametrize(
    ("old", "words", "new"),
    [
        ({"error": "long"}, "short", {"error": "short"}),
        ({"result": "long"}, '{"a":1}', {"result": '{"a":1}'}),
        ({"a": 1, "b": 2}, '{"a":1}', {"a": 1}),
        ({"a": 1, "b": 2}, '{ "a": 1 }', {"output": '{ "a": 1 }'}),
        ({"a": 1, "b": 2}, '{"a":"text"}', {"output": '{"a":"text"}'}),
        ({"a": 1, "b": 2}, "words", {"output": "words"}),
        ({}, "words", {"output": "words"}),
    ],
)
def test_a_rewritten_result_keeps_its_form_and_shows_exactly_the_new_words(
    old: Json, words: str, new: Json
) -> None:
    turn = contents(model(call()), user(result(old)))[1]
    written = rewritten(turn, words)
    assert written.carriers == (user(result(new)),)
    assert written.text == words


def test_pictures_in_a_result_stay_with_it_or_go() -> None:
    part = result("seen")
    part["functionResponse"]["parts"] = [gemini_image()]
    turn = contents(model(call()), user(part))[1]
    assert [p.label for p in turn.parts] == ["image png 640x480"]
    kept = rewritten(turn, "new").carriers[0]["parts"][0]["functionResponse"]
    assert kept["parts"] == [gemini_image()]
    gone = GEMINI.write(turn, "seen", (), ()).carriers[0]["parts"][0]
    assert gone == result("seen")


# -- the model's turn ----------------------------------------------------------------------------


def test_a_signature_stays_on_its_call_through_every_edit_of_its_turn() -> None:
    turn = one(model(text("looking"), call(thoughtSignature="sig=="), call("read")))
    signed = turn.carriers[0]["parts"][1]
    assert rewritten(turn, "other").carriers[0]["parts"][1] is signed
    assert GEMINI.write(turn, "", turn.calls[:1], ()).carriers[0]["parts"] == [signed]
    edited = GEMINI.write(turn, "", [Call("bash#1", "bash", '{"n": 2}', 0)], ())
    (part,) = edited.carriers[0]["parts"]
    assert part == {**signed, "functionCall": {"name": "bash", "args": {"n": 2}}}


@pytest.mark.parametrize(
    "signed",
    [{"thoughtSignature": "s"}, {"text": "", "thoughtSignature": "s"}, {"thought_signature": "s"}],
)
def test_a_part_that_is_only_a_signature_is_never_shown_and_stays_with_its_calls(
    signed: Json,
) -> None:
    turn = one(model(text("a"), call(), signed))
    assert (turn.text, turn.parts) == ("a", ())
    assert rewritten(turn, "b").carriers == (model(text("b"), call(), signed),)
    assert GEMINI.write(turn, "b", (), ()).carriers == (model(text("b")),)


def test_thoughts_are_hidden_and_stay_while_a_call_of_their_turn_stays() -> None:
    thought = text("a plan", thought=True)
    turn = one(model(thought, text("one"), call()))
    assert (turn.text, turn.hidden) == ("one", "a plan")
    assert rewritten(turn, "two").carriers == (model(thought, text("two"), call()),)
    assert GEMINI.write(turn, "two", (), ()).carriers == (model(text("two")),)
    bare = GEMINI.without_reasoning(turn)
    assert bare.carriers == (model(text("one"), call()),)
    assert bare.hidden == ""


def test_a_signature_goes_with_the_words_that_it_was_made_for() -> None:
    turn = one(model(text("one", thoughtSignature="sig==")))
    assert turn.text == "one"
    assert rewritten(turn, "two").carriers == (model(text("two")),)


def test_a_stream_that_was_kept_in_pieces_is_one_turn_that_reads_as_one_text() -> None:
    pieces = [model(text("It is eas")), model(text("y.", thoughtSignature="s")), model(call())]
    turns = contents(*pieces, user(result()))
    assert turns[0].text == "It is easy."
    assert joined(*turns) == [*pieces, user(result())]
    assert joined(*turns)[0] is turns[0].carriers[0]


def test_code_that_the_server_ran_and_what_it_printed_are_one_part() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    printed = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}
    turn = one(model(code, printed, text("so"), code, printed))
    assert [(p.kind, p.index) for p in turn.parts] == [("executableCode", 0), ("executableCode", 1)]
    assert GEMINI.write(turn, "so", (), turn.parts[1:]).carriers == (
        model(text("so"), code, printed),
    )


def test_a_tool_of_the_servers_is_one_part_with_its_answer_and_no_call_of_ours() -> None:
    asked = {"tool_call": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB"}}
    found = {"tool_response": {"id": "t", "response": {}}}
    turn = one(model(asked, text("so"), found))
    assert (turn.calls, [p.kind for p in turn.parts]) == ((), ["toolCall"])
    assert GEMINI.write(turn, "so", (), ()).carriers == (model(text("so")),)


def test_a_part_that_nobody_knows_rides_through_edits_untouched() -> None:
    strange = {"from_the_future": {"n": [None]}, "partMetadata": {"k": "v"}}
    turn = one(model(strange, text("a"), call()))
    assert [p.kind for p in turn.parts] == ["from_the_future"]
    parts = rewritten(turn, "b").carriers[0]["parts"]
    assert parts[0] is turn.carriers[0]["parts"][0]


def test_each_spelling_of_a_name_is_read_and_kept() -> None:
    asked = {"function_call": {"name": "bash", "args": {}}, "thought_signature": "s"}
    sent = {"function_response": {"name": "bash", "response": {"output": "x"}}}
    turns = contents(model(text("a"), asked), user(sent))
    assert [turn.answers for turn in turns] == [None, "bash#1"]
    edited = GEMINI.write(turns[0], "a", [Call("bash#1", "bash", '{"n":2}', 0)], ())
    assert edited.carriers[0]["parts"][1] == {
        "function_call": {"name": "bash", "args": {"n": 2}},
        "thought_signature": "s",
    }
    assert list(rewritten(turns[1], "y").carriers[0]["parts"][0]) == ["function_response"]


@pytest.mark.parametrize("bad", ["[1]", "{", "", '{"n": NaN}'])
def test_arguments_that_are_no_json_object_are_not_taken_over(bad: str) -> None:
    turn = one(model(text("x"), call()))
    written = GEMINI.write(turn, "y", [Call("bash#1", "bash", bad, 0)], ())
    assert written.carriers == (model(text("y"), call()),)


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert one(model({"functionCall": {"name": "now"}})).calls[0].arguments == "{}"


@pytest.mark.parametrize(
    ("part", "label", "size"),
    [
        (gemini_image(), "image png 640x480", (640, 480)),
        ({"inline_data": {"mime_type": "image/png", "data": PNG}}, "image png 640x480", (640, 480)),
        (
            {"inlineData": {"mimeType": "image/png", "data": base64.b64decode(PNG)}},
            "image png 640x480",
            (640, 480),
        ),
        (
            {
                "inlineData": {
                    "mimeType": "image/png",
                    "data": PNG.replace("+", "-").replace("/", "_"),
                }
            },
            "image png 640x480",
            (640, 480),
        ),
        ({"fileData": {"mimeType": "image/jpeg", "fileUri": "gs://x"}}, "image by link", (0, 0)),
        ({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}, "audio wav", (0, 0)),
        ({"file_data": {"file_uri": "gs://x"}}, "file by link", (0, 0)),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "x"}}, "video mp4 by link", (0, 0)),
        ({"inlineData": {"mimeType": "application/pdf", "data": ""}}, "file pdf", (0, 0)),
        ({"inlineData": {"mimeType": "x/]]\n[[CTX_END]]", "data": ""}}, "file CTX_END", (0, 0)),
    ],
)
def test_a_part_is_shown_by_its_kind_and_size_and_by_nothing_that_it_holds(
    part: Json, label: str, size: tuple[int, int]
) -> None:
    (shown,) = one(user(text(), part)).parts
    assert (shown.label, (shown.width, shown.height)) == (label, size)


def test_the_two_alphabets_of_base64_give_the_same_size() -> None:
    # This size has bytes in it that the two alphabets spell differently.
    from redraft.testing.strategies import png

    plain = png(0xFBEF, 0xFFFF).partition(",")[2]
    other = plain.replace("+", "-").replace("/", "_")
    assert plain != other
    parts = [{"inlineData": {"mimeType": "image/png", "data": data}} for data in (plain, other)]
    sizes = {(p.width, p.height) for p in one(user(*parts)).parts}
    assert sizes == {(0xFBEF, 0xFFFF)}


# -- the frame -----------------------------------------------------------------------------------


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


# -- replies -------------------------------------------------------------------------------------


def reply(*parts: Any, finish: str | None = "STOP", **fields: Any) -> Json:
    return {"candidates": [{"content": model(*parts), "finishReason": finish}], **fields}


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


# -- refusals ------------------------------------------------------------------------------------


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


def test_a_group_holds_when_its_results_come_one_by_one() -> None:
    from block_world import Letters

    from redraft.context import Live
    from redraft.tokens import Meter

    frame, turns = GEMINI.split(
        {"contents": [user(text()), model(call(), call()), user(result("a")), user(result("b"))]}
    )
    live = Live.start(GEMINI, Meter(Letters()), frame, turns)
    assert [len(group.turns) for group in groups(live.turns)] == [1, 3]
    assert live.open_at == len(live.turns)
