"""What a session tells those who watch it: small plain values, in the order of things."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields

import pytest
from session_world import (
    HEAD,
    ask,
    fill,
    play,
    replaced,
    runs,
    says,
    user,
)

from redraft import Session, Settings
from redraft.errors import ContextOverflowError
from redraft.events import (
    EditJudged,
    Event,
    RequestMade,
    RolledBack,
    RoundEnded,
    event_from_dict,
    event_kinds,
)

KINDS = event_kinds()


def watched() -> list[Event]:
    """All that a busy session tells."""
    told: list[Event] = []
    with Session(
        HEAD, budget=12_000, gate="conserve", settings=Settings(margin=500), on_event=told.append
    ) as session:
        fill(session, 4)
        play(session, runs(replaced(3, 4, "settled")), prompt=1_000)
        play(session, runs("seq"), "word " * 5_000)
        play(session, runs(replaced(5, 8, "settled")))
        session.request()
        with session.answer():
            raise ContextOverflowError("too large")
        session.view([*HEAD, user("another history")])
        session.finish("enough")
        ask(session, says("what I have"))
    return told


def test_every_kind_has_a_type_and_a_sentence_of_its_own() -> None:
    assert len({kind.type for kind in KINDS}) == len(KINDS)
    assert all(kind.__doc__ and kind.__doc__ != Event.__doc__ for kind in KINDS)
    assert all(fields(kind)[0].name == "round" for kind in KINDS)


def test_events_are_plain_values_that_a_line_of_json_holds() -> None:
    told = watched()
    assert len({event.type for event in told}) > 7
    for event in told:
        values = json.loads(json.dumps(event.as_dict()))
        assert list(values)[:2] == ["type", "round"]
        assert event_from_dict(values) == event


def test_events_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        watched()[0].round = 7  # type: ignore[misc]


def test_a_round_is_told_in_its_order() -> None:
    told: list[Event] = []
    with Session(HEAD, on_event=told.append) as session:
        fill(session, 2)
        del told[:]
        play(session, runs(replaced(3, 4, "settled")))
        assert [event.type for event in told] == [
            "request_made",
            "reply_read",
            "edit_judged",
            "round_ended",
        ]
        assert [event.round for event in told] == [3, 3, 3, 3]


def test_the_figures_are_those_of_the_session() -> None:
    told: list[Event] = []
    with Session(HEAD, on_event=told.append) as session:
        fill(session, 2)
        play(session, runs(replaced(3, 4, "settled")))
        ended = [event for event in told if isinstance(event, RoundEnded)][-1]
        assert (ended.tokens, ended.limit, ended.cost) == (session.tokens, session.limit, 0)
        judged = next(event for event in told if isinstance(event, EditJudged))
        receipt = session.receipts[0]
        assert (judged.before, judged.after) == (receipt.before, receipt.after)
        assert (judged.author, judged.source, judged.number) == ("model", "file", 1)
        session.request()
        made = [event for event in told if isinstance(event, RequestMade)][-1]
        assert made.tokens == session.tokens
        assert 0 < made.reused_raw < made.raw == session.live.tokens


def test_a_rollback_tells_what_left() -> None:
    told: list[Event] = []
    with Session(HEAD, on_event=told.append) as session:
        fill(session, 60)
        before = {turn.number for turn in session.live.turns}
        tokens = session.tokens
        session.request()
        with session.answer():
            raise ContextOverflowError("too large")
        rolled = next(event for event in told if isinstance(event, RolledBack))
        assert set(rolled.turns) == before - {turn.number for turn in session.live.turns}
        assert (rolled.before, rolled.after, rolled.count) == (tokens, session.tokens, 1)
