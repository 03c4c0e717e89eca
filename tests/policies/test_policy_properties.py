"""What holds for every policy on whatever conversation: legal, nothing lost, smaller or untouched."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.context import Commit, Live, Origin, Revision, commit
from redraft.dialects import OPENAI_CHAT, OpenAIChat, check
from redraft.policies import (
    POLICIES,
    HierarchicalSummary,
    Hybrid,
    Manager,
    Need,
    Offload,
    Policy,
    SlidingWindow,
    StateRewrite,
    Summarize,
    ThresholdSummary,
    Tuning,
    View,
    critical,
    extract,
    preserved,
)
from redraft.testing.strategies import conversations
from redraft.tokens import Meter

CHAT = OpenAIChat()

SCHEDULED = sorted(POLICIES.keys() - {"append-only", "observation-mask", "pressure"})
"""Those that keep any conversation within its limit; the others have tests of their own."""

FAULTS = ("good", "nothing", "blank", "longer", "invented", "unsorted", "echo")


class Words:
    """One token a word, and one for each 20 characters, so that no text is free."""

    def count(self, text: str) -> int:
        return len(text.split()) + len(text) // 20


METER = Meter(Words())


def start(messages: Any) -> Live:
    frame, contents = CHAT.split({"messages": messages})
    return Live.start(CHAT, METER, frame, contents)


def summarizer(fault: str, need: Need) -> str:
    """A summarizer that does what `fault` says."""
    if not isinstance(need, Summarize):
        return ""
    good = extract(need.text, need.max_tokens, METER.text, need.sections)
    return {
        "good": good,
        "nothing": "",
        "blank": " \n\t ",
        "longer": f"{need.text}\n{need.text}\nand more",
        "invented": f"{good}\n8812934 rows were lost",
        "unsorted": "All went well so far.",
        "echo": need.text,
    }[fault]


def decided(policy: Policy, live: Live, limit: int, fault: str) -> Revision | None:
    """What a policy comes to, its needs met; it may not ask for ever."""
    given_to: dict[str, str] = {}
    for _ in range(4):
        decision = policy.decide(View(live, limit, given_to))
        if decision is None or isinstance(decision, Revision):
            return decision
        assert decision.key not in given_to, "it asks again for what it was given"
        given_to[decision.key] = summarizer(fault, decision)
    raise AssertionError("it asks for ever")


def eager() -> dict[str, Callable[[], Policy]]:
    """The policies with everything in their reach, so that short conversations exercise them."""
    window = SlidingWindow(0.0, 0.0, keep=0)
    return {
        "sliding-window": lambda: window,
        "threshold-summary": lambda: ThresholdSummary(0.0, fallback=window),
        "hierarchical-summary": lambda: HierarchicalSummary(0.0, keep=0, fallback=window),
        "state-rewrite": lambda: StateRewrite(keep=0, fallback=window),
        "offload": lambda: Offload(0.0, 0.0, keep=0, least=1, fallback=window),
        "hybrid": lambda: Hybrid(window, late=0.0, last=0.0),
        "manager": lambda: Manager(Tuning(0.0, 0.0, 0.0)),
    }


def holds(live: Live, revision: Revision, limit: int) -> Live:
    """Everything that may be asked of a policy's revision."""
    done = commit(live, revision, max(limit, live.tokens))
    assert isinstance(done, Commit), done.receipt
    assert done.live.tokens < live.tokens
    assert done.deltas.net > 0
    before = {issue.rule for issue in check(live.body()["messages"], OPENAI_CHAT)}
    after = {issue.rule for issue in check(done.live.body()["messages"], OPENAI_CHAT)}
    assert after <= before
    report = preserved(critical(live), done.live)
    assert report.ok, report.missing
    held = {turn.number: turn for turn in live.turns if turn.number in live.protected()}
    stays = {turn.number: turn for turn in done.live.turns}
    assert all(stays[number] is turn for number, turn in held.items())
    assert done.live.recount() == done.live.tokens
    return done.live


@settings(max_examples=60)
@given(conversations(), st.sampled_from(sorted(eager())), st.sampled_from(FAULTS), st.data())
def test_whatever_a_policy_does_is_legal_and_smaller_and_loses_nothing_critical(
    messages: Any, name: str, fault: str, data: Any
) -> None:
    for turn in messages:
        if isinstance(turn.get("content"), str) and turn["content"]:
            turn["content"] += " and so on" * data.draw(st.sampled_from((0, 40)))
    live = start(messages)
    live = live.pin(data.draw(st.sets(st.integers(1, max(len(live.turns), 1)), max_size=2)))
    limit = data.draw(st.integers(1, max(2 * live.tokens, 2)))
    revision = decided(eager()[name](), live, limit, fault)
    if revision is not None:
        holds(live, revision, limit)


def talk(chance: random.Random, at: int) -> list[Any]:
    """One exchange: a question, sometimes rounds of tools, an answer."""
    words = " ".join(chance.choice(("parse", "build", "cache", "tail", "why")) for _ in range(60))
    messages: list[Any] = [{"role": "user", "content": f"Look at part {at}. {words}"}]
    if at % 50 == 7:
        messages[0]["content"] += f" You must never touch /srv/data/{at}."
    for call in range(chance.randrange(3)):
        function = {"name": "bash", "arguments": f'{{"command": "cat {at}.{call}"}}'}
        name = f"c{at}_{call}"
        tool_call = {"id": name, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [tool_call]})
        body = f"commit {chance.randrange(16**12):012x}\n{words}\n" * chance.randrange(1, 4)
        messages.append({"role": "tool", "tool_call_id": name, "content": body})
    messages.append({"role": "assistant", "content": f"Part {at} is well. {words}"})
    return messages


@pytest.mark.parametrize("rounds", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCHEDULED)
def test_long_runs_with_a_faulty_summarizer_stay_legal_and_bounded(name: str, rounds: int) -> None:
    chance = random.Random(name)
    limit = 6_000
    live = start([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Task"}])
    policy = POLICIES[name]()
    acted = 0
    for at in range(rounds):
        live = live.append(CHAT.split({"messages": talk(chance, at)})[1])
        revision = decided(policy, live, limit, chance.choice(FAULTS))
        if revision is not None:
            acted += 1
            before, live = live, holds(live, revision, limit)
            if isinstance(policy, Manager):
                policy = policy.rotated(before, live, float(at), revision.notes[0])
    assert acted >= 1
    if name not in (
        "observation-mask",
        "pressure",
    ):  # those only shrink tools, or fold on a summary
        assert live.tokens < 1.1 * limit
    stated = [turn for turn in live.turns if "must never touch" in turn.content.text]
    assert len({t.number for t in stated if t.origin is Origin.ORIGINAL}) == len(
        range(7, rounds, 50)
    )


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_goes_by_the_name_that_it_is_registered_under(name: str) -> None:
    assert POLICIES[name]().name == name
