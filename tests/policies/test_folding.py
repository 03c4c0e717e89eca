"""What may move, what pays, and what a policy does whose summary could not be had."""

from __future__ import annotations

from typing import Any

import pytest
from spectrum_world import Words, holds, start
from summary_world import asked_by, talk

from redraft.context import RECEIPT_CAP, Live, Revision
from redraft.dialects import OpenAIChat
from redraft.dialects.preserve import Approval, approval_line
from redraft.policies import (
    HierarchicalSummary,
    ObservationMask,
    Offload,
    SlidingWindow,
    ThresholdSummary,
    View,
)
from redraft.policies.folding import LEAST_GAIN, movable, pays, unread
from redraft.prompts import FELL_BACK
from redraft.tokens import Meter

CHAT = OpenAIChat()
METER = Meter(Words())


def called(name: str, text: str) -> list[Any]:
    call = {"id": name, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": text},
    ]


def rounds(*texts: str, tail: bool = True) -> Live:
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for at, text in enumerate(texts):
        messages += called(f"c{at}", text)
    messages += [{"role": "assistant", "content": "done"}] if tail else []
    return start(CHAT, {"messages": messages}, METER)


class TestPays:
    @pytest.mark.parametrize(
        ("limit", "freed", "worth"),
        [
            (10_000, 300, True),  # three hundredths of the limit
            (10_000, 299, False),
            (1_000, RECEIPT_CAP, False),  # no more than its receipt
            (1_000, RECEIPT_CAP + 1, True),
        ],
    )
    def test_a_step_frees_a_good_part_of_the_limit_and_more_than_its_receipt(
        self, limit: int, freed: int, worth: bool
    ) -> None:
        live = rounds("w " * 50)
        assert LEAST_GAIN == 0.03
        assert pays(View(live, limit), freed) is worth

    def test_or_it_brings_a_context_that_does_not_fit_within_its_limit(self) -> None:
        live = rounds("w " * 5_000)
        for over, worth in ((1, True), (20, True), (21, False), (0, False)):
            view = View(live, live.tokens - over)
            assert pays(view, RECEIPT_CAP + 20) is worth, over

    def test_a_mask_waits_until_there_is_enough_to_mask(self) -> None:
        small, held = "w " * 130, {"role": "system", "content": "w " * 9_000}
        few = [held, {"role": "user", "content": "task"}, *called("a", small), *called("b", small)]
        more = [one for name in "cdef" for one in called(name, small)]
        mask, done = ObservationMask(keep=0), {"role": "assistant", "content": "done"}
        live = start(CHAT, {"messages": [*few, done]}, METER)
        assert mask.decide(View(live, live.tokens * 10 // 9)) is None
        live = start(CHAT, {"messages": [*few, *more, done]}, METER)
        assert mask.decide(View(live, live.tokens * 10 // 9)) is not None

    @pytest.mark.parametrize("words", [100, 900])
    def test_a_summary_that_is_hardly_shorter_than_what_it_replaces_is_not_used(
        self, words: int
    ) -> None:
        held = {"role": "system", "content": "h " * 9_000}
        said = [{"role": "assistant", "content": "w " * 500} for _ in range(2)]
        messages = [held, {"role": "user", "content": "task"}, *said]
        live = start(CHAT, {"messages": messages}, METER)
        policy, limit = ThresholdSummary(), live.tokens
        need = asked_by(policy, live)
        revision = policy.decide(View(live, limit, {need.key: "w " * words}))
        assert isinstance(revision, Revision)
        assert bool(revision.inserts) is (words == 100)
        assert revision.notes == (() if words == 100 else (FELL_BACK,))


class TestUnread:
    def test_results_at_the_end_were_not_read_yet_and_their_call_stays_with_them(self) -> None:
        assert unread(rounds("x", "y", tail=False)) == {4, 5}
        assert unread(rounds("x", "y")) == frozenset()
        assert [group.head.number for group in movable(rounds("x", "y", tail=False))] == [2]
        assert [group.head.number for group in movable(rounds("x", "y"))] == [2, 4, 6]

    @pytest.mark.parametrize(
        "policy", [ObservationMask(target=0, keep=0), Offload(target=0, keep=0)]
    )
    def test_no_policy_stubs_them(self, policy: ObservationMask | Offload) -> None:
        live = rounds("w " * 900, "v " * 900, tail=False)
        revision = policy.decide(View(live, live.tokens))
        assert isinstance(revision, Revision)
        assert [change.number for change in revision.changes] == [3]


def test_a_mask_leaves_what_waits_for_an_approval_until_it_is_decided() -> None:
    waits = f"{'w ' * 900}\n{approval_line(Approval('ap_1', 'push'))}"
    live = rounds(waits, "v " * 900)
    mask = ObservationMask(target=0, keep=0)
    for now, numbers in ((live, [5]), (live.settle("ap_1"), [3, 5])):
        revision = mask.decide(View(now, now.tokens))
        assert isinstance(revision, Revision)
        assert [change.number for change in revision.changes] == numbers
        holds(now, revision, now.tokens)


@pytest.mark.parametrize("kind", [ThresholdSummary, HierarchicalSummary])
def test_the_window_steps_in_from_the_policys_own_trigger_and_goes_as_deep(kind: Any) -> None:
    """Else a summarizer that fails would be asked at every request until the window wakes at 75 %."""
    live = talk()
    limit, policy = live.tokens * 10 // 6, kind(trigger=0.5)
    need = asked_by(policy, live)
    view = View(live, limit)
    asked = policy.decide(view)
    revision = policy.decide(View(live, limit, {asked.key: "", need.key: ""}))
    assert isinstance(revision, Revision)
    assert revision.notes == (FELL_BACK,)
    after = holds(live, revision, limit)
    assert after.tokens <= limit / 3
    assert policy.decide(View(after, limit)) is None


def test_a_window_of_its_own_that_acts_earlier_and_deeper_stays_as_it_is() -> None:
    live = talk()
    deep = SlidingWindow(0.4, 0.1)
    policy = ThresholdSummary(0.5, fallback=deep)
    need = policy.decide(View(live, live.tokens))
    assert need is not None
    assert not isinstance(need, Revision)
    revision = policy.decide(View(live, live.tokens, {need.key: ""}))
    assert isinstance(revision, Revision)
    assert holds(live, revision, live.tokens).tokens <= live.tokens * 0.2
