"""A model's own edits are not paid twice: the command of an edit that was applied becomes one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_world import (
    HEAD,
    ask,
    balanced,
    bytes_of,
    call,
    calling,
    common,
    edit_call,
    fill,
    legal,
    play,
    replaced,
    result,
    runs,
    says,
    turn,
    user,
)

from redraft import Session, Settings
from redraft.agent import metrics_of
from redraft.context import Origin, Proposal
from redraft.events import EditJudged, Event, RequestMade
from redraft.session.elide import MEASURED, Issued, elided, is_patient, is_wanted
from redraft.store import SQLiteJournal

OFF = Settings(elide_edits="off")
TAG = "4f2a"
COMMAND = replaced(3, 6, "one note")
LINE = f"[redraft:{TAG}] edit 1 was applied; what it wrote went into the context"


def edited(message: Mapping[str, Any] | None = None, **options: Any) -> Session:
    """A session whose last round was an edit, by default of turns 3 to 6."""
    session = Session(HEAD, tag=TAG, **options)
    fill(session, 4)
    play(session, message or runs(COMMAND))
    return session


def arguments(request: Mapping[str, Any] | None, at: int = -1) -> dict[str, Any]:
    """The arguments of the last call in a request's turn with calls, counted from its end."""
    assert request is not None
    calls = [one for message in request["messages"] for one in message.get("tool_calls") or ()]
    parsed: dict[str, Any] = json.loads(calls[at]["function"]["arguments"])
    return parsed


# --- what it does -----------------------------------------------------------------------------------


def test_the_next_request_holds_one_line_in_the_place_of_the_command() -> None:
    with edited() as session:
        request = session.request()
        assert arguments(request) == {"command": LINE}
        assert request is not None
        assert legal(request["messages"])


def test_other_arguments_and_other_calls_stay_as_they_are() -> None:
    message = calling(call("true", "a"), call(COMMAND, "b", timeout=30), call("seq 3", "c"))
    with edited(message) as session:
        request = session.request()
        assert arguments(request, -3) == {"command": "true"}
        assert arguments(request, -2) == {"command": LINE, "timeout": 30}
        assert arguments(request, -1) == {"command": "seq 3"}


def test_the_words_of_the_turn_and_its_results_stay() -> None:
    with edited() as session:
        before = session.live.turns[-2:]
        session.request()
        after = session.live.turns[-2:]
        assert after[0].content.text == before[0].content.text == "working"
        assert after[1] is before[1]
        assert [one.number for one in after] == [one.number for one in before]


def test_an_edit_by_tool_keeps_the_shape_of_its_arguments() -> None:
    text = "All four listings were empty; nothing to see. " * 20
    message = calling(edit_call({"turn": 3, "through": 6, "text": text}, {"turn": 8, "text": "-"}))
    with edited(message, interface="tool") as session:
        first, second = arguments(session.request())["edits"]
        assert first == {"turn": 3, "through": 6, "text": LINE}
        assert second == {"turn": 8, "text": "-"}


def test_each_command_names_its_own_edit() -> None:
    long = "word " * 200
    message = calling(
        edit_call({"turn": 3, "text": f"{long}1"}, at=1),
        edit_call({"turn": 5, "text": f"{long}2"}, at=2),
    )
    with edited(message, interface="tool", settings=Settings(elide_edits="on")) as session:
        request = session.request()
        assert "edit 1 was applied" in arguments(request, -2)["edits"][0]["text"]
        assert "edit 2 was applied" in arguments(request, -1)["edits"][0]["text"]


# --- when -------------------------------------------------------------------------------------------


def test_never_in_its_own_turn() -> None:
    with edited() as session:
        assert session.live.turns[-2].content.calls[0].arguments == json.dumps({"command": COMMAND})


def test_nothing_more_is_read_again_than_the_edit_itself_makes_read(tmp_path: Path) -> None:
    asked: dict[str, list[RequestMade]] = {"on": [], "off": []}
    for name, settings_ in (("on", Settings()), ("off", OFF)):

        def saw(event: Event, told: list[RequestMade] = asked[name]) -> None:
            if isinstance(event, RequestMade):
                told.append(event)

        with edited(settings=settings_, on_event=saw, path=tmp_path / "file") as session:
            ask(session, says("done"))
    on, off = asked["on"][-1], asked["off"][-1]
    assert (on.reused_raw, on.reread_raw) == (off.reused_raw, off.reread_raw)
    assert on.raw < off.raw


