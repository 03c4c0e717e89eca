"""generateContent: how calls and results find each other, with ids and without."""

from __future__ import annotations

from typing import Any

import pytest
from block_world import Letters
from gemini_world import (
    GEMINI,
    Json,
    answers,
    call,
    contents,
    joined,
    model,
    one,
    result,
    rewritten,
    text,
    user,
)

from redraft.context import Live, groups
from redraft.dialects import Call
from redraft.testing.strategies import gemini_image
from redraft.tokens import Meter


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


def test_a_group_holds_when_its_results_come_one_by_one() -> None:
    frame, turns = GEMINI.split(
        {"contents": [user(text()), model(call(), call()), user(result("a")), user(result("b"))]}
    )
    live = Live.start(GEMINI, Meter(Letters()), frame, turns)
    assert [len(group.turns) for group in groups(live.turns)] == [1, 3]
    assert live.open_at == len(live.turns)
