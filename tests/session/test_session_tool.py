"""`edit_context`, for agents without a shell: the same door, no file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from session_world import (
    BASH,
    HEAD,
    ask,
    balanced,
    call,
    calling,
    edit_call,
    fill,
    last,
    legal,
    numbers,
    play,
    reply,
    runs,
    statuses,
    texts,
    tool_call,
    turn,
)

from redraft import Session
from redraft.context import Origin
from redraft.tools import EDIT_CONTEXT


def edits(session: Session, *changes: dict[str, Any]) -> str:
    """One round with one call of the tool; its result."""
    play(session, calling(edit_call(*changes)))
    return last(session)


def test_the_schema_is_among_the_tools_once_and_first_is_the_clients() -> None:
    with Session(HEAD, tools=[BASH], interface="tool") as session:
        for _ in range(2):
            request = session.request()
            assert request is not None
            assert request["tools"] == [BASH, EDIT_CONTEXT]
        assert "edit_context" in session.messages[0]["content"]
        assert "REDRAFT_CONTEXT_FILE" not in session.messages[0]["content"]


def test_no_file_is_written_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Session(HEAD, interface="tool") as session:
        fill(session, 2)
        edits(session, {"turn": 3, "text": "begun"})
        assert session.context_file is None
        assert session.env == {}
        assert list(tmp_path.rglob("*")) == []


def test_without_edits_it_lists_the_turns() -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 2)
        listed = edits(session)
        assert [line.split()[:3] for line in listed.splitlines()[:4]] == [
            ["turn", "3", "assistant"],
            ["turn", "4", "tool"],
            ["turn", "5", "assistant"],
            ["turn", "6", "tool"],
        ]
        assert session.receipts == []


def test_an_edit_replaces_a_turn_or_a_piece_or_a_range() -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 5)
        said = edits(
            session,
            {"turn": 3, "text": "begun"},
            {"turn": 4, "text": "out"},
            {"turn": 5, "find": "step", "text": "stage"},
            {"turn": 7, "through": 10, "text": "two settled steps"},
        )
        assert "edit 1 applied" in said
        assert texts(session)[2:5] == ["begun", "out", "stage 1"]
        assert numbers(session)[:6] == [1, 2, 3, 4, 5, 6]
        note = session.live.turns[6]
        assert (note.content.text, note.origin) == ("two settled steps", Origin.NOTE)
        assert legal(session.messages)
        assert balanced(session)


WRONG: dict[str, tuple[Any, str]] = {
    "not a list": ("all of it", "must be a list"),
    "a number": (3, "must be a list"),
    "not objects": (["turn 3"], "must be an object"),
    "no turn": ([{"text": "x"}], "cannot be edited"),
    "a truth for a turn": ([{"turn": True, "text": "x"}], "cannot be edited"),
    "an unknown turn": ([{"turn": 99, "text": "x"}], "cannot be edited"),
    "the system prompt": ([{"turn": 1, "text": "be free"}], "cannot be edited"),
    "the task": ([{"turn": 2, "text": "another task"}], "cannot be edited"),
    "its own round": ([{"turn": 7, "text": "x"}], "cannot be edited"),
    "no text": ([{"turn": 3}], "no `text`"),
    "a number for a text": ([{"turn": 3, "text": 5}], "no `text`"),
    "a find that is not there": (
        [{"turn": 3, "find": "zebra", "text": "x"}],
        "quote a piece that stands",
    ),
    "a find that is there twice": ([{"turn": 4, "find": "word", "text": "x"}], "more than once"),
    "twice the same turn": ([{"turn": 3, "text": "x"}, {"turn": 3, "text": "y"}], "twice"),
    "a range backwards": ([{"turn": 5, "through": 3, "text": "x"}], "before turn"),
    "a range to nowhere": ([{"turn": 5, "through": 50, "text": "x"}], "cannot be edited"),
    "one good, one bad": (
        [{"turn": 3, "text": "x"}, {"turn": 99, "text": "y"}],
        "Nothing was changed",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_change_nothing_and_are_answered_in_words(name: str) -> None:
    wrong, words = WRONG[name]
    with Session(HEAD, interface="tool") as session:
        fill(session, 2)
        before = session.live.turns
        play(session, calling(tool_call("edit_context", json.dumps({"edits": wrong}))))
        assert words in last(session)
        assert session.live.turns[: len(before)] == before
        assert session.receipts == []


@pytest.mark.parametrize("arguments", ['{"edits": [{"turn": 3', "[]", "null", "3"])
def test_arguments_that_are_no_object_are_answered(arguments: str) -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 1)
        play(session, calling(tool_call("edit_context", arguments)))
        assert "not a JSON object" in last(session)


def test_it_goes_together_with_other_calls_and_the_receipt_stands_in_the_newest() -> None:
    with Session(HEAD, tools=[BASH], interface="tool") as session:
        fill(session, 3)
        asked = [edit_call({"turn": 3, "through": 4, "text": "settled"}, at=1), call("ls", 2)]
        ask(session, calling(*asked))
        with session.round() as now:
            assert [one.id for one in now.calls] == ["call_2"]
            now.result(now.calls[0], "file.txt")
        assert last(session).startswith("file.txt\n")
        assert "edit 1 applied" in last(session)
        assert "edit 1" not in session.live.turns[-2].content.text
        assert "context" in session.live.turns[-2].content.text


def test_two_edits_in_one_round_see_one_another() -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 2)
        first = edit_call({"turn": 3, "text": "one"}, at=1)
        second = edit_call({"turn": 3, "find": "one", "text": "two"}, at=2)
        play(session, calling(first, second))
        assert turn(session, 3).content.text == "two"
        assert "edit 1" in last(session)
        assert "edit 2" in last(session)


def test_a_client_that_has_a_tool_of_this_name_keeps_it() -> None:
    own = {"type": "function", "function": {"name": "edit_context"}}
    with Session(HEAD, tools=[own], interface="file") as session:
        ask(session, calling(edit_call({"turn": 3, "text": "x"})))
        with session.round() as now:
            assert [asked.name for asked in now.calls] == ["edit_context"]
            now.result(now.calls[0], "mine")


def test_with_interface_none_the_model_has_nothing_to_edit_with() -> None:
    with Session(HEAD, tools=[BASH], interface="none") as session:
        request = session.request()
        assert request is not None
        assert request["tools"] == [BASH]
        assert request["messages"][0]["content"] == "You are an agent."
        assert session.context_file is None
        with session.answer() as answer:
            answer(reply(runs("ls")))
        with session.round() as now:
            now.result(now.calls[0], "x")
        assert "context" in last(session)


def test_with_both_the_model_may_use_either() -> None:
    with Session(HEAD, tools=[BASH], interface="both") as session:
        fill(session, 3)
        edits(session, {"turn": 3, "through": 4, "text": "by tool"})
        play(session, runs("sed -i 's/^by tool$/by file/' $REDRAFT_CONTEXT_FILE"))
        assert statuses(session) == ["applied", "applied"]
        assert "by file" in texts(session)


def test_a_framework_that_runs_tools_itself_calls_it_directly() -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 2)
        assert "turn 3 assistant" in session.edit_context()
        said = session.edit_context(edits=[{"turn": 3, "text": "begun"}])
        assert said.startswith(f"[redraft:{session.tag}] edit 1 applied")
        assert "cannot be edited" in session.edit_context(edits=[{"turn": 1, "text": "x"}])
        assert balanced(session)
        fill(session, 1)
        assert sum("edit 1" in text for text in texts(session)) == 0