def test_what_is_elided_once_is_sent_as_it_is_from_then_on() -> None:
    with edited() as session:
        first = ask(session, runs("ls"))
        with session.round() as now:
            now.result(now.calls[0], "README")
        second = session.request()
        assert first is not None
        assert second is not None
        assert common(first["messages"], second["messages"]) == len(first["messages"])
        assert bytes_of(second["messages"])[: len(first["messages"])] == bytes_of(first["messages"])


def test_asking_twice_elides_once() -> None:
    with edited() as session:
        session.request()
        again = len(session.receipts)
        session.request()
        assert len(session.receipts) == again


# --- what is left alone -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"{COMMAND}\necho done", id="it printed something"),
        pytest.param(f"{COMMAND}\necho '[redraft:{TAG}] done'", id="it printed what we might say"),
        pytest.param("sed -i 's/word/W/' $REDRAFT_CONTEXT_FILE", id="it is short"),
        pytest.param(f": {'x ' * 400}", id="it is no edit"),
        pytest.param(f": {'x ' * 400} $REDRAFT_CONTEXT_FILE", id="it changed nothing"),
    ],
)
def test_a_command_stays_where(command: str) -> None:
    with edited(runs(command)) as session:
        assert arguments(session.request()) == {"command": command}


def test_a_turn_that_was_pinned_meanwhile_stays() -> None:
    with edited() as session:
        session.pin(session.live.turns[-2].number)
        assert arguments(session.request()) == {"command": COMMAND}


@pytest.mark.parametrize("options", [{"settings": OFF}, {"mode": "observe", "interface": "none"}])
def test_nothing_is_elided_where_that_is_not_wanted(options: dict[str, Any]) -> None:
    with Session(HEAD, tag=TAG, **options) as session:
        fill(session, 4)
        play(session, runs(COMMAND), "")
        assert arguments(session.request()) == {"command": COMMAND}


def test_a_check_that_refuses_it_is_asked_once() -> None:
    asked: list[str] = []

    def check(proposal: Proposal) -> str | None:
        asked.append(proposal.revision.source)
        return "leave it" if proposal.revision.source == "elide" else None

    with edited(checks=[check]) as session:
        for _ in range(3):
            assert arguments(session.request()) == {"command": COMMAND}
        assert asked == ["file", "elide"]


# --- reasoning that minds ---------------------------------------------------------------------------


