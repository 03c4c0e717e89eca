"""Whatever a model asks of the context tools: the list is legal, the books exact, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from context_tools_world import Call, FencedTools, Tools, body, quiet
from format_world import FORMATS
from hypothesis import given, settings
from hypothesis import strategies as st
from session_world import balanced, legal, user

from redraft import Session
from redraft.errors import UndoError
from redraft.session.rounds import Round
from redraft.store import SQLiteJournal, VolatileOverflow, cited_in

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = (
    "context_status",
    "context_pin",
    "context_unpin",
    "context_drop",
    "context_note",
    "read_overflow",
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[int]]:
    """A tool, its arguments but for the handles, and which of the handles there are it names."""
    name = draw(st.sampled_from(NAMES))
    picks = draw(st.lists(st.integers(0, 12), max_size=4))
    arguments: dict[str, Any] = {}
    if name == "context_note":
        arguments["note"] = draw(st.text(min_size=1, max_size=60) | st.just("n" * 4_001))
    if name == "context_unpin" and draw(st.booleans()):
        arguments["all"] = True
    if draw(st.integers(0, 9)) == 0:
        arguments[draw(st.sampled_from(["handles", "note", "top", "id", "odd"]))] = draw(JUNK)
    return name, arguments, picks


STEPS = st.one_of(
    st.tuples(st.just("work"), st.integers(1, 3)),
    st.tuples(st.just("use"), st.lists(calls(), min_size=1, max_size=3)),
    st.tuples(st.just("undo"), st.integers(0, 20)),
    st.tuples(st.just("pin"), st.integers(0, 12)),
    st.tuples(st.just("say"), st.none()),
)


def filled(call: tuple[str, dict[str, Any], list[int]], handles: list[str]) -> Call:
    """The call with handles of this context, a few of which it has not."""
    name, arguments, picks = call
    known = [*handles, "call_999", "r1.1", "r7"]
    named = [known[pick % len(known)] for pick in picks]
    takes = name not in ("context_status", "read_overflow")
    if takes and "handles" not in arguments and named:
        return name, {**arguments, "handles": named}
    if name == "read_overflow" and "id" not in arguments:
        return name, {"id": "0" * 64, **arguments}
    return name, arguments


class Player:
    """Takes the steps, and knows every result as it came."""

    def __init__(self, tools: Tools | FencedTools) -> None:
        self.tools = tools
        self.count = 0
        self.said: list[str] = []

    def step(self, kind: str, how: Any) -> None:
        session = self.tools.session
        match kind:
            case "work":
                words = [body(f"w{self.count + at}_", 40) for at in range(how)]
                self.count += how
                self.said += words
                self.tools.work(*words)
            case "use":
                handles = names(session)
                self.tools.use(*(filled(one, handles) for one in how))
            case "undo" if session._core.commits:
                numbers = list(session._core.commits)
                with contextlib.suppress(UndoError):
                    session.undo(numbers[how % len(numbers)])
            case "pin":
                turns = session.live.turns
                session.pin(turns[how % len(turns)].number)
            case "say":
                session.append(user("go on"))


def names(session: Session) -> list[str]:
    from redraft.tools.handles import Names

    made = Names(session.live)
    return [made.handle(turn) for turn in made.outputs]


def nothing_is_lost(session: Session, said: list[str], store: VolatileOverflow) -> None:
    """What is cited can be read; and once all is undone every result is there as it came."""
    for name in cited_in(session.journal.entries):  # type: ignore[attr-defined]
        store.read(name)
    session.unpin(*(turn.number for turn in session.live.turns))
    if session._core.commits:
        session.undo_since(0)
    now = [turn.content.text for turn in session.live.turns]
    assert all(any(words in text for text in now) for words in said)


@pytest.mark.parametrize("name", list(FORMATS))
@settings(max_examples=25)
@given(steps=st.lists(STEPS, min_size=1, max_size=12))
def test_any_calls_leave_a_legal_list_exact_books_and_lose_nothing(
    name: str, steps: list[tuple[str, Any]]
) -> None:
    store = VolatileOverflow()
    tools = Tools(FORMATS[name](), overflow=store, budget=200_000)
    with tools.session as session:
        player = Player(tools)
        for kind, how in steps:
            player.step(kind, how)
            tools.story.request()  # which checks that the list is legal
            assert balanced(session)
            assert session.live.pins == session._core.board.numbers
        nothing_is_lost(session, player.said, store)
        assert balanced(session)


@settings(max_examples=40)
@given(steps=st.lists(STEPS, min_size=1, max_size=12))
def test_so_it_is_on_a_fenced_route(steps: list[tuple[str, Any]]) -> None:
    store = VolatileOverflow()
    fenced = FencedTools(overflow=store, budget=200_000, settings=quiet())
    with fenced.session as session:
        player = Player(fenced)
        for kind, how in steps:
            player.step(kind, how)
            request = session.request()
            assert request is not None
            assert legal(request["messages"])
            assert "_tool_" not in json.dumps(request)
            assert balanced(session)
        nothing_is_lost(session, player.said, store)


@settings(max_examples=15)
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_another_process_goes_on_with_the_same_turns_pins_and_offers(
    steps: list[tuple[str, Any]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        with SQLiteJournal(Path(place)) as journal:
            switched = quiet(agent_context_tools_offer_round=2)
            tools = Tools(budget=200_000, journal=journal, settings=switched)
            with tools.session as session:
                player = Player(tools)
                for kind, how in steps:
                    player.step(kind, how)
                tools.story.request()
                before = known(session)
        with SQLiteJournal(Path(place)) as journal, Session.resume(journal) as session:
            assert known(session) == before
            assert balanced(session)


def known(session: Session) -> Any:
    offers = session._engine.toolsets[1].offers.values()  # type: ignore[attr-defined]
    turns = [(turn.number, turn.digest, str(turn.origin)) for turn in session.live.turns]
    request = session.request()
    return turns, session._core.board, session.live.pins, offers, json.dumps(request)


@settings(max_examples=60)
@given(
    arguments=st.dictionaries(
        st.sampled_from(["handles", "note", "id", "top", "all", "snippet"]), JUNK
    )
)
@pytest.mark.parametrize("name", NAMES)
def test_any_arguments_are_answered_in_words(name: str, arguments: dict[str, Any]) -> None:
    tools = Tools(budget=200_000)
    with tools.session as session:
        tools.work(body("alpha", 40))
        before = session.live.turns
        response = tools.form.reply("so", (name, arguments))
        done: Round = tools.story.play(response)
        assert done.calls == []
        assert (
            session.live.turns[-1].content.text.startswith("[redraft:beef] ")
            or name == "read_overflow"
        )
        assert len(tools.ops) == 1
        assert session.live.turns[: len(before)] == before or tools.ops[0].ok
        assert balanced(session)
