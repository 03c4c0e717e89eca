"""`observation-mask`: old results become one line, all that may at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from summary_world import CHAT, start

from redraft.context import (
    RECEIPT_CAP,
    Commit,
    Gate,
    Insert,
    Live,
    Origin,
    Revision,
    commit,
)
from redraft.policies import Need, ObservationMask, View
from redraft.testing.strategies import conversations


def rounds(*sizes: int) -> Live:
    """A task and one round of a size each: a call, and a result of so many words."""
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for at, size in enumerate(sizes):
        function = {"name": "bash", "arguments": "{}"}
        call = {"id": f"c{at}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": "w " * size})
    return start(*messages)


def masked(live: Live, revision: Revision | Need | None) -> list[int]:
    """The places of the rounds whose results were masked, by what the door made of it."""
    assert isinstance(revision, Revision)
    done = commit(live, revision, 10**9)
    assert isinstance(done, Commit), done.receipt
    results = [turn for turn in done.live.turns if turn.role == "tool"]
    return [at for at, turn in enumerate(results) if turn.origin is Origin.HARNESS]


class TestObservationMask:
    def test_it_waits_for_its_trigger(self) -> None:
        live = rounds(*[1_000] * 6)
        policy = ObservationMask(trigger=0.75)
        assert policy.decide(View(live, live.tokens * 4 // 3 + 10)) is None
        assert policy.decide(View(live, live.tokens * 4 // 3 - 10)) is not None

    def test_it_goes_down_to_a_target_well_below_the_trigger_oldest_first(self) -> None:
        live = rounds(*[1_000] * 10)
        limit = live.tokens
        revision = ObservationMask(trigger=0.75, target=0.5).decide(View(live, limit))
        assert masked(live, revision) == [0, 1, 2, 3, 4, 5]
        done = commit(live, revision, limit)  # type: ignore[arg-type]
        assert isinstance(done, Commit)
        assert done.live.tokens <= limit // 2
        assert ObservationMask().decide(View(done.live, limit)) is None

    @pytest.mark.parametrize(("keep", "stay"), [(0, 1), (1, 1), (3, 3)])
    def test_the_newest_rounds_stay_and_in_any_case_what_was_not_read_yet(
        self, keep: int, stay: int
    ) -> None:
        live = rounds(*[1_000] * 5)
        revision = ObservationMask(keep=keep, target=0).decide(View(live, 100))
        assert masked(live, revision) == list(range(5 - stay))

    def test_where_there_are_no_more_rounds_than_it_keeps_it_does_nothing(self) -> None:
        for count in range(4):
            live = rounds(*[1_000] * count)
            assert ObservationMask(keep=3).decide(View(live, 100)) is None

    def test_small_results_stay(self) -> None:
        live = rounds(1_000, 55, 56, 1_000, 1_000)
        revision = ObservationMask(keep=0, target=0, least=60).decide(View(live, 100))
        assert masked(live, revision) == [0, 2, 3]

    def test_it_does_not_propose_what_its_receipt_would_eat(self) -> None:
        live = rounds(RECEIPT_CAP, 1_000, 1_000, 1_000)
        assert ObservationMask().decide(View(live, 100)) is None

    def test_what_is_masked_is_not_masked_again(self) -> None:
        live = rounds(*[1_000] * 5)
        policy = ObservationMask(target=0)
        done = commit(live, policy.decide(View(live, 100)), 100)  # type: ignore[arg-type]
        assert isinstance(done, Commit)
        assert policy.decide(View(done.live, 100)) is None

    def test_pins_plans_and_the_round_in_progress_stay(self) -> None:
        live = rounds(*[1_000] * 4).pin([3])
        note = live.draft(CHAT.note("user", "w " * 900), Origin.SUMMARY)
        plan = commit(live, Revision("policy", "x", (), (Insert(5, note, plan=True),)), 10**9)
        assert isinstance(plan, Commit)
        function = {"name": "bash", "arguments": "{}"}
        calls = [{"id": name, "type": "function", "function": function} for name in "xy"]
        messages = [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "x", "content": "w " * 1_000},
        ]
        open_round = plan.live.append(CHAT.split({"messages": messages})[1])
        revision = ObservationMask(keep=0, target=0).decide(View(open_round, 100))
        assert isinstance(revision, Revision)
        assert [change.number for change in revision.changes] == [5, 7, 9]
        assert masked(open_round, revision) == [1, 2, 3]

    def test_it_must_conserve(self) -> None:
        live = rounds(*[1_000] * 5)
        revision = ObservationMask().decide(View(live, 100))
        assert isinstance(revision, Revision)
        assert (revision.author, revision.gate) == ("policy", Gate.CONSERVE)

    @given(conversations(), st.integers(1, 500), st.integers(0, 3), st.integers(0, 60))
    def test_whatever_it_proposes_the_door_takes_or_there_is_nothing_to_gain(
        self, messages: Any, limit: int, keep: int, least: int
    ) -> None:
        live = start(*messages)
        revision = ObservationMask(keep=keep, least=least).decide(View(live, limit))
        if revision is not None:
            done = commit(live, revision, limit)
            assert isinstance(done, Commit), done.receipt
            assert done.live.tokens < live.tokens
