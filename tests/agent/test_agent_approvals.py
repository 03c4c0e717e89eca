"""An agent whose calls may wait for a person: it stops, and goes on once that is decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_world import Scripted, bash, say

from redraft.agent import Agent, CommandStarted, RunStatus
from redraft.events import ApprovalAsked, ApprovalSettled, Event, RunEnded
from redraft.sandbox import LocalSandbox
from redraft.session import Approval, Rejection, ToolCall
from redraft.settings import Settings
from redraft.store import SQLiteJournal, run_info


def waits(call: ToolCall) -> Approval | None:
    return Approval() if "touch" in call["command"] else None


class World:
    """One run in one place, in several processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.events: list[Event] = []
        (home / "work").mkdir()

    def go(self, *script: object, decide: Any = None, **options: Any) -> tuple[Agent, Scripted]:
        model = Scripted(*script)
        run = self.home / "run"
        with LocalSandbox(self.home / "work", timeout=20) as sandbox, SQLiteJournal(run) as journal:
            options = {"approver": waits, "on_event": self.events.append, **options}
            if journal.blank:
                settings = Settings(budget=8_000)
                path = run / "context"
                agent = Agent(
                    model,
                    sandbox,
                    task="Do it.",
                    settings=settings,
                    journal=journal,
                    path=path,
                    **options,
                )
            else:
                agent = Agent.resume(model, sandbox, journal, path=run / "context", **options)
            if decide is not None:
                decide(agent.session)
            agent.run()
        return agent, model

    @property
    def there(self) -> bool:
        return (self.home / "work" / "seen").exists()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_run_stops_where_a_call_waits_and_makes_it_once_it_is_approved(world: World) -> None:
    agent, model = world.go(bash("ls"), bash("touch seen; echo made"), say("never"))
    result = agent.result
    assert result.status is RunStatus.WAITING
    assert result.why == "approval a2.1 is asked for: bash: touch seen; echo made"
    assert result.answer == ""
    assert len(model.requests) == 2
    assert not world.there
    assert run_info(world.home / "run").status == "waiting"
    assert ApprovalAsked(2, "a2.1", "bash", "bash: touch seen; echo made") in world.events

    # Nobody has decided: the model is not asked.
    agent, model = world.go(say("never"))
    assert agent.result.status is RunStatus.WAITING
    assert model.requests == []

    agent, model = world.go(say("Done."), decide=lambda session: session.approve("a2.1"))
    assert world.there
    assert agent.result.status is RunStatus.FINISHED
    told = str(model.requests[0]["messages"][-1]["content"])
    assert "approval a2.1 granted: result of bash\nmade" in told
    assert "approval pending" not in told
    assert world.events[-1] == RunEnded(3, "finished", "")
    assert ApprovalSettled(2, "a2.1", in_place=True) in world.events
    commands = [event.command for event in world.events if isinstance(event, CommandStarted)]
    assert commands == ["ls", "touch seen; echo made"]


def test_what_is_refused_is_told_and_not_run(world: World) -> None:
    world.go(bash("touch seen"))
    agent, model = world.go(say("Then not."), decide=lambda session: session.reject("a1.1", "no"))
    assert not world.there
    assert agent.result.answer == "Then not."
    assert "approval a1.1 rejected" in str(model.requests[0]["messages"][-1]["content"])


def test_an_approver_may_ask_at_once(world: World) -> None:
    def person(call: ToolCall) -> Rejection | None:
        return Rejection("not here") if "touch" in call["command"] else None

    agent, model = world.go(bash("touch seen"), bash("echo fine"), say("ok"), approver=person)
    assert agent.result.status is RunStatus.FINISHED
    assert not world.there
    assert "not here" in str(model.requests[1]["messages"][-1]["content"])


def test_a_replayed_call_that_cannot_be_run_says_why(world: World) -> None:
    def every(call: ToolCall) -> Approval:
        return Approval("x")

    call = bash("x")
    call["tool_calls"][0]["function"]["name"] = "fly"
    world.go(call, approver=every)
    agent, model = world.go(say("ok"), decide=lambda session: session.approve("x"), approver=None)
    assert agent.result.status is RunStatus.FINISHED
    assert "approval x granted: result of fly" in str(model.requests[0]["messages"][-1]["content"])


def test_steps_are_counted_as_ever(world: World) -> None:
    world.go(bash("touch seen"))
    agent, _ = world.go(say("ok"), decide=lambda session: session.approve("a1.1"))
    metrics = agent.result.metrics
    assert (metrics.steps, metrics.rounds, metrics.commands) == (1, 2, 1)
