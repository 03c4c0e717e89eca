"""Long runs of every policy through a session: never over the limit, never an illegal list, nothing lost,
the books exact, whatever the summarizer does."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest
from format_world import FORMATS, Story
from policy_world import Run, chancy, faulty, played

from redraft import Settings
from redraft.events import EditJudged, NeedUnmet, PolicyActed, SpentOutside
from redraft.policies import POLICIES, Summarize
from redraft.session.summarizers import Summary

SUMMARIZING = ("hierarchical-summary", "manager", "state-rewrite", "threshold-summary")
FAULTS = {
    "raises": "ConnectionError: the server is gone",
    "empty": "it gave nothing",
    "longer": "it is longer than",
    "wrong digit": "it failed the checks",
}


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_with_a_summarizer_that_fails_in_every_way(name: str) -> None:
    run = played(40, seed=name, policy=name, summarizer=chancy(name))
    assert (name == "append-only") is not run.told(PolicyActed)
    assert not run.session.rejections


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_five_hundred_rounds_of_every_policy(name: str) -> None:
    run = Run(seed=name, policy=name, summarizer=chancy(name))
    with run.session:
        at = 0
        while run.requests < 500:
            run.play(10, start=at)
            at += 10
        run.check()
        # A policy that compacts leaves nothing to the rollback; those that only touch tool results may.
        if name not in ("append-only", "observation-mask", "pressure"):
            assert run.session._controller.rollbacks.count == 0


@pytest.mark.parametrize("name", SUMMARIZING)
def test_with_a_good_summarizer_the_exact_values_are_there_after_each_rotation(name: str) -> None:
    run = played(40, seed=name, policy=name, summarizer=faulty("good"))
    acted = [event for event in run.told(PolicyActed) if event.method != "sliding-window"]
    assert acted
    assert [event.missing for event in acted] == [0] * len(acted)
    assert any(event.critical > 2 for event in acted)


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("name", SUMMARIZING)
def test_a_fault_of_the_summarizer_is_told_and_the_window_slides(name: str, fault: str) -> None:
    run = played(25, seed=name, policy=name, summarizer=faulty(fault))
    reasons = [event.why for event in run.told(NeedUnmet)]
    assert reasons
    assert all(why.startswith(FAULTS[fault]) for why in reasons), reasons
    methods = {event.method for event in run.told(PolicyActed)}
    assert methods <= {"sliding-window", "offload"}
    assert "sliding-window" in methods
    # Paid for all the same, unless nobody answered.
    assert bool(run.session.ledger.spend) is (fault != "raises")
    assert len(run.told(SpentOutside)) == len(run.session.ledger.spend)


@pytest.mark.parametrize("name", SUMMARIZING)
def test_one_that_hangs_costs_its_time_once_and_nothing_else(name: str) -> None:
    let_go = threading.Event()

    def hangs(need: Summarize, /) -> Summary:
        let_go.wait(60)
        return Summary("late")

    try:
        settings = Settings(summarizer_timeout=0.01)
        run = played(25, seed=name, policy=name, summarizer=hangs, settings=settings)
    finally:
        let_go.set()
    reasons = {event.why for event in run.told(NeedUnmet)}
    assert any("0.01 seconds" in why for why in reasons)
    assert run.told(PolicyActed)


def test_a_failing_summarizer_is_left_in_peace_for_longer_each_time() -> None:
    """`state-rewrite` wants a summary at every request."""
    run = played(40, policy="state-rewrite", summarizer=faulty("raises"))
    rounds = [event.round for event in run.told(NeedUnmet)]
    assert run.requests > 80
    assert len(rounds) < 20
    gaps = [b - a for a, b in itertools.pairwise(rounds)]
    assert gaps[0] <= 8
    assert max(gaps) > gaps[0]


# -- every wire format -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["offload", "sliding-window", "threshold-summary"])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_wire_format_stays_legal_under_a_policy(name: str, policy: str) -> None:
    events: list[Any] = []
    form = FORMATS[name]()
    settings = Settings(elide_edits="off", output_reserve=1_000)
    options: dict[str, Any] = {"policy": policy, "interface": "none", "settings": settings}
    story = Story(form, budget=9_000, on_event=events.append, **options)
    with story.session as session:
        for exchange in range(3):
            story.fill(10, words=120)
            story.ask(form.reply(f"part {exchange} is done", thinks="hm"))
            session.append(form.user("and on"))
        assert story.request() is not None
        assert session.live.recount() == session.live.tokens
    acted = [event for event in events if isinstance(event, PolicyActed)]
    assert acted
    assert all(event.after_raw < event.before_raw for event in acted)


def test_a_rotation_waits_where_it_would_void_the_reasoning_of_an_open_exchange() -> None:
    events: list[Any] = []
    form = FORMATS["anthropic"]()
    form.model = "claude-opus-5-5"  # type: ignore[misc]
    settings = Settings(elide_edits="off", output_reserve=1_000)
    story = Story(
        form,
        budget=12_000,
        on_event=events.append,
        policy="sliding-window",
        interface="none",
        settings=settings,
    )
    with story.session as session:
        while not any(isinstance(event, PolicyActed) for event in events):
            story.fill(1, words=120)
        judged = [event for event in events if isinstance(event, EditJudged)]
        assert judged[-1].status == "queued"
        assert session.live.older is not None
        # What is sent is the older view, and the policy does not ask for more meanwhile.
        count = len(judged)
        assert story.request() is not None
        assert len([event for event in events if isinstance(event, EditJudged)]) == count
