"""The fenced route in tests: players that write fences, a server that takes nothing else, rehearsals."""

from __future__ import annotations

import random
from typing import Any

import openai
import pytest
from hypothesis import HealthCheck, given, settings

from redraft import Session
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_results import Piece, results_message, stripped
from redraft.testing import FakeServer, complaints, in_fences, refused_in_fences
from redraft.testing.edits import random_script
from redraft.testing.fenced import fenced_message, fenced_request, native_request
from redraft.testing.players import bash_call
from redraft.testing.rehearsal import Rehearsal
from redraft.testing.strategies import edit_scripts, requests
from redraft.testing.trials import door_trial, session_trial

TASK = [{"role": "system", "content": "s"}, {"role": "user", "content": "task"}]
BODY: dict[str, Any] = {"model": "m", "messages": TASK}


def player(request: Any) -> Any:
    """Looks once, then answers with what it saw."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return {"role": "assistant", "content": last["content"].splitlines()[0]}
    return bash_call("ls", len(request["messages"]))


def test_over_a_socket_nothing_but_texts_is_sent() -> None:
    with FakeServer(in_fences(player), check=refused_in_fences) as server:
        gemma = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        with Session(TASK, dialect=Fenced(), tools=[], interface="tool", budget=30_000) as session:
            while request := session.request():
                with session.answer() as answer:
                    answer(gemma.chat.completions.create(model="gemma-3", **request))
                with session.round() as now:
                    for call in now.calls:
                        now.result(call, "a.txt")
        assert session.messages[-1]["content"] == "a.txt"
        assert [sorted(request) for request in server.requests] == [["messages", "model"]] * 2


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"tools": []}, "tools"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"_private": 1}, "_private"),
        ({"messages": [*TASK, {"role": "tool", "tool_call_id": "c", "content": "x"}]}, "role"),
        ({"messages": [{**TASK[1], "_tool_round": 1}]}, "_tool_round"),
        ({"messages": [results_message(1, [Piece("r1.1", "bash", "x")])]}, "_tool_segments"),
        ({"messages": [*TASK, bash_call("ls", 1)]}, "tool_calls"),
    ],
)
def test_the_server_refuses_what_is_no_text_of_a_role(more: Any, named: str) -> None:
    found = complaints("fenced-chat", {**BODY, **more})
    assert any(named in one.param for one in found)
    assert refused_in_fences({**BODY, **more})


def test_the_server_takes_texts() -> None:
    framed = stripped(results_message(1, [Piece("r1.1", "bash", "x")]))
    fenced = fenced_message(bash_call("ls", 1))
    assert complaints("fenced-chat", {**BODY, "messages": [*TASK, fenced, framed]}) == []


def test_a_player_sees_native_calls_results_and_the_names_of_tools() -> None:
    seen: list[Any] = []

    def watching(request: Any) -> Any:
        seen.append(request)
        return player(request)

    with Session(TASK, dialect=Fenced(), interface="both", budget=30_000) as session:
        for _ in range(2):
            request = session.request()
            assert request is not None
            with session.answer() as answer:
                answer(in_fences(watching)(request))
            with session.round() as now:
                for call in now.calls:
                    now.result(call, "a.txt")
    assert [tool["function"]["name"] for tool in seen[-1]["tools"]] == ["edit_context"]
    call, result = seen[-1]["messages"][-2:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] == "r1.1"


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(requests("openai-chat"))
def test_a_native_history_in_fences_is_one_that_the_dialect_reads(body: Any) -> None:
    plain = [m for m in body["messages"] if m["role"] in ("user", "assistant", "tool", "system")]
    request = fenced_request({"messages": plain})
    dialect = Fenced()
    frame, contents = dialect.split(request)
    joined = dialect.join(frame, contents)["messages"]
    assert joined == [stripped(message) for message in request["messages"]]
    native_request({"messages": joined})  # any such list can be shown to a player


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(requests("fenced-chat"), edit_scripts())
def test_whatever_is_edited_in_any_history_the_server_takes_it(body: Any, script: Any) -> None:
    assert door_trial("fenced-chat", body, script) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("budget", [None, 9_000])
def test_whatever_happens_in_a_session_the_server_takes_it(seed: int, budget: int | None) -> None:
    with Rehearsal("fenced-chat", BODY, budget=budget) as rehearsal:
        rehearsal.run(random_script(random.Random(seed), 14))
        live = rehearsal.session.live
        assert rehearsal.refusals == []
        assert live.recount() == live.tokens
        names = [call.id for turn in live.turns for call in turn.content.calls]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_at_the_door_the_server_takes_it(seed: int) -> None:
    script = random_script(random.Random(seed), 14)
    assert door_trial("fenced-chat", BODY, script) == []
    assert session_trial("fenced-chat", BODY, script) == []
