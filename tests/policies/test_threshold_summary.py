"""`threshold-summary`: what it asks for, what it puts in, and what happens without a usable summary."""

from __future__ import annotations

import pytest
from summary_world import asked_by, decided_by, good, talk

from redraft.context import Commit, Live, Origin, Revision, commit
from redraft.policies import Summarize, ThresholdSummary, View
from redraft.policies.folding import CARRIED
from redraft.policies.sliding_window import FELL_BACK

POLICY = ThresholdSummary()


def asked(live: Live) -> Summarize:
    return asked_by(POLICY, live)


def answered(live: Live, answer: str) -> Revision:
    return decided_by(POLICY, live, answer)


def test_below_three_quarters_it_does_nothing() -> None:
    live = talk()
    assert POLICY.decide(View(live, live.tokens * 100 // 74)) is None


def test_the_whole_history_becomes_one_summary() -> None:
    live = talk()
    done = commit(live, answered(live, good(asked(live))), live.tokens)
    assert isinstance(done, Commit), done.receipt
    task, summary, question = done.live.turns
    assert (task.number, question.number) == (1, 12)
    assert summary.origin is Origin.SUMMARY
    assert summary.content.text.startswith("all went well")


def test_exact_values_that_the_summary_left_out_are_carried_forward() -> None:
    live = talk()
    (insert,) = answered(live, good(asked(live))).inserts
    assert insert.new.origin is Origin.SUMMARY
    text = insert.new.content.text
    assert CARRIED in text
    assert "- 3f2a91c07be0\n" in text


@pytest.mark.parametrize("fault", ["nothing", "blank", "longer", "one digit"])
def test_without_a_usable_summary_the_window_slides_and_says_so(fault: str) -> None:
    live = talk()
    need = asked(live)
    faults = {"nothing": "", "blank": " \n", "longer": "w " * (need.max_tokens + 1)}
    revision = answered(live, faults.get(fault, f"{good(need)}\ncommit 3f2a91c07bf3"))
    assert revision.source == POLICY.name
    assert revision.notes == (FELL_BACK,)
    assert revision.inserts == ()
    assert revision.changes[0].number == 2
