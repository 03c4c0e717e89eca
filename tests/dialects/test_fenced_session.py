"""A session on the fenced route: rounds, a context that is edited, a record that comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redraft import Session
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import read_pieces
from redraft.store import SQLiteJournal

HEAD = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Look."}]


def reply(text: str, *commands: str) -> Any:
    fences = [call_fence("bash", json.dumps({"command": one})) for one in commands]
    message = {"role": "assistant", "content": "\n\n".join([text, *fences])}
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def rounds(session: Session, *replies: Any) -> list[Any]:
    """The requests of the given replies' rounds; each call is answered with its command, twice."""
    requests = []
    for one in replies:
        requests.append(session.request())
        with session.answer() as answer:
            answer(one)
        with session.round() as opened:
            for call in opened.calls:
                opened.result(call, f"{call['command']} {call['command']}")
    return requests


def test_a_rounds_results_are_one_message_and_no_provider_sees_a_private_key() -> None:
    with Session(HEAD, dialect=Fenced(), budget=30_000) as session:
        rounds(session, reply("I look.", "ls", "pwd"), reply("Again.", "date"))
        request = session.request()
        assert request is not None
        messages = request["messages"]
        assert [message["role"] for message in messages] == [
            *("system", "user", "assistant", "user", "assistant", "user")
        ]
        found = read_pieces(messages[3]["content"])
        assert found is not None
        assert [piece.id for piece in found[1]] == ["r1.1", "r1.2"]
        assert found[1][0].text.startswith("ls ls")
        assert (
            messages[2]["content"]
            == reply("I look.", "ls", "pwd")["choices"][0]["message"]["content"]
        )
        assert not any(key.startswith("_") for message in messages for key in message)
        rounds(session, reply("All is well."))
        assert session.request() is None


def test_a_record_on_disk_comes_back_as_what_was_sent(tmp_path: Path) -> None:
    with (
        SQLiteJournal(tmp_path / "run", dialect=Fenced()) as journal,
        Session(HEAD, dialect=Fenced(), budget=30_000, journal=journal) as session,
    ):
        rounds(session, reply("I look.", "ls", "pwd"), reply("Again.", "date"))
        before = session.request()
    with SQLiteJournal(tmp_path / "run") as journal, Session.resume(journal) as session:
        assert isinstance(session.live.dialect, Fenced)  # the record says which, nobody else
        after = session.request()
        assert before is not None
        assert after is not None
        assert json.dumps(after["messages"][2:]) == json.dumps(before["messages"][2:])
        rounds(session, reply("More.", "id"))
        request = session.request()
        assert request is not None
        found = read_pieces(request["messages"][-1]["content"])
        assert found is not None
        assert found[1][0].text.startswith("id id")