@pytest.fixture
def minding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose reasoning minds what changes inside of an open exchange."""
    monkeypatch.setattr("redraft.session.edits.is_patient", lambda *_: True)


@pytest.mark.usefixtures("minding")
def test_bound_reasoning_is_never_disturbed_inside_its_exchange() -> None:
    with edited() as session:
        for at in range(3):
            play(session, runs(replaced(3, 3, f"note {at}")))
            assert "what it wrote went" not in str(session.request())


@pytest.mark.usefixtures("minding")
def test_after_its_exchange_it_goes_with_the_next_edit_in_front_of_it() -> None:
    with edited() as session:
        ask(session, says("done"))
        session.append(user("Go on."))
        ask(session, runs("ls"))
        with session.round() as now:
            now.result(now.calls[0], "README")
        request = session.request()
        assert arguments(request, -2) == {"command": COMMAND}  # it would be read again for its sake
        play(session, runs("sed -i 's/^one note$/the note/' $REDRAFT_CONTEXT_FILE"))
        assert arguments(session.request(), -3) == {"command": LINE}
        assert balanced(session)


def test_which_models_mind() -> None:
    assert not is_patient("qwen3.6-27b", "openai-chat")
    assert is_patient("gpt-6-2", "openai-responses")
    assert is_patient("gemini-3.1-pro", "gemini")
    assert is_patient("claude-opus-5-5", "anthropic")
    assert is_patient("any", "a format that nobody described")


def test_auto_follows_what_was_measured() -> None:
    assert {name for name in MEASURED if is_wanted("auto", name)} == {
        *("anthropic", "fenced-chat", "gemini", "openai-chat", "openai-responses")
    }
    assert not is_wanted("auto", "a format that nobody measured")
    assert is_wanted("on", "a format that nobody measured")
    assert not is_wanted("off", "openai-chat")


# --- books, events, undo ----------------------------------------------------------------------------


def test_what_it_saves_stands_in_the_ledger_the_event_and_the_metrics() -> None:
    told: list[Event] = []
    with edited(on_event=told.append) as session:
        before = session.live.tokens
        session.request()
        saved = before - session.live.tokens
        assert saved > 100
        row = session.ledger.rows[-1]
        assert row.freed - row.rewrite_cost == saved
        assert (row.intake, row.measurement_cost) == (0, 0)
        judged = [one for one in told if isinstance(one, EditJudged)][-1]
        assert (judged.author, judged.source, judged.status) == ("harness", "elide", "applied")
        assert judged.before - judged.after == saved
        assert metrics_of(told).elided_tokens == saved
        assert metrics_of(told).edits == {"applied": 1}
        assert balanced(session)


def test_the_turn_is_edited_and_never_original_again() -> None:
    with edited() as session:
        number = session.live.turns[-2].number
        session.request()
        assert turn(session, number).origin is Origin.EDITED


def test_undo_brings_the_command_back_and_it_stays() -> None:
    with edited() as session:
        issued = session.live.turns[-2]
        session.request()
        session.undo(2)
        assert turn(session, issued.number) is issued
        assert arguments(session.request()) == {"command": COMMAND}


def test_the_edit_itself_can_be_undone_and_the_line_stays_true() -> None:
    with edited() as session:
        session.request()
        session.undo(1)
        assert turn(session, 3).content.text == "step 0"
        assert arguments(session.request()) == {"command": LINE}
        assert balanced(session)


# --- resumed ----------------------------------------------------------------------------------------


def crashed(session: Session, journal: SQLiteJournal, place: Path) -> SQLiteJournal:
    """The journal as the next process finds it."""
    shutil.copytree(journal.directory, place)
    session.close()
    journal.close()
    return SQLiteJournal(place)


@pytest.mark.parametrize("undone", [False, True])
def test_another_process_elides_what_this_one_did_not_come_to_and_nothing_twice(
    tmp_path: Path, undone: bool
) -> None:
    journal = SQLiteJournal(tmp_path / "one")
    session = edited(journal=journal)
    if undone:
        session.request()
        session.undo(2)
    with crashed(session, journal, tmp_path / "two") as second, Session.resume(second) as resumed:
        expected = COMMAND if undone else LINE
        assert arguments(resumed.request()) == {"command": expected}
        assert balanced(resumed)


# --- any arguments ----------------------------------------------------------------------------------

LEAF = st.text(max_size=20) | st.integers() | st.booleans() | st.none()
VALUES = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner)
)
EDIT = st.text(max_size=9).map(lambda text: f"{text} FILE {'x y ' * 60}")


def shape(value: object) -> object:
    """A value with each edit blanked out."""
    if isinstance(value, str):
        return "EDIT" if "FILE" in value or value == LINE else value
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=6), VALUES | EDIT, max_size=4), EDIT)
def test_arguments_stay_an_object_with_the_same_keys_and_everything_else(
    others: dict[str, Any], command: str
) -> None:
    given_ = {**others, "command": command}
    message = calling(
        {**call("", 1), "function": {"name": "bash", "arguments": json.dumps(given_)}}
    )
    live = Session([*HEAD, message, result("")], interface="none").live
    draft = elided(live, Issued(live.turns[2], {0: 1}), TAG, lambda _: lambda text: "FILE" in text)
    assert draft is not None
    assert draft.tokens < live.turns[2].tokens
    found = json.loads(draft.content.calls[0].arguments)
    assert shape(found) == shape(given_)
    assert found["command"] == LINE


def test_an_image_that_a_command_gave_is_an_output_too() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    answer = {**result(""), "content": [image]}
    live = Session([*HEAD, runs(COMMAND), answer], interface="none").live
    issued = Issued(live.turns[2], {0: 1})
    assert elided(live, issued, TAG, lambda _: lambda _: True) is None
