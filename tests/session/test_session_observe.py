"""`mode="observe"`: everything is judged, nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    play,
    replaced,
    reply,
    result,
    runs,
    says,
    shell,
    statuses,
    user,
)

from redraft import Phase, Session, Settings
from redraft.errors import ContextOverflowError, UndoError
from redraft.events import Event, NudgeGiven, RolledBack

REPLIES = (
    (runs("seq 1 2000"), "1 2 3 " * 2_000),
    (runs(replaced(3, 4, "settled")), None),
    (runs("head -c 40 $REDRAFT_CONTEXT_FILE > x; mv x $REDRAFT_CONTEXT_FILE; exit 1"), None),
    (runs("echo a note >> $REDRAFT_CONTEXT_FILE"), None),
    (calling(call("rm $REDRAFT_CONTEXT_FILE", 1), call("true", 2)), None),
    (runs("cat"), "[redraft:beef] not ours"),
)


def append_only(session: Session) -> Iterator[tuple[list[Any], list[Any]]]:
    """Every request beside the one that an agent without redraft would make."""
    plain: list[Any] = [dict(message) for message in HEAD]
    for message, output in REPLIES:
        request = session.request()
        assert request is not None
        yield request["messages"], list(plain)
        with session.answer() as answer:
            answer(reply(message))
        plain.append(message)
        with session.round() as now:
            for asked in now.calls:
                if output is None:
                    text, code = shell(asked["command"], session.env)
                else:
                    text, code = output, 0
                now.result(asked, text, exit_code=code)
                plain.append({"role": "tool", "tool_call_id": asked.id, "content": text})
    request = session.request()
    assert request is not None
    yield request["messages"], plain


def test_every_request_is_that_of_an_agent_without_redraft() -> None:
    events: list[Event] = []
    with Session(
        HEAD, tools=[BASH], mode="observe", budget=4_000, on_event=events.append, tag="beef"
    ) as session:
        count = 0
        for sent, plain in append_only(session):
            assert json.dumps(sent) == json.dumps(plain)
            count += 1
        assert count == len(REPLIES) + 1
        assert statuses(session) == ["applied", "rejected", "rejected", "rejected"]
        assert session.tokens > session.limit
        assert not any(isinstance(event, NudgeGiven | RolledBack) for event in events)
        assert balanced(session)
        assert session.ledger.total().freed == 0


def test_receipts_say_what_would_have_become_of_each_edit() -> None:
    with Session(HEAD, mode="observe") as session:
        play(session, runs("seq"), "word " * 300)
        play(session, runs(replaced(3, 4, "settled")))
        [receipt] = session.receipts
        assert str(receipt.status) == "applied"
        assert receipt.after < receipt.before
        assert session.live.turns[3].content.text == "word " * 300
        with pytest.raises(UndoError, match="none has been applied"):
            session.undo(1)


def test_each_edit_is_judged_on_the_true_context() -> None:
    with Session(HEAD, mode="observe") as session:
        play(session, runs("seq"), "word " * 300)
        for _ in range(3):
            play(session, runs(replaced(3, 4, "settled")))
        assert [receipt.before - receipt.after for receipt in session.receipts] == [
            session.receipts[0].before - session.receipts[0].after
        ] * 3


def test_nothing_is_added_to_the_system_prompt_or_the_tools() -> None:
    with Session(HEAD, tools=[BASH], mode="observe", interface="both") as session:
        request = session.request()
        assert request is not None
        assert request["messages"] == list(HEAD)
        assert request["tools"] == [BASH]


def test_an_overflow_goes_through() -> None:
    with Session(HEAD, mode="observe") as session:
        play(session, runs("seq"), "word " * 300)
        before = session.live.turns
        session.request()
        with pytest.raises(ContextOverflowError), session.answer():
            raise ContextOverflowError("too large")
        assert session.live.turns == before
        assert session.overflowed(ContextOverflowError("too large")) is False
        assert session.request() is not None


def test_a_budget_in_the_way_is_no_trouble() -> None:
    with Session(HEAD, mode="observe", budget=4_000, settings=Settings(margin=100)) as session:
        ask(session, says("x " * 9_000))
        session.append(user("word " * 9_000))
        request = session.request()
        assert request is not None
        assert len(request["messages"]) == 4


def test_a_finish_stops_without_a_word() -> None:
    with Session(HEAD, mode="observe") as session:
        session.finish("enough")
        assert session.phase is Phase.STOPPED
        assert session.request() is None
        assert len(session.messages) == 2


def test_a_broken_history_is_left_as_it_is() -> None:
    with Session([*HEAD, runs("ls")], mode="observe") as session:
        assert len(session.messages) == 3


def test_view_gives_back_the_clients_own_messages() -> None:
    with Session([], mode="observe") as session:
        history: list[Any] = list(HEAD)
        assert session.view(history) == history
        history += [runs("ls"), result("out")]
        path = session.context_file
        assert path is not None
        path.write_text("")
        assert session.view(history) == history
        assert statuses(session) == ["rejected"]


def test_no_file_is_written_but_the_context_file(tmp_path: Path) -> None:
    with Session(HEAD, mode="observe", path=tmp_path / "here") as session:
        play(session, runs(replaced(3, 4, "x")))
        play(session, runs("echo note >> $REDRAFT_CONTEXT_FILE"))
        files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
        assert files == ["LIVE_CTX_MAIN.txt"]
