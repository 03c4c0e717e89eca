"""`edit_context`: find and replace by turn and anchor; all edits or none; mistakes come back in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import Commit, Gate, Live, Origin, Refusal, Revision, commit
from redraft.dialects import OPENAI_CHAT, OpenAIChat, check
from redraft.testing.strategies import conversations, legal_conversations
from redraft.tokens import Meter
from redraft.tools import EDIT_CONTEXT, Outline, intend

CHAT = OpenAIChat()


class Words:
    """One token a word; a turn of n words costs n + 4."""

    def count(self, text: str) -> int:
        return len(text.split())


def start(*messages: Any) -> Live:
    frame, contents = CHAT.split({"messages": list(messages)})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def user(text: Any) -> Any:
    return {"role": "user", "content": text}


def said(text: str | None, *ids: str) -> Any:
    function = {"name": "bash", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function} for name in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def result(name: str, text: str) -> Any:
    return {"role": "tool", "tool_call_id": name, "content": text}


def talk() -> Live:
    return start(
        user("task"),
        said("looking", "a"),
        result("a", "one\r\ntwo two\r\nthree"),
        said("found it"),
        user("go on"),
        said("done"),
    )


def texts(live: Live) -> list[str]:
    return [turn.content.text for turn in live.turns]


def after(live: Live, *edits: Any) -> list[str]:
    revision = intend(live, {"edits": list(edits)})
    assert isinstance(revision, Revision), revision
    done = commit(live, revision, 10**9)
    assert isinstance(done, Commit), done.receipt
    return texts(done.live)


def complaint(live: Live, *edits: Any) -> str:
    answer = intend(live, {"edits": list(edits)})
    assert isinstance(answer, Outline)
    assert answer.failed
    return answer.text


class TestEdits:
    def test_a_whole_text_is_replaced(self) -> None:
        assert after(talk(), {"turn": 4, "text": "new"})[3] == "new"

    def test_a_piece_is_replaced_and_the_rest_stays_to_the_byte(self) -> None:
        edit = {"turn": 3, "find": "three", "text": "3"}
        assert after(talk(), edit)[2] == "one\r\ntwo two\r\n3"

    def test_a_piece_is_found_whatever_the_ends_of_its_lines(self) -> None:
        edit = {"turn": 3, "find": "one\ntwo", "text": "1 2"}
        assert after(talk(), edit)[2] == "1 2 two\r\nthree"

    def test_a_piece_is_found_where_the_model_sees_a_replacement_character(self) -> None:
        live = start(user("task"), said("a \ud83d b"), user("x"), said("y"))
        assert after(live, {"turn": 2, "find": "\ufffd b", "text": "c"})[1] == "a c"
        assert after(live, {"turn": 2, "find": "b", "text": "c"})[1] == "a \ud83d c"

    def test_patterns_are_plain_text(self) -> None:
        live = start(user("task"), said("a.*(b) \\1"), user("x"), said("y"))
        assert after(live, {"turn": 2, "find": ".*(b)", "text": "\\1"})[1] == "a\\1 \\1"

    def test_several_pieces_of_one_turn_are_replaced(self) -> None:
        edits = [{"turn": 3, "find": "one", "text": "1"}, {"turn": 3, "find": "three", "text": "3"}]
        assert after(talk(), *edits)[2] == "1\r\ntwo two\r\n3"

    def test_an_empty_text_removes_a_turn(self) -> None:
        assert after(talk(), {"turn": 4, "text": ""}) == [
            "task",
            "looking",
            "one\r\ntwo two\r\nthree",
            "go on",
            "done",
        ]

    def test_and_leaves_a_stub_where_a_call_stands(self) -> None:
        assert after(talk(), {"turn": 3, "text": ""})[2] == "[result removed from context]"

    def test_a_range_becomes_one_note(self) -> None:
        assert after(talk(), {"turn": 2, "through": 4, "text": "in short"}) == [
            "task",
            "in short",
            "go on",
            "done",
        ]

    def test_a_range_may_go_without_a_note(self) -> None:
        assert after(talk(), {"turn": 2, "through": 4, "text": ""}) == ["task", "go on", "done"]

    def test_edits_in_any_order_are_one_revision(self) -> None:
        edits = [
            {"turn": 6, "text": "c"},
            {"turn": 2, "through": 3, "text": "a"},
            {"turn": 4, "text": "b"},
        ]
        assert after(talk(), *edits) == ["task", "a", "b", "go on", "c"]

    def test_origins_are_those_of_a_models_edits(self) -> None:
        live = talk()
        edits = [
            {"turn": 4, "text": "x"},
            {"turn": 5, "text": "y"},
            {"turn": 2, "through": 3, "text": "z"},
        ]
        done = commit(live, intend(live, {"edits": edits}), 10**9)  # type: ignore[arg-type]
        assert isinstance(done, Commit)
        assert [turn.origin for turn in done.live.turns] == [
            Origin.ORIGINAL,
            Origin.NOTE,
            Origin.EDITED,
            Origin.NOTE,
            Origin.ORIGINAL,
        ]

    def test_the_gate_and_the_source_are_told(self) -> None:
        revision = intend(talk(), {"edits": [{"turn": 4, "text": "x"}]}, Gate.SHRINK)
        assert isinstance(revision, Revision)
        assert (revision.author, revision.source, revision.gate) == (
            "model",
            "edit_context",
            Gate.SHRINK,
        )

    def test_words_that_stay_the_same_are_no_change(self) -> None:
        edits = [{"turn": 4, "text": "found it"}, {"turn": 6, "find": "done", "text": "done"}]
        assert not intend(talk(), {"edits": edits})


class TestHabitsOfModels:
    def test_a_list_written_as_text_is_read(self) -> None:
        edits = json.dumps([{"turn": 4, "text": "new"}])
        assert isinstance(intend(talk(), {"edits": edits}), Revision)

    def test_a_number_written_as_text_is_read(self) -> None:
        assert after(talk(), {"turn": "4", "text": "new"})[3] == "new"

    def test_an_empty_anchor_means_the_whole_text(self) -> None:
        assert after(talk(), {"turn": 4, "find": "", "text": "new"})[3] == "new"
        assert after(talk(), {"turn": 4, "find": None, "through": None, "text": "new"})[3] == "new"


class TestMistakes:
    @pytest.mark.parametrize(
        ("edit", "says"),
        [
            ({"turn": 1, "text": "x"}, "turn 1 cannot be edited; editable turns: 2-6"),
            ({"turn": 99, "text": "x"}, "turn 99 cannot be edited"),
            ({"turn": True, "text": "x"}, "turn True cannot be edited"),
            ({"turn": 4.5, "text": "x"}, "turn 4.5 cannot be edited"),
            ({"turn": "four", "text": "x"}, "turn 'four' cannot be edited"),
            ({"turn": None, "text": "x"}, "turn None cannot be edited"),
            ({"text": "x"}, "turn None cannot be edited"),
            ({"turn": "9" * 5_000, "text": "x"}, "cannot be edited"),
            ({"turn": [4], "text": "x"}, "turn [4] cannot be edited"),
            ({"turn": 4}, "no `text`; use an empty one to remove"),
            ({"turn": 4, "text": 5}, "no `text`"),
            ({"turn": 3, "find": "two", "text": "x"}, "stands more than once in turn 3"),
            ({"turn": 3, "find": "four", "text": "x"}, "stands nowhere in turn 3"),
            ({"turn": 4, "through": 2, "text": "x"}, "turn 2 stands before turn 4; swap them"),
            ({"turn": 4, "through": 99, "text": "x"}, "turn 99 cannot be edited"),
            ("turn 4", "each edit must be an object"),
            (4, "each edit must be an object"),
        ],
    )
    def test_each_says_what_to_do(self, edit: Any, says: str) -> None:
        text = complaint(talk(), edit)
        assert text.startswith("Nothing was changed: ")
        assert says in text

    def test_overlapping_pieces_stand_more_than_once(self) -> None:
        live = start(user("task"), said("aaa"), user("x"), said("y"))
        assert "more than once" in complaint(live, {"turn": 2, "find": "aa", "text": "b"})

    @pytest.mark.parametrize(
        "edits",
        [
            [{"turn": 4, "text": "a"}, {"turn": 4, "text": "b"}],
            [{"turn": 4, "text": "a"}, {"turn": 4, "find": "a", "text": "b"}],
            [{"turn": 4, "find": "it", "text": "b"}, {"turn": 4, "text": "a"}],
            [{"turn": 4, "text": ""}, {"turn": 2, "through": 6, "text": "x"}],
        ],
    )
    def test_one_turn_edited_in_two_ways_is_refused(self, edits: list[Any]) -> None:
        assert "edited twice; make it one edit" in complaint(talk(), *edits)

    def test_one_wrong_edit_stops_them_all(self) -> None:
        edits = [{"turn": 4, "text": "new"}, {"turn": 99, "text": "x"}]
        assert "Nothing was changed" in complaint(talk(), *edits)

    @pytest.mark.parametrize(
        "edits", [5, {"turn": 4, "text": "x"}, "not json", '{"turn": 4}', b"[]"]
    )
    def test_edits_must_be_a_list(self, edits: Any) -> None:
        answer = intend(talk(), {"edits": edits})
        assert answer == Outline("`edits` must be a list of {turn, text} objects.", failed=True)

    @given(
        st.dictionaries(
            st.sampled_from(("edits", "turn", "x")),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(("turn", "text", "find", "through")), inner, max_size=4
                    )
                ),
                max_leaves=6,
            ),
        )
    )
    def test_no_arguments_whatever_raise(self, arguments: dict[str, Any]) -> None:
        assert isinstance(intend(talk(), arguments), (Revision, Outline))


class TestTheOutline:
    def test_without_edits_it_lists_the_turns_with_their_sizes(self) -> None:
        live = talk().pin([4])
        for arguments in ({}, {"edits": []}, {"edits": None}, {"edits": ""}):
            answer = intend(live, arguments)
            assert isinstance(answer, Outline)
            assert not answer.failed
            assert answer.text.splitlines() == [
                "turn 2 assistant 46 tokens [calls bash]: looking",
                "turn 3 tool 8 tokens: one two two three",
                "turn 4 assistant 6 tokens [kept as it is]: found it",
                "turn 5 user 6 tokens: go on",
                "turn 6 assistant 5 tokens: done",
            ]

    def test_where_there_is_nothing_to_edit_it_says_so(self) -> None:
        answer = intend(start(user("task")), {})
        assert answer == Outline("There is nothing to edit yet.")
        assert "none yet" in complaint(start(user("task")), {"turn": 1, "text": "x"})

    @given(conversations())
    def test_each_turn_is_one_line_that_can_be_sent(self, messages: Any) -> None:
        live = start(*messages)
        answer = intend(live, {})
        assert isinstance(answer, Outline)
        answer.text.encode()
        assert len(answer.text.splitlines()) in (1, len(live.editable()))


@given(legal_conversations(), st.data())
def test_no_edit_yields_an_illegal_list(messages: Any, data: st.DataObject) -> None:
    live = start(*messages)
    turns = [turn.number for turn in live.editable()] or [1]
    edits = st.fixed_dictionaries(
        {"turn": st.sampled_from(turns), "text": st.sampled_from(("", "new"))},
        optional={"through": st.sampled_from(turns)},
    )
    intent = intend(live, {"edits": data.draw(st.lists(edits, min_size=1, max_size=3))})
    if isinstance(intent, Revision):
        answer = commit(live, intent, 10**9)
        sent = answer.live if isinstance(answer, Commit) else live
        assert check(sent.body()["messages"], OPENAI_CHAT) == []
        assert isinstance(answer, (Commit, Refusal))


def test_the_schema_names_what_is_read_and_no_more() -> None:
    parameters = EDIT_CONTEXT["function"]["parameters"]
    item = parameters["properties"]["edits"]["items"]
    assert set(item["properties"]) == {"turn", "through", "find", "text"}
    assert item["required"] == ["turn", "text"]
    assert parameters["additionalProperties"] is item["additionalProperties"] is False
    json.dumps(EDIT_CONTEXT)
