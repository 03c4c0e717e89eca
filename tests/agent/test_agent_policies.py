"""An agent under a policy: who summarizes, what it counts, what it costs, and how it is taken up again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_world import bash, say

from redraft.agent import Agent, OutsideCall, RunResult, metrics_of, run_cost
from redraft.cost import NoPrice, PriceCard, Rates
from redraft.events import NeedUnmet, PolicyActed, SpentOutside
from redraft.policies import ThresholdSummary
from redraft.sandbox import LocalSandbox
from redraft.session.summarizers import ModelSummarizer
from redraft.settings import Settings
from redraft.store import SQLiteJournal

SETTINGS = Settings(budget=8_000, max_steps=100)
PRINTS = 'for i in $(seq 40); do echo "line $i of a long listing that says nothing new"; done'


class Worker:
    """Runs so many commands and answers; asked for a summary, it writes one, and counts them."""

    name = "worker"

    def __init__(
        self, rounds: int = 20, summary: str = "- it listed lines that say nothing new"
    ) -> None:
        self.left = rounds
        self.summary = summary
        self.summaries = 0

    def complete(self, request: Mapping[str, Any]) -> object:
        words = str(request["messages"][0]["content"])
        if words.startswith("You shorten the record"):
            self.summaries += 1
            return self._reply(say(self.summary), 1_000, 50)
        if "This is your last turn" in str(request["messages"][-1]["content"]) or not self.left:
            return self._reply(say("done"), 2_000, 10)
        self.left -= 1
        return self._reply(bash(PRINTS), 2_000, 10)

    def _reply(self, message: Mapping[str, Any], prompt: int, output: int) -> object:
        usage = {"prompt_tokens": prompt, "completion_tokens": output}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[LocalSandbox]:
    place = tmp_path / "work"
    place.mkdir()
    with LocalSandbox(place, timeout=20) as made:
        yield made


def ran(model: Worker, sandbox: LocalSandbox, **options: Any) -> tuple[RunResult, list[Any]]:
    events: list[Any] = []
    fixed = {
        "task": "List it.",
        "settings": SETTINGS,
        "interface": "none",
        "on_event": events.append,
    }
    result = Agent(model, sandbox, **{**fixed, **options}).run()
    return result, events


def test_the_runs_own_model_summarizes_and_the_figures_say_so(sandbox: LocalSandbox) -> None:
    model = Worker()
    result, events = ran(model, sandbox, policy="threshold-summary")
    assert result.answer == "done"
    assert model.summaries == len(result.outside) > 0
    assert set(result.outside) == {OutsideCall("", 1_000, 50)}
    metrics = result.metrics
    assert metrics.rotations == {"threshold-summary": model.summaries}
    assert metrics.outside_tokens == 1_050 * model.summaries
    acted = [event for event in events if isinstance(event, PolicyActed)]
    assert metrics.rotated_tokens == sum(event.before - event.after for event in acted)
    assert metrics.rollbacks == 0
    assert metrics.as_dict()["rotations"] == {"threshold-summary": model.summaries}


def test_the_built_in_summarizer_asks_nobody(sandbox: LocalSandbox) -> None:
    model = Worker()
    result, _ = ran(model, sandbox, policy=ThresholdSummary(), summarizer="extractive")
    assert result.metrics.rotations
    assert (model.summaries, result.metrics.outside_tokens) == (0, 0)


def test_a_made_up_figure_is_told_and_counted(sandbox: LocalSandbox) -> None:
    model = Worker(summary="- row 8812934 was lost")
    result, events = ran(model, sandbox, policy="threshold-summary")
    assert result.metrics.unmet == len([e for e in events if isinstance(e, NeedUnmet)]) > 0
    assert {e.method for e in events if isinstance(e, PolicyActed)} == {"sliding-window"}


def test_another_model_summarizes_and_is_priced_by_its_own_price(sandbox: LocalSandbox) -> None:
    model, other = Worker(), Worker()
    other.name = "other"
    result, _ = ran(model, sandbox, policy="threshold-summary", summarizer=ModelSummarizer(other))
    calls = other.summaries
    assert model.summaries == 0
    assert set(result.outside) == {OutsideCall("other", 1_000, 50)}
    own = PriceCard("worker", "list", "1", Rates.of(2.0, 10.0))
    dear = PriceCard("other", "list", "1", Rates.of(20.0, 100.0))
    without = result.cost(own)
    assert without.money is not None
    assert any("of other not priced" in note for note in without.notes)
    both = result.cost(own, lambda name: dear if name == "other" else NoPrice("unknown"))
    assert both.money is not None
    extra = calls * (1_000 * 20.0 + 50 * 100.0) / 1e6
    assert both.money.usd == pytest.approx(without.money.usd + extra)
    assert any("of other" in note and note.startswith("$") for note in both.notes)


def test_calls_of_the_own_model_beside_the_window_cost_like_the_others() -> None:
    card = PriceCard("m", "list", "1", Rates.of(2.0, 10.0))
    for name in ("", "m"):
        cost = run_cost([], "m", card, outside=[OutsideCall(name, 1_000, 50)])
        assert cost.money is not None
        assert cost.money.usd == pytest.approx((1_000 * 2.0 + 50 * 10.0) / 1e6)
        assert cost.notes == ()


def test_compute_leaves_out_and_names_a_model_whose_shape_is_not_known() -> None:
    cost = run_cost([], "Qwen3-8B", outside=[OutsideCall("unheard-of", 1_000, 50)])
    assert cost.flops == 0
    assert any("unheard-of not in the compute" in note for note in cost.notes)
    known = run_cost([], "Qwen3-8B", outside=[OutsideCall("Qwen3-8B", 1_000, 50)])
    same = run_cost([], "Qwen3-8B", outside=[OutsideCall("", 1_000, 50)])
    assert known.flops == same.flops
    assert known.flops


def test_figures_are_made_of_events_alone() -> None:
    acted = PolicyActed(3, 1, 5.0, "manager", "offload", "why", 900, 400, 800, 350, 70, 4, 1)
    metrics = metrics_of(
        [SpentOutside(3, "manager", 60, 10, ""), acted, NeedUnmet(4, "x", "y", "z")]
    )
    assert metrics.rotations == {"manager": 1}
    assert (metrics.rotated_tokens, metrics.outside_tokens, metrics.unmet) == (500, 70, 1)
    assert (acted.saved_raw, acted.preserved) == (450, False)


def test_a_run_that_is_taken_up_goes_on_under_its_policy(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    place = tmp_path / "run"
    with SQLiteJournal(place) as journal:
        model = Worker(30)
        options: dict[str, Any] = {
            "task": "List it.",
            "settings": Settings(budget=8_000, max_steps=8),
            "interface": "none",
            "policy": "threshold-summary",
            "policy_options": {"trigger": "0.6"},
        }
        first = Agent(model, sandbox, journal=journal, **options).run()
        assert first.metrics.steps == 8
    with SQLiteJournal(place) as journal:
        agent = Agent.resume(model, sandbox, journal, max_steps=30)
        assert agent.session.policy == ThresholdSummary(trigger=0.6)
        result = agent.run()
    assert sum(result.metrics.rotations.values()) > sum(first.metrics.rotations.values())
    assert model.summaries == len(result.outside)
    assert result.metrics.outside_tokens == 1_050 * model.summaries
    assert len(agent.session.ledger.spend) == model.summaries
