"""Edits under bound reasoning: they wait for the end of the exchange, or for the urgent band
(docs/design/bound-reasoning.md)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bound_server import BoundServer
from redraft import Session
from redraft.context import Change, Revision
from redraft.dialects import Anthropic
from redraft.errors import UndoError
from redraft.session.queue import BETA, dropping
from redraft.store import SQLiteJournal, VolatileJournal, inputs
from redraft.testing.binding import Binding

CONTROLLED = "claude-fable-5-1"
UNKNOWN = "a-model-that-nobody-described"
models = pytest.mark.parametrize("model", [CONTROLLED, UNKNOWN])


class Loop:
    """A client with an Anthropic server behind it that binds its thinking."""

    def __init__(self, model: str = CONTROLLED, **fields: Any) -> None:
        self.server = BoundServer()
        self.binding = Binding()
        self.bodies: list[dict[str, Any]] = []
        self.calls = 0
        fields = {"interface": "tool", "budget": 20_000, "window": 40_000, **fields}
        task = [{"role": "user", "content": "Do the task."}]
        self.session = Session(task, model=model, dialect=Anthropic(), **fields)

    def ask(self, *blocks: dict[str, Any], thinks: bool = True) -> dict[str, Any]:
        """One request, checked by two servers, and its answer."""
        body = self.session.request()
        assert body is not None
        self.bodies.append(body)
        asks = "block_binding" in body.get("thinking", {})
        if asks:
            assert BETA in self.session.headers["anthropic-beta"]
            assert list(self.binding.unfit(body)), "the control is asked for in vain"
        else:
            assert not self.session.headers
            self.server.ask(body)
            assert not list(self.binding.unfit(body))
        assert not list(self.binding.parted(body))
        thinking = [{"type": "thinking", "thinking": "since", "signature": ""}] if thinks else []
        content = self.binding.sign(body, [*thinking, *blocks])
        reply = {"role": "assistant", "content": content}
        self.server.said(body, reply)
        with self.session.answer() as answer:
            answer({"type": "message", "stop_reason": "end_turn", **reply})
        return body

    def round(self, output: str = "out", *, thinks: bool = True, **edit: Any) -> dict[str, Any]:
        """A round of one command, or of one edit."""
        self.calls += 1
        name, given = ("edit_context", {"edits": [edit]}) if edit else ("look", {"at": self.calls})
        block = {"type": "tool_use", "id": f"call_{self.calls}", "name": name, "input": given}
        body = self.ask({"type": "text", "text": f"step {self.calls}"}, block, thinks=thinks)
        with self.session.round() as now:
            for call in now.calls:
                now.result(call, output)
        return body

    def say(self, text: str = "done") -> dict[str, Any]:
        return self.ask({"type": "text", "text": text})

    def user(self, text: str = "more") -> None:
        self.session.append({"role": "user", "content": text})

    @property
    def last(self) -> str:
        return self.session.live.turns[-1].content.text

    def sent(self, at: int = -1) -> str:
        return str(self.bodies[at]["messages"])


def begun(model: str = CONTROLLED, rounds: int = 3, **fields: Any) -> Loop:
    loop = Loop(model, **fields)
    for at in range(rounds):
        loop.round(f"output {at} " + "word " * 40)
    return loop


@models
def test_an_edit_in_the_open_exchange_is_queued_and_says_until_when(model: str) -> None:
    loop = begun(model)
    loop.round(turn=3, text="noted")
    assert "accepted and queued" in loop.last
    assert "until this exchange ends" in loop.last
    assert str(loop.session.receipts[-1].status) == "queued"
    line = next(text for text in loop.last.splitlines() if "queued" in text)
    assert loop.session.live.meter.text(line) <= 64
    loop.round()
    assert "output 0" in loop.sent()
    assert "output 0" not in "".join(turn.content.text for turn in loop.session.live.turns)


@models
def test_queued_edits_take_effect_together_once_the_exchange_has_ended(model: str) -> None:
    loop = begun(model)
    loop.round(turn=3, text="noted three")
    loop.round(turn=5, text="noted five")
    loop.say()
    assert "output 0" not in str(loop.session.messages)
    loop.user()
    loop.round()
    assert "noted three" in loop.sent()
    assert "noted five" in loop.sent()
    assert "output 0" in loop.sent(-2)
    one, two = loop.bodies[-1]["messages"], loop.round()["messages"]
    assert two[: len(one)] == one


def test_the_file_shows_what_was_accepted(tmp_path: Path) -> None:
    loop = begun(interface="both", path=tmp_path)
    loop.round(turn=3, text="noted three")
    text = (tmp_path / "LIVE_CTX_MAIN.txt").read_text()
    assert "noted three" in text
    assert "output 0" not in text


def test_in_the_urgent_band_the_server_is_asked_to_drop_until_nothing_is_void() -> None:
    loop = begun(budget=6_500)
    loop.round(turn=3, text="noted")
    thoughts = loop.sent().count("signature")
    loop.round("word " * 1_200)
    while "block_binding" not in loop.round("word " * 300).get("thinking", {}):
        assert len(loop.bodies) < 20, "it was never urgent"
    body = loop.bodies[-1]
    assert body["thinking"] == {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert body["extra_headers"] == {"anthropic-beta": BETA}
    assert loop.sent().count("signature") >= thoughts
    assert "noted" in loop.sent()
    assert "thinking" in loop.round("small")
    loop.say()
    loop.user()
    assert "thinking" not in loop.round()


def test_without_the_control_the_newest_round_becomes_text() -> None:
    loop = begun(UNKNOWN, budget=6_500)
    loop.round(turn=3, text="noted")
    loop.round("word " * 1_200)
    while "kept as text" not in str(loop.round("word " * 300)["messages"]):
        assert len(loop.bodies) < 20, "it was never urgent"
    assert "[tool call, kept as text] look" in loop.sent()
    assert "[tool output, kept as text]" in loop.sent()
    assert "noted" in loop.sent()
    assert loop.sent().count("signature") == 1
    loop.round()


def test_a_framework_that_owns_the_loop_never_needs_the_control() -> None:
    session = Session([], model=CONTROLLED, dialect=Anthropic(), interface="tool", budget=9_000)
    binding = Binding()
    history: list[Any] = [{"role": "user", "content": "task"}]
    for at in range(14):
        sent = session.view(history)
        body = {"messages": sent, "system": session.live.frame.fields["system"]}
        assert not list(binding.unfit(body))
        assert not session.headers
        call = {"type": "tool_use", "id": f"c{at}", "name": "look", "input": {"at": at}}
        think = {"type": "thinking", "thinking": "since", "signature": ""}
        reply = {"role": "assistant", "content": binding.sign(body, [think, call])}
        answer = {"type": "tool_result", "tool_use_id": f"c{at}", "content": "word " * 400}
        history += [reply, {"role": "user", "content": [answer]}]
        if at == 3:
            session.view(history)
            session.edit_context(edits=[{"turn": 3, "text": "noted"}])
    assert "noted" in str(session.messages)


def test_a_rollback_never_waits() -> None:
    events: list[Any] = []
    loop = begun(UNKNOWN, budget=6_000, on_event=events.append)
    loop.round(turn=3, text="noted")
    for _ in range(6):
        loop.round("word " * 3_000)
    assert any(event.type == "rolled_back" for event in events)
    made = [event for event in events if event.type == "request_made"]
    assert all(event.tokens <= event.limit for event in made)
    assert loop.session.live.older is None


@models
def test_undo_of_a_queued_edit_leaves_what_is_sent_alone(model: str) -> None:
    loop = begun(model)
    loop.round(turn=3, text="noted")
    before = loop.session.live.outgoing.turns
    loop.session.undo(1)
    assert loop.session.live.older is None
    assert loop.session.live.turns == before
    loop.round()


def test_an_edit_between_exchanges_takes_effect_at_once() -> None:
    loop = begun()
    loop.say()
    turn = loop.session.live.turns[2]
    change = Change(turn.number, turn.digest, None)
    plan = loop.session.plan(Revision("model", "file", (change,)))
    assert not plan.waits
    assert plan.reasoning > 0
    loop.session.edit_context(edits=[{"turn": turn.number, "text": ""}])
    loop.user()
    loop.round()
    assert "output 0" not in loop.sent()


def test_thinking_that_came_with_the_messages_goes_for_the_session_tells_the_model_more() -> None:
    think = {"type": "thinking", "thinking": "since", "signature": "of another prompt"}
    said = {"role": "assistant", "content": [think, {"type": "text", "text": "answer"}]}
    messages = [{"role": "user", "content": "task"}, said, {"role": "user", "content": "more"}]
    fields: dict[str, Any] = {"model": CONTROLLED, "dialect": Anthropic()}
    with_section = Session(messages, interface="tool", **fields).request()
    untouched = Session(messages, interface="none", **fields).request()
    assert with_section is not None
    assert untouched is not None
    assert "signature" not in str(with_section["messages"])
    assert "signature" in str(untouched["messages"])


def test_observing_changes_nothing() -> None:
    loop = begun(mode="observe")
    loop.session.edit_context(edits=[{"turn": 3, "text": "noted"}])
    assert loop.session.live.older is None
    loop.round()


# -- the record -------------------------------------------------------------------------------------


def _recorded(loop: Loop) -> list[Any]:
    journal = loop.session.journal
    assert isinstance(journal, VolatileJournal)
    return [found.body(Anthropic()) for found in inputs(journal.entries)]


@models
def test_every_request_can_be_made_again_from_the_record(model: str) -> None:
    loop = begun(model, budget=6_500)
    loop.round(turn=3, text="noted")
    for _ in range(5):
        loop.round("word " * 500)
    loop.say()
    loop.user()
    loop.round()
    assert _recorded(loop) == loop.bodies


@models
@pytest.mark.parametrize("rounds", [0, 1, 6])
def test_a_resumed_session_sends_what_would_have_been_sent(
    model: str, rounds: int, tmp_path: Path
) -> None:
    journal = SQLiteJournal(tmp_path / "run", dialect=Anthropic())
    loop = begun(model, budget=6_500, journal=journal)
    loop.round(turn=3, text="noted")
    for _ in range(rounds):
        loop.round("word " * 500)
    wanted = loop.session.request()
    live = loop.session.live
    assert wanted is not None
    loop.session.close()
    journal.close()
    again = SQLiteJournal(tmp_path / "run", dialect=Anthropic())
    loop.session = Session.resume(again)
    assert (loop.session.live.older is None) == (live.older is None)
    assert loop.session.request() == wanted
    loop.round()
    loop.say()
    loop.user()
    loop.round()
    again.close()


# -- whatever happens -------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(st.sampled_from(("look", "big", "edit", "drop", "say", "undo")), st.integers(0, 40)),
    min_size=3,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from((CONTROLLED, UNKNOWN)), steps)
def test_no_session_sends_what_a_binding_server_refuses(
    model: str, script: list[tuple[str, int]]
) -> None:
    loop = Loop(model, budget=6_000)
    for kind, at in script:
        if loop.session.phase != "running":
            break
        turns = loop.session.live.editable()
        number = turns[at % len(turns)].number if turns else 0
        match kind:
            case "say":
                loop.say()
                loop.user()
            case "undo":
                with suppress(UndoError):
                    loop.session.undo(at % 5)
            case "edit" if number:
                loop.round(turn=number, text="noted", thinks=at % 4 != 0)
            case "drop" if number:
                loop.round(turn=number, text="", thinks=at % 4 != 0)
            case _:
                loop.round("word " * (700 if kind == "big" else 20), thinks=at % 4 != 0)
        assert loop.session.ledger.total().after is not None
        live = loop.session.live
        assert live.recount() == live.tokens
    assert _recorded(loop) == loop.bodies


# -- the control ------------------------------------------------------------------------------------


def test_the_control_keeps_what_the_client_asked_for() -> None:
    thinking = {"type": "enabled", "budget_tokens": 9, "block_binding": {"other": 1}}
    headers = {"x-mine": "1", "Anthropic-Beta": "one, two"}
    added = dropping({"thinking": thinking, "extra_headers": headers})
    binding = {"other": 1, "prefix_mismatch_behavior": "drop_block"}
    assert added["thinking"] == {**thinking, "block_binding": binding}
    assert added["extra_headers"] == {"x-mine": "1", "anthropic-beta": f"one,two,{BETA}"}


def test_the_control_joins_the_betas_that_the_sdk_would_lose_to_a_header() -> None:
    added = dropping({"betas": ["one"]})
    assert added["betas"] == ["one", BETA]
    assert "extra_headers" not in added
    assert dropping({"betas": [BETA]})["betas"] == [BETA]
