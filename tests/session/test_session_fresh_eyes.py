"""Faults that a newcomer found by trying to break a session."""

from __future__ import annotations

import json
from typing import Any

from redraft import Session
from redraft.errors import ContextOverflowError

TASK = {"role": "user", "content": "task"}


def reply(*commands: str) -> dict[str, Any]:
    calls = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": command})},
        }
        for at, command in enumerate(commands)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}


def test_an_intake_with_a_stray_result_can_be_undone() -> None:
    stray = {"role": "tool", "tool_call_id": "zz", "content": "r"}
    messages = [TASK, stray, {"role": "assistant", "content": "well"}]
    with Session(messages, budget=60_000, interface="tool") as session:
        before = session.live.turns
        numbers = [turn.number for turn in session.live.editable()]
        edits = [{"turn": numbers[0], "through": numbers[-1], "text": ""}]
        assert "applied" in session.edit_context(edits=edits)
        session.undo(1)
        assert session.live.turns == before


def test_a_call_without_a_result_at_the_end_of_a_round_is_not_called_interrupted() -> None:
    with Session([TASK], budget=60_000, interface="tool") as session:
        session.request()
        with session.answer() as answer:
            answer(reply("one", "two"))
        with session.round() as now:
            now.result(now.calls[0], "fine")
        said = [message["content"] for message in session.messages if message["role"] == "tool"]
    assert "fine" in said[0]
    assert "gave none for this one" in said[1]
    assert "interrupted" not in said[1]


def test_a_small_window_of_the_server_becomes_a_rollback_and_no_error() -> None:
    with Session([TASK], budget=32_000, interface="none") as session:
        for _ in range(6):
            session.request()
            with session.answer() as answer:
                answer(reply("x"))
            with session.round() as now:
                now.result(now.calls[0], "word " * 300)
        session.request()
        with session.answer():
            raise ContextOverflowError("too long", requested=2_600, window=2_500)
        assert session.request() is not None
        assert session.limit < 2_500


def test_edit_context_says_which_argument_it_does_not_know_and_which_turns_there_are() -> None:
    history = [
        TASK,
        *({"role": "assistant", "content": f"answer {at}"} for at in range(4)),
    ]
    with Session(history, budget=60_000, interface="tool") as session:
        said = session.edit_context(turn=3, text="x")
        assert "no argument `text`, `turn`" in said
        numbers = [turn.number for turn in session.live.editable()]
        edits = [{"turn": numbers[0], "through": numbers[1], "text": "a note"}]
        session.edit_context(edits=edits)
        now = [turn.number for turn in session.live.editable()]
        assert now[0] > now[1], "the note has a new number and stands in front"
        wrong = session.edit_context(edits=[{"turn": 99, "text": "x"}])
    assert f"{now[0]}, {now[1]}-{now[-1]}" in wrong
