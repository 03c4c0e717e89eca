"""The player for the context tools: in a context that is too small it succeeds because of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from redraft.agent import Agent, RunStatus
from redraft.events import ContextOp, Event
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings
from redraft.testing.fenced import in_fences
from redraft.testing.players import ScriptedModel
from redraft.testing.recorded import Route, play_tickets
from redraft.testing.tickets import TicketDesk, make_ticket_task
from redraft.testing.tool_player import ticket_player
from redraft.tokens import Meter

BUDGET = 16_000
TASK = make_ticket_task()
ROUTES: tuple[Route, ...] = ("native", "fenced")


@pytest.mark.parametrize("route", ROUTES)
def test_with_the_tools_it_answers_perfectly_and_appending_alone_fails(route: Route) -> None:
    told: list[Event] = []
    answer, session = play_tickets(TASK, route, budget=BUDGET, on_event=told.append)
    assert TASK.grade(answer).score == 1
    assert session.done
    appended, alone = play_tickets(TASK, route, tools=False, budget=BUDGET)
    assert TASK.grade(appended).score < 0.5
    assert alone.why
    ops = Counter(event.op for event in told if isinstance(event, ContextOp))
    assert set(ops) == {"status", "pin", "note", "drop", "read"}
    freed = sum(event.tokens_freed for event in told if isinstance(event, ContextOp))
    assert freed > session.limit


@pytest.mark.parametrize("seed", range(2, 6))
def test_the_task_does_not_hang_on_one_seed(seed: int) -> None:
    task = make_ticket_task(seed=seed)
    for route in ROUTES:
        answer, _ = play_tickets(task, route, budget=BUDGET)
        assert task.grade(answer).score == 1


@pytest.mark.parametrize("route", ROUTES)
def test_the_agent_plays_it_in_a_real_shell(tmp_path: Path, route: Route) -> None:
    TASK.write(tmp_path)
    fenced = route == "fenced"
    model = ScriptedModel(in_fences(ticket_player) if fenced else ticket_player)
    settings = Settings(
        budget=BUDGET + 1_000,  # the agent's own system prompt is longer
        interface="context-tools",
        tool_calls=route,
        agent_midturn_compact_pct=0.95,
    )
    with LocalSandbox(tmp_path) as sandbox:
        made = Agent(model, sandbox, task=TASK.prompt, settings=settings)
        result = made.run()
    assert result.status is RunStatus.FINISHED
    assert TASK.grade(result.answer).score == 1
    assert result.metrics.rollbacks == 0


def test_the_task_is_far_larger_than_the_budget_and_the_same_for_a_seed() -> None:
    assert sum(map(Meter().text, TASK.parts)) > 1.8 * BUDGET
    assert make_ticket_task() == TASK
    assert make_ticket_task(seed=2) != TASK


def test_parts_can_be_read_once() -> None:
    desk = TicketDesk(TASK)
    assert desk.run("./take 03") == (TASK.parts[2], 0)
    assert desk.run("./take 03")[1] == 1
    assert desk.run("rm -rf .")[1] == 1


def test_wrong_answers_are_graded_as_such() -> None:
    assert TASK.grade(" ".join(TASK.wanted)).score == 1
    assert TASK.grade("").score == 0
    assert TASK.grade(" ".join([*TASK.wanted, "ref=0000000000"])).score < 1
