"""What holds for every policy on whatever conversation: legal, nothing lost, smaller or untouched."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from spectrum_world import (
    AT_ONCE,
    FAULTS,
    Heavy,
    Words,
    complained,
    decided,
    eager,
    holds,
    start,
    talk,
)

from redraft.context import RECEIPT_CAP, Commit, Insert, Live, Origin, Revision, commit
from redraft.dialects import OPENAI_CHAT, OpenAIChat, profile_of
from redraft.dialects.capabilities import capabilities_of
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import Piece, results_message
from redraft.dialects.rules import FENCED_CHAT
from redraft.policies import POLICIES, Manager, View, critical, preserved
from redraft.prompts import FELL_BACK, SPILLED
from redraft.testing.rehearsal import MODELS, dialect_named
from redraft.testing.strategies import conversations, requests
from redraft.tokens import Meter

CHAT = OpenAIChat()
METER = Meter(Words())
HEAVY = Meter(Heavy())
DIALECTS = ("anthropic", "gemini", "openai-chat", "openai-responses")

NAMES = sorted(eager())
BOUNDED = sorted(set(NAMES) - {"observation-mask"})
"""Those that keep any conversation within its limit; a mask only shrinks tools."""

every = pytest.mark.parametrize("name", NAMES)


def test_every_policy_is_among_them() -> None:
    assert set(NAMES) == POLICIES.keys() - {"append-only"}


def pinned(live: Live, data: Any) -> Live:
    return live.pin(data.draw(st.sets(st.integers(1, max(len(live.turns), 1)), max_size=2)))


@pytest.mark.parametrize("dialect", DIALECTS)
@every
@settings(max_examples=12)
@given(fault=st.sampled_from(FAULTS), data=st.data())
def test_on_every_wire_format_it_is_legal_and_smaller_and_loses_nothing_critical(
    name: str, dialect: str, fault: str, data: Any
) -> None:
    body = data.draw(requests(dialect, max_exchanges=3))
    form = dialect_named(dialect)
    binding = capabilities_of(MODELS[dialect], dialect).reasoning
    live = pinned(start(form, body, HEAVY, binding=binding), data)
    limit = data.draw(st.integers(1, 2 * live.tokens))
    revision, _ = decided(eager()[name](), live, limit, fault)
    if revision is not None:
        after = holds(live, revision, limit)
        _, refused = complained(body, after, profile_of(form, MODELS[dialect]))
        assert refused == []


@every
@settings(max_examples=25)
@given(messages=conversations(), fault=st.sampled_from(FAULTS), data=st.data())
def test_it_breaks_no_rule_of_the_wire_that_was_not_broken_before(
    name: str, messages: Any, fault: str, data: Any
) -> None:
    """Damaged conversations too: calls without results, ids that repeat, lone surrogates."""
    body = {"messages": messages}
    live = pinned(start(CHAT, body, HEAVY), data)
    revision, _ = decided(eager()[name](), live, live.tokens, fault)
    if revision is not None:
        before, _ = complained(body, live, OPENAI_CHAT)
        after, refused = complained(body, holds(live, revision, live.tokens), OPENAI_CHAT)
        assert after <= before
        assert refused == []


def fenced(sizes: list[list[int]]) -> Any:
    """A conversation of the fenced route: a round of results of these sizes for each list."""
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for number, some in enumerate(sizes, 1):
        fences = "\n\n".join(
            call_fence("bash", f'{{"command": "{at}"}}') for at in range(len(some))
        )
        pieces = [Piece(f"r{number}.{at + 1}", "bash", "x" * size) for at, size in enumerate(some)]
        messages += [
            {"role": "assistant", "content": f"look\n\n{fences}"},
            results_message(number, pieces),
        ]
    return {"messages": [*messages, {"role": "assistant", "content": "done"}]}


@every
@settings(max_examples=12)
@given(
    sizes=st.lists(st.lists(st.integers(0, 900), min_size=1, max_size=3), min_size=1, max_size=5),
    fault=st.sampled_from(FAULTS),
    data=st.data(),
)
def test_on_the_fenced_route_too(name: str, sizes: list[list[int]], fault: str, data: Any) -> None:
    body = fenced(sizes)
    live = pinned(start(Fenced(), body, HEAVY), data)
    revision, _ = decided(eager()[name](), live, live.tokens, fault)
    if revision is not None:
        after = holds(live, revision, live.tokens)
        _, refused = complained(body, after, FENCED_CHAT)
        assert refused == []
        calls = {call.id for turn in after.turns for call in turn.content.calls}
        assert calls == {turn.content.answers for turn in after.turns if turn.role == "tool"}


@every
@settings(max_examples=15)
@given(messages=conversations(), data=st.data())
def test_plans_and_what_was_not_read_yet_are_no_candidates(
    name: str, messages: Any, data: Any
) -> None:
    """DESIGN.md section 4, rule 9: nothing rewrites the rationale of an edit, nor the turn that issues
    one, nor the receipt in its result."""
    live = start(CHAT, {"messages": messages}, HEAVY)
    note = live.draft(CHAT.note("user", "why these spans " * 9), Origin.SUMMARY)
    last = live.turns[-1].number if live.turns else 0
    done = commit(live, Revision("policy", "x", (), (Insert(last, note, plan=True),)), 10**9)
    assume(isinstance(done, Commit))
    assert isinstance(done, Commit)
    function = {"name": "bash", "arguments": '{"command": "edit"}'}
    call = {"id": "zz", "type": "function", "function": function}
    edit = [
        {"role": "assistant", "content": "tidy " * 30, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "zz", "content": "edit 3 applied " * 30},
    ]
    live = done.live.append(CHAT.split({"messages": edit})[1])
    immune = {*done.live.plans, *(turn.number for turn in live.turns[-2:])}
    # At the limit and not over it: what does not fit at all is spilled even unread.
    revision, _ = decided(eager()[name](), live, live.tokens, data.draw(st.sampled_from(FAULTS)))
    touched = {change.number for change in revision.changes} if revision else set()
    assert not touched & immune


@every
def test_a_compaction_that_would_not_shrink_is_never_proposed(name: str) -> None:
    """DESIGN.md section 4, rule 10. What could go is worth just less, and just more, than a receipt."""
    for words in (1, RECEIPT_CAP // 3, RECEIPT_CAP - 4, RECEIPT_CAP, RECEIPT_CAP + 9, 200):
        said = {"role": "assistant", "content": "w " * words}
        messages = [
            {"role": "user", "content": "task"},
            said,
            {"role": "assistant", "content": "x"},
        ]
        live = start(CHAT, {"messages": messages}, METER)
        for fault in FAULTS:
            revision, _ = decided(eager()[name](), live, live.tokens, fault)
            if revision is not None:
                holds(live, revision, live.tokens)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", sorted(set(BOUNDED) - {"state-rewrite"}))
def test_after_it_acted_there_is_room_before_it_acts_again(name: str, fault: str) -> None:
    """Rule 10: the target lies well below the trigger, also where a summarizer fails."""
    chance = random.Random(name)
    live = start(CHAT, {"messages": [{"role": "user", "content": "Task"}]}, METER)
    for at in range(30):
        live = live.append(CHAT.split({"messages": talk(chance, at)})[1])
    policy, limit = POLICIES[name](), live.tokens
    # The pressure pass may spill at first, and go deep only when it stands at its ceiling again.
    for _ in range(2 if name == "pressure" else 1):
        while (revision := decided(policy, live, limit, fault)[0]) is not None:
            live = holds(live, revision, limit)
        limit = limit * 10 // 11
    assert policy.decide(View(live, limit)) is None


@pytest.mark.parametrize("rounds", [40, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*NAMES, "append-only"])
def test_long_runs_with_a_faulty_summarizer_stay_legal_and_bounded(name: str, rounds: int) -> None:
    chance = random.Random(name)
    limit = 6_000
    body = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Task"},
        ]
    }
    live = start(CHAT, body, METER)
    policy = POLICIES[name]()
    acted = 0
    for at in range(rounds):
        live = live.append(CHAT.split({"messages": talk(chance, at)})[1])
        revision, _ = decided(policy, live, limit, chance.choice(FAULTS))
        if revision is not None:
            acted += 1
            before, live = live, holds(live, revision, limit)
            if live.tokens <= limit or at % 50 == 0:
                broken, refused = complained(body, live, OPENAI_CHAT)
                assert (broken, refused) == (set(), [])
            if isinstance(policy, Manager):
                policy = policy.rotated(before, live, float(at), revision.notes[0])
        if name in BOUNDED:
            assert live.tokens <= limit, at
    assert (acted >= 1) == (name != "append-only")
    assert acted < rounds / 2 or name == "state-rewrite"
    stated = [turn for turn in live.turns if "must never touch" in turn.content.text]
    assert len({t.number for t in stated if t.origin is Origin.ORIGINAL}) == len(
        range(7, rounds, 50)
    )


SUMMARIZING = (
    "hierarchical-summary",
    "manager",
    "pressure",
    "state-rewrite",
    "threshold-summary",
)


@pytest.mark.parametrize("name", SUMMARIZING)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_a_summary_with_one_changed_digit_is_never_used(name: str, seed: int) -> None:
    chance = random.Random(seed)
    live = start(CHAT, {"messages": [{"role": "user", "content": "Task"}]}, METER)
    for at in range(14):
        live = live.append(CHAT.split({"messages": talk(chance, at)})[1])
    policy = POLICIES[name]()
    if isinstance(policy, Manager):  # past its first rotation, so that it summarizes
        policy = policy.rotated(live, live, 0.0, "sliding-window: x")
    limit = live.tokens
    right, need = decided(policy, live, limit, "good")
    assume(need is not None)
    assert right is not None
    assert right.inserts, right.notes
    wrong, again = decided(policy, live, limit, "one digit")
    assert again == need
    if wrong is not None:
        assert not [one for one in wrong.inserts if one.new.origin is Origin.SUMMARY]
        assert {FELL_BACK, SPILLED} & set(wrong.notes)
        assert preserved(critical(live), holds(live, wrong, limit)).ok


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_goes_by_the_name_that_it_is_registered_under(name: str) -> None:
    assert POLICIES[name]().name == name


def test_an_eager_trigger_is_still_a_trigger() -> None:
    assert 0 < AT_ONCE < 1e-6
