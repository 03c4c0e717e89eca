"""`state-rewrite`: what it asks for, what it puts in, and what happens without a usable summary."""

from __future__ import annotations

import pytest
from summary_world import CHAT, asked_by, decided_by, good, talk

from redraft.context import Commit, Live, Origin, Revision, commit
from redraft.policies import StateRewrite, Summarize, View
from redraft.policies.folding import CARRIED
from redraft.policies.sliding_window import FELL_BACK

POLICY = StateRewrite()


def asked(live: Live) -> Summarize:
    return asked_by(POLICY, live)


def answered(live: Live, answer: str) -> Revision:
    return decided_by(POLICY, live, answer)


def test_it_writes_the_state_anew_at_every_turn_however_much_room_there_is() -> None:
    live = talk()
    need = POLICY.decide(View(live, 1_000_000))
    assert isinstance(need, Summarize)
    revision = POLICY.decide(View(live, 1_000_000, {need.key: good(need)}))
    assert isinstance(revision, Revision)
    done = commit(live, revision, 1_000_000)
    assert isinstance(done, Commit), done.receipt
    more = CHAT.split({"messages": [{"role": "assistant", "content": "w " * 900}] * 2})[1]
    again = POLICY.decide(View(done.live.append(more), 1_000_000))
    assert isinstance(again, Summarize)
    assert "all went well" in again.text  # the last state is part of the next one


def test_with_room_left_a_summarizer_that_fails_changes_nothing() -> None:
    live = talk()
    need = asked(live)
    roomy = POLICY.decide(View(live, 1_000_000))
    assert isinstance(roomy, Summarize)
    assert POLICY.decide(View(live, 1_000_000, {roomy.key: "", need.key: ""})) is None


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
