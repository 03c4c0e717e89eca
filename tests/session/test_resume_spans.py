"""Where in a call the command of an edit stands, for training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_world import HEAD, call, calling, edit_call, fill, play, replaced, runs

from redraft import Session, Settings
from redraft.dialects import Call
from redraft.session.spans import spans_of
from redraft.store import SQLiteJournal, edits
from redraft.testing.strategies import arguments


def cut(text: str, *, free: bool = False) -> list[str]:
    """What `spans_of` finds in arguments whose file is called FILE."""
    found = spans_of(Call("c", "bash", text, 2, free=free), lambda words: "FILE" in words)
    assert {span.place for span in found} == {2}
    return [text[span.start : span.end] for span in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"command": "rm FILE"}', ["rm FILE"]),
        ('{ "timeout" : 3 ,\n"command":"rm FILE", "x": ["FILE"]}', ["rm FILE"]),
        ('{"command": "say \\"FILE\\"\\n", "more": "FILE"}', ['say \\"FILE\\"\\n', "FILE"]),
        ('{"command": "ls"}', ['{"command": "ls"}']),
        ('{"path": {"name": "FILE"}}', ['{"path": {"name": "FILE"}}']),
        ('{"command": "rm FILE', ['{"command": "rm FILE']),
        ('["FILE"]', ['["FILE"]']),
        ("rm FILE", ["rm FILE"]),
        ("", [""]),
    ],
)
def test_the_string_that_names_the_file_is_the_command(text: str, found: list[str]) -> None:
    assert cut(text) == found


def test_free_text_is_all_command() -> None:
    assert cut('{"command": "rm FILE"}', free=True) == ['{"command": "rm FILE"}']


@given(text=arguments() | st.text(max_size=40))
def test_any_arguments_give_some_span_inside_of_them(text: str) -> None:
    for part in cut(text):
        assert part in text
    whole = spans_of(Call("c", "edit_context", text), None)
    assert [(span.start, span.end) for span in whole] == [(0, len(text))]


@given(command=st.text(max_size=30))
def test_the_span_of_a_command_is_its_json_without_the_quotes(command: str) -> None:
    text = json.dumps({"a": 1, "command": f"{command} FILE"})
    assert cut(text) == [json.dumps(f"{command} FILE")[1:-1]]


def test_a_session_records_where_its_edits_stand(tmp_path: Path) -> None:
    with (
        SQLiteJournal(tmp_path / "run") as journal,
        Session(
            HEAD,
            interface="both",
            journal=journal,
            budget=40_000,
            settings=Settings(elide_edits="off"),
        ) as session,
    ):
        fill(session, 3)
        command = replaced(3, 4, "noted")
        play(session, runs("ls", command))
        edit = edit_call({"turn": 5, "through": 6, "text": "noted too"}, at=9)
        play(session, calling(edit, call("ls", 10)))
        session.undo(2)
        by_file, by_tool = edits(journal.entries())
    assert by_file.texts() == (json.dumps(command)[1:-1],)
    assert (by_file.committed.number, by_file.committed.edit_calls) == (1, (1,))
    assert by_tool.texts() == (edit["function"]["arguments"],)
    assert (by_tool.committed.number, by_tool.committed.edit_calls) == (2, (0,))
    assert [made.turn.content.calls[0].name for made in (by_file, by_tool)] == [
        "bash",
        "edit_context",
    ]
