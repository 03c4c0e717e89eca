"""Agents whose model acts on its own memory: scripted players on the real loop, on both routes of calls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from redraft.agent import Agent, RunResult, RunStatus
from redraft.events import ContextOp, Event, RolledBack
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings
from redraft.testing.action_players import branching_player, compacting_player, memory_player
from redraft.testing.alerts import AlertTask, make_alert_task
from redraft.testing.fenced import in_fences
from redraft.testing.players import Player, ScriptedModel

PLAYERS: dict[str, tuple[Player, int, int]] = {
    "fold": (branching_player, 15, 11_000),
    "offload-and-retrieve": (memory_player, 9, 11_000),
    "self-compact": (compacting_player, 12, 11_000),
}
"""The player, how many parts its task has (about 1,500 tokens each in a context), and the budget."""


def run(
    policy: str, place: Path, *, fenced: bool = False, tools: bool = True
) -> tuple[AlertTask, RunResult, list[Event]]:
    player, parts, budget = PLAYERS[policy]
    task = make_alert_task(parts, 3)
    task.write(place)
    events: list[Event] = []
    settings = Settings(
        max_steps=10 * parts,
        rollback_max=50 if tools else 0,
        tool_calls="fenced" if fenced else "native",
    )
    with LocalSandbox(place) as sandbox:
        agent = Agent(
            ScriptedModel(in_fences(player) if fenced else player),
            sandbox,
            task=task.prompt,
            budget=budget,
            interface="none",
            settings=settings,
            policy=policy if tools else "append-only",
            on_event=events.append,
        )
        return task, agent.run(), events


@pytest.mark.parametrize("fenced", [False, True], ids=["native", "fenced"])
@pytest.mark.parametrize("policy", sorted(PLAYERS))
def test_a_player_with_its_tools_does_a_task_larger_than_its_context(
    policy: str, fenced: bool, tmp_path: Path
) -> None:
    task, result, events = run(policy, tmp_path, fenced=fenced)
    assert result.status is RunStatus.FINISHED
    assert task.grade(result.answer).score == 1.0
    assert result.metrics.peak_tokens <= result.metrics.limit
    done = Counter(event.op for event in events if isinstance(event, ContextOp) and event.ok)
    rollbacks = sum(isinstance(event, RolledBack) for event in events)
    match policy:
        case "fold":
            assert done["branch"] == done["return"] >= 5
            assert rollbacks == 0
        case "self-compact":
            assert done["compact"] >= 2
            assert rollbacks == 0
        case _:  # nothing is evicted, so the harness must make room; the memory makes up for it
            assert rollbacks >= 1
            assert done["store"] >= 9
            assert done["fetch"] >= rollbacks


@pytest.mark.parametrize("policy", sorted(PLAYERS))
def test_without_its_tools_the_same_player_is_stopped_by_its_context(
    policy: str, tmp_path: Path
) -> None:
    task, result, _ = run(policy, tmp_path, tools=False)
    assert result.status is RunStatus.STOPPED
    assert task.grade(result.answer).score < 1.0
