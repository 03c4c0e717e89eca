"""Recorded sessions with the context tools, on both routes: data that comes back byte for byte."""

from __future__ import annotations

import json

import pytest

from redraft.dialects import OpenAIChat
from redraft.dialects.fenced import Fenced
from redraft.testing import complaints
from redraft.testing.recorded import (
    Exchange,
    Replayed,
    Route,
    exchanges_of,
    play_tickets,
    record,
    recorded,
    recorded_lines,
)
from redraft.testing.tickets import make_ticket_task

ROUTES: tuple[Route, ...] = ("native", "fenced")
FORMATS = {"native": "openai-chat", "fenced": "fenced-chat"}


@pytest.mark.parametrize("route", ROUTES)
def test_a_session_sends_what_was_recorded_byte_for_byte(route: Route) -> None:
    task = make_ticket_task(10)
    model = Replayed(recorded(route))
    answer, _ = play_tickets(task, route, model=model)
    assert model.done
    assert task.grade(answer).score == 1


@pytest.mark.parametrize("route", ROUTES)
def test_made_anew_the_recording_is_the_same(route: Route) -> None:
    assert list(recorded_lines(record(route))) == list(recorded_lines(recorded(route)))


@pytest.mark.parametrize("route", ROUTES)
def test_the_provider_takes_every_request(route: Route) -> None:
    for exchange in recorded(route):
        assert complaints(FORMATS[route], {"model": "m", **exchange.request}) == []


@pytest.mark.parametrize("route", ROUTES)
def test_every_tool_of_the_model_is_called_in_it(route: Route) -> None:
    dialect = Fenced() if route == "fenced" else OpenAIChat()
    named = {
        call.name
        for exchange in recorded(route)
        for call in dialect.read(exchange.reply).content.calls
    }
    tools = {"status", "pin", "drop", "note"}
    assert named == {"bash", "read_overflow", *(f"context_{name}" for name in tools)}


def test_tools_are_offered_once_and_stay() -> None:
    native = [json.dumps(exchange.request["tools"]) for exchange in recorded("native")]
    assert len(set(native)) == 2
    assert native == sorted(native, key=len)
    note = "[redraft:4f2a] From now on you can manage your own context"
    offers = [
        sum(message["content"].startswith(note) for message in exchange.request["messages"])
        for exchange in recorded("fenced")
    ]
    assert offers == sorted(offers)
    assert offers[-1] == 1


def test_a_request_that_differs_is_named() -> None:
    first = recorded("native")[0]
    changed = {**first.request, "messages": [*first.request["messages"][:-1]]}
    with pytest.raises(AssertionError, match="not what was recorded"):
        Replayed([first]).complete(changed)
    with pytest.raises(AssertionError, match="ends before"):
        Replayed([]).complete(first.request)


def test_lines_hold_what_differs_from_the_request_before() -> None:
    one, two, three = ({"role": "user", "content": word} for word in "abc")
    exchanges = [
        Exchange({"messages": [one], "tools": []}, {"n": 1}),
        Exchange({"messages": [one, two], "tools": []}, {"n": 2}),
        Exchange({"messages": [three, two], "tools": [1]}, {"n": 3}),
    ]
    lines = list(recorded_lines(exchanges))
    assert [json.loads(line)["kept"] for line in lines] == [0, 1, 0]
    assert ["fields" in json.loads(line) for line in lines] == [True, False, True]
    assert list(exchanges_of(lines)) == exchanges
