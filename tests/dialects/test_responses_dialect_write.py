"""Turns of the Responses API, written anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from responses_world import PNG, RESPONSES, call, contents, output, said, search, thought, user

from redraft.dialects import Content


def one(*items: Any) -> Content:
    (turn,) = contents(*items)
    return turn


def result_of(item: Any) -> Content:
    return contents(call("a"), item)[1]


def written(content: Content, text: str | None = None, **changes: Any) -> list[Any]:
    calls, parts = changes.get("calls", content.calls), changes.get("parts", content.parts)
    new = content.text if text is None else text
    return list(RESPONSES.write(content, new, calls, parts).carriers)


def without_id(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "id"}


# -- reasoning and ids (cases.md, row 39) ----------------------------------------------------------


def test_reasoning_goes_with_the_words_and_takes_the_ids_that_ask_for_it() -> None:
    turn = one(thought(), said("long words"), call("a"))
    message, asked = written(turn, "short")
    assert message == {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "short", "annotations": []}],
        "status": "completed",
    }
    assert asked == without_id(call("a"))


def test_a_call_that_stays_loses_its_id_with_its_reasoning_and_keeps_its_call_id() -> None:
    turn = one(thought(), call("a"), call("b"))
    assert written(turn, calls=turn.calls[1:]) == [without_id(call("b"))]


def test_items_that_came_without_reasoning_stay_the_very_objects() -> None:
    turn = one(said("words"), call("a"), call("b"))
    kept = written(turn, calls=turn.calls[:1])
    assert [id(item) for item in kept] == [id(item) for item in turn.carriers[:2]]


def test_reasoning_stays_in_front_of_what_needs_its_id() -> None:
    turn = one(thought("rs_1"), search("ws_1"), thought("rs_2"), said("long words"))
    new = written(turn, "short")
    assert new[:2] == [thought("rs_1"), search("ws_1")]
    assert all(item is old for item, old in zip(new, turn.carriers[:2], strict=False))
    assert [item["type"] for item in new] == ["reasoning", "web_search_call", "message"]
    assert "id" not in new[2]


def test_reasoning_goes_with_the_part_that_needed_it() -> None:
    turn = one(thought("rs_1"), search("ws_1"), said("words"))
    assert written(turn, parts=()) == [without_id(said("words"))]


def test_reasoning_whose_own_item_was_rewritten_goes_whatever_else_stands_behind_it() -> None:
    turn = one(thought(), said("long words"), search())
    message, searched = written(turn, "short")
    assert "id" not in message
    assert searched is turn.carriers[2]


def test_new_words_do_not_come_between_reasoning_and_its_call() -> None:
    screen = {"type": "computer_call", "id": "cu_1", "call_id": "a", "action": {"type": "wait"}}
    turn = one(thought(), screen)
    note, *rest = written(turn, "why")
    assert note == {"type": "message", "role": "assistant", "content": "why"}
    assert rest == [thought(), screen]


def test_without_reasoning_a_turn_keeps_everything_else() -> None:
    turn = one(thought(), said("words"), call("a"))
    bare = RESPONSES.without_reasoning(turn)
    assert list(bare.carriers) == [without_id(said("words")), without_id(call("a"))]
    assert (bare.hidden, bare.text, bare.calls) == ("", "words", turn.calls)
    plain = one(said("words"))
    assert RESPONSES.without_reasoning(plain) is plain


def test_reasoning_by_reference_goes_like_reasoning() -> None:
    turn = one({"type": "item_reference", "id": "rs_1"}, said("words"))
    assert written(turn, "short")[0]["content"][0]["text"] == "short"
    assert len(written(turn, "short")) == 1


# -- words -----------------------------------------------------------------------------------------


def test_a_message_keeps_its_phase_and_what_nobody_knows() -> None:
    turn = one(said("long", phase="commentary", x_new={"k": 1}))
    (message,) = written(turn, "short")
    assert (message["phase"], message["x_new"], message["status"]) == (
        "commentary",
        {"k": 1},
        "completed",
    )


def test_what_quotes_the_old_words_goes_with_them() -> None:
    quoted = said("see here")
    quoted["content"][0]["annotations"] = [{"type": "url_citation", "start_index": 0}]
    quoted["content"][0]["logprobs"] = [{"token": "see"}]
    (message,) = written(one(quoted), "short")
    assert message["content"] == [{"type": "output_text", "text": "short", "annotations": []}]


def test_messages_whose_words_stay_are_the_very_objects() -> None:
    turn = one(said("first", "msg_1"), said("second", "msg_2"), said("third", "msg_3"))
    new = written(turn, "first\nother\nthird")
    assert new[0] is turn.carriers[0]
    assert new[2] is turn.carriers[2]
    assert "id" not in new[1]


def test_plain_text_stays_plain_text() -> None:
    (message,) = written(one({"role": "assistant", "content": "long"}), "short")
    assert message == {"role": "assistant", "content": "short"}
    (question,) = written(one(user("long", name="ana")), "short")
    assert question == user("short", name="ana")


def test_a_refusal_that_is_rewritten_is_text() -> None:
    refused = said()
    refused["content"] = [{"type": "refusal", "refusal": "never"}]
    (message,) = written(one(refused), "not now")
    assert message["content"] == [{"type": "output_text", "text": "not now", "annotations": []}]


def test_the_last_cache_breakpoint_of_the_old_words_stays_at_their_end() -> None:
    marks = [{"mode": "explicit"}, {"mode": "explicit", "ttl": "12h"}]
    parts = [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": mark} for mark in marks]
    image = {"type": "input_image", "image_url": PNG}
    (question,) = written(one(user([*parts, image])), "short")
    text = {"type": "input_text", "text": "short", "prompt_cache_breakpoint": marks[1]}
    assert question["content"] == [text, image]


def test_a_turn_without_words_and_calls_has_no_items() -> None:
    assert written(one(thought(), said("words"), call("a")), "", calls=()) == []


def test_an_image_goes_alone_and_stays_alone() -> None:
    image = {"type": "input_image", "image_url": PNG}
    text = {"type": "input_text", "text": "look"}
    turn = one(user([text, image]))
    assert written(turn, parts=())[0]["content"] == [text]
    (question,) = written(turn, "")
    assert question["content"] == [image]
    assert question["content"][0] is turn.carriers[0]["content"][1]


# -- arguments -------------------------------------------------------------------------------------

EDITED = [
    (call("a"), '{"x":1}', {"arguments": '{"x":1}'}),
    (call("a", {"command": "ls"}), '{"x":1}', {"arguments": {"x": 1}}),
    (
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "a", "name": "sql", "input": "x"},
        "drop [",
        {"input": "drop ["},
    ),
    (
        {"type": "shell_call", "id": "sh_1", "call_id": "a", "action": {"commands": ["ls"]}},
        '{"commands":["pwd"]}',
        {"action": {"commands": ["pwd"]}},
    ),
    (
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "a", "operation": {"diff": "long"}},
        '{"diff":"-"}',
        {"operation": {"diff": "-"}},
    ),
]


@pytest.mark.parametrize(("item", "arguments", "changed"), EDITED)
def test_edited_arguments_keep_their_form(item: Any, arguments: str, changed: Any) -> None:
    turn = one(item)
    calls = [replace(turn.calls[0], arguments=arguments)]
    assert written(turn, calls=calls) == [{**without_id(item), **changed}]


def test_a_call_that_needs_its_id_keeps_it_when_it_is_edited() -> None:
    item = {"type": "computer_call", "id": "cu_1", "call_id": "a", "action": {"type": "wait"}}
    turn = one(thought(), item)
    calls = [replace(turn.calls[0], arguments='{"action":{"type":"screenshot"}}')]
    assert written(turn, calls=calls) == [thought(), {**item, "action": {"type": "screenshot"}}]
    nonsense = [replace(turn.calls[0], arguments='{"other": 1}')]
    assert written(turn, calls=nonsense) == [thought(), item]


def test_what_was_asked_to_be_approved_stays_what_it_was() -> None:
    item = {
        "type": "mcp_approval_request",
        "id": "a",
        "server_label": "s",
        "name": "n",
        "arguments": "{}",
    }
    turn = one(item)
    edited = [replace(turn.calls[0], arguments='{"arguments": "{\\"path\\": \\"/\\"}"}')]
    new = RESPONSES.write(turn, "", edited, ())
    assert list(new.carriers) == [item]
    assert new.calls == turn.calls


# -- results ---------------------------------------------------------------------------------------


def test_an_output_keeps_its_form_and_its_fields() -> None:
    image = {"type": "input_image", "image_url": PNG}
    text = {"type": "input_text", "text": "long"}
    assert written(result_of(output("a", "long", status="completed")), "") == [
        output("a", "", status="completed")
    ]
    listed = result_of(output("a", [text, image]))
    assert written(listed, "short") == [output("a", [{**text, "text": "short"}, image])]
    assert written(listed, "", parts=()) == [output("a", "")]
    strange = result_of(output("a", {"code": 1}))
    assert strange.text == '{"code":1}'
    assert written(strange, "short") == [output("a", "short")]


def test_a_screenshot_that_goes_leaves_a_blank_one() -> None:
    shot = {"type": "computer_screenshot", "image_url": PNG}
    checks = {"acknowledged_safety_checks": [{"id": "x"}]}
    turn = result_of({"type": "computer_call_output", "call_id": "a", "output": shot, **checks})
    assert RESPONSES.write(turn, "words", (), turn.parts) is turn
    new = RESPONSES.write(turn, "words", (), ())
    assert (new.answers, new.text, [part.label for part in new.parts]) == (
        "a",
        "",
        ["image png 64x64"],
    )
    assert new.carriers[0]["acknowledged_safety_checks"] == [{"id": "x"}]


def test_what_a_shell_printed_becomes_one_chunk_with_the_last_outcome() -> None:
    chunks = [
        {"stdout": "one", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "two", "stderr": "bad", "outcome": {"type": "timeout"}},
    ]
    item = {"type": "shell_call_output", "call_id": "a", "output": chunks, "max_output_length": 9}
    turn = result_of(item)
    assert turn.text == "one\ntwo\nbad"
    chunk = {"stdout": "short", "stderr": "", "outcome": {"type": "timeout"}}
    assert written(turn, "short") == [{**item, "output": [chunk]}]


def test_an_approval_keeps_its_answer() -> None:
    item = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}
    assert written(result_of(item), "stub") == [{**item, "reason": "stub"}]
    assert written(result_of({**item, "reason": "long"}), "") == [item]


def test_revealed_tools_and_answers_nobody_can_reword_stay() -> None:
    item = {
        "type": "tool_search_output",
        "call_id": "a",
        "execution": "client",
        "tools": [{"x": 1}],
    }
    turn = result_of(item)
    assert RESPONSES.write(turn, "stub", (), ()) is turn


# -- new turns -------------------------------------------------------------------------------------


def test_a_note_is_a_plain_message() -> None:
    note = RESPONSES.note("assistant", "remember")
    assert (note.role, note.text) == ("assistant", "remember")
    assert note.carriers == ({"type": "message", "role": "assistant", "content": "remember"},)
    assert RESPONSES.note("user", "x").carriers[0]["role"] == "user"


def test_an_empty_result_has_its_output_field() -> None:
    (turn,) = contents(call("a"))
    assert RESPONSES.result(turn.calls[0], "").carriers == (output("a", ""),)
