"""The Messages API: results, the message they share, and the words that come with them."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic_world import (
    CLAUDE,
    call,
    contents,
    joined,
    result,
    rewritten,
    said,
    text,
    user,
)

from redraft.testing.strategies.anthropic import MARK, anthropic_image


@pytest.mark.parametrize(
    ("content", "shown"),
    [("out", "out"), ("", ""), ([text("a"), text("b")], "a\nb"), ([], ""), (None, "")],
)
def test_a_result_holds_text_or_blocks_or_nothing(content: Any, shown: str) -> None:
    turn = contents(said(call()), user(result("a", content)))[1]
    assert (turn.role, turn.text, turn.answers) == ("tool", shown, "a")


def test_a_result_without_content_is_an_empty_result() -> None:
    block = {"type": "tool_result", "tool_use_id": "a"}
    turn = contents(said(call()), user(block))[1]
    assert turn.text == ""
    assert rewritten(turn, "now something").carriers == (
        user({**block, "content": "now something"}),
    )


def test_a_result_that_is_rewritten_keeps_its_form_its_error_and_its_marker() -> None:
    plain = user(result("a", "long", is_error=True, cache_control=MARK))
    listed = user(result("a", [text("long", cache_control=MARK), anthropic_image()]))
    for message, content in (
        (plain, "short"),
        (listed, [text("short", cache_control=MARK), anthropic_image()]),
    ):
        turn = contents(said(call()), message)[1]
        block = message["content"][0]
        assert rewritten(turn, "short").carriers == (user({**block, "content": content}),)


def test_a_result_that_is_emptied_holds_no_empty_text() -> None:
    for content in ("long", [text("long")]):
        turn = contents(said(call()), user(result("a", content)))[1]
        assert rewritten(turn, "").carriers == (user({"type": "tool_result", "tool_use_id": "a"}),)


def test_an_image_in_a_result_can_be_taken_out() -> None:
    turn = contents(said(call()), user(result("a", [text("seen"), anthropic_image()])))[1]
    assert [part.label for part in turn.parts] == ["image png 640x480"]
    assert CLAUDE.write(turn, "seen", (), ()).carriers == (user(result("a", [text("seen")])),)


def test_a_rewritten_result_goes_back_among_its_siblings_and_before_the_words() -> None:
    message = user(result("a", "ra"), result("b", "rb"), text("also"))
    turns = contents(said(call("a"), call("b")), message)
    for at, sent in ((1, ["new", "rb"]), (2, ["ra", "new"])):
        changed = [*turns]
        changed[at] = rewritten(turns[at], "new")
        (_, last) = joined(*changed)
        assert last == user(result("a", sent[0]), result("b", sent[1]), text("also"))
        assert last["content"][2] is turns[3].carriers[0]["content"][2]


def test_rewritten_words_stay_in_the_message_of_the_results_they_came_with() -> None:
    turns = contents(said(call()), user(result(), text("also")))
    assert joined(*turns[:2], rewritten(turns[2], "never mind"))[1] == user(
        result(), text("never mind")
    )


def test_words_that_came_before_a_result_stand_behind_it_once_anything_changes() -> None:
    turns = contents(said(call("a"), call("b")), user(text("also"), result("a"), result("b")))
    assert joined(*turns)[1]["content"][0] == text("also")
    assert joined(turns[0], turns[1], rewritten(turns[2], "new"), turns[3])[1] == user(
        result("a"), result("b", "new"), text("also")
    )


def test_results_that_the_client_sent_apart_stay_apart_when_one_is_rewritten() -> None:
    turns = contents(said(call("a"), call("b")), user(result("a")), user(result("b")))
    sent = joined(turns[0], rewritten(turns[1], "new"), turns[2])
    assert sent[1] == user(result("a", "new"))
    assert sent[2] is turns[2].carriers[0]
    sent = joined(turns[0], rewritten(turns[1], "new"), rewritten(turns[2], "newer"))
    assert sent[1:] == [user(result("a", "new")), user(result("b", "newer"))]


def test_words_that_the_client_sent_apart_stay_apart_when_they_are_rewritten() -> None:
    turns = contents(said(call("a"), call("b")), user(result("a"), result("b")), user(text("also")))
    sent = joined(turns[0], turns[1], rewritten(turns[2], "new"), rewritten(turns[3], "never mind"))
    assert sent[1:] == [user(result("a"), result("b", "new")), user(text("never mind"))]


def test_turns_of_two_messages_are_never_taken_for_one_that_is_all_there() -> None:
    turns = contents(
        said(call("a"), call("b")),
        user(result("a"), result("b")),
        said(call("c"), call("d")),
        user(result("c"), result("d")),
    )
    assert joined(turns[1], turns[5]) == [user(result("a"), result("d"))]
    assert joined(turns[2], turns[1]) == [user(result("b"), result("a"))]


def test_what_is_left_of_two_messages_is_two_messages_where_words_end_the_first() -> None:
    turns = contents(
        user(result("a"), text("one")), said(text("so")), user(result("b"), text("two"))
    )
    assert joined(turns[1], turns[4]) == [user(text("one")), user(text("two"))]
    assert joined(turns[1], turns[3]) == [user(text("one")), user(result("b"))]


def test_a_note_between_results_and_words_makes_them_two_messages() -> None:
    turns = contents(said(call()), user(result(), text("also")))
    note = CLAUDE.note("user", "a note")
    assert joined(*turns[:2], note, turns[2]) == [
        said(call()),
        user(result()),
        {"role": "user", "content": "a note"},
        user(text("also")),
    ]


def test_new_results_of_one_round_are_one_message_in_the_form_the_api_wants() -> None:
    (turn,) = contents(said(call("a"), call("b")))
    results = [CLAUDE.result(c, out) for c, out in zip(turn.calls, ("out", ""), strict=True)]
    assert [(r.role, r.text, r.answers) for r in results] == [
        ("tool", "out", "a"),
        ("tool", "", "b"),
    ]
    assert joined(turn, *results)[1] == user(
        result("a"), {"type": "tool_result", "tool_use_id": "b"}
    )


def test_fields_that_nobody_knows_ride_on_a_message_that_is_folded() -> None:
    message = {**user(result("a"), result("b")), "x_new": {"n": 1}}
    turns = contents(said(call("a"), call("b")), message)
    assert joined(turns[0], turns[1], rewritten(turns[2], "new"))[1] == {
        **user(result("a"), result("b", "new")),
        "x_new": {"n": 1},
    }
