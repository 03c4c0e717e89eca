"""What an edit breaks is known before it commits."""

from __future__ import annotations

from typing import Any

import pytest
from bound_world import BOUND, FREE, PLENTY, Run, Speaker, begun, play, scripts
from context_world import METER, drop, insert, start, user
from hypothesis import given, settings

from redraft.context import Change, Commit, Gate, Live, Origin, Revision, Status, commit, plan_edit
from redraft.dialects import Anthropic


def revision(run: Run, number: int, text: str | None = None, **fields: Any) -> Revision:
    turn = run.turn(number)
    new = None if text is None else run.rewritten(turn, text)
    return Revision("model", "file", (Change(number, turn.digest, new),), **fields)


def test_a_plan_tells_the_first_changed_turn_and_what_must_be_read_again() -> None:
    run = begun(FREE, 3, strict=False)
    plan = run.live.plan(revision(run, 5, "short"), PLENTY)
    assert plan.first == 5
    assert plan.reread == sum(t.tokens for t in run.live.turns if t.number > 5) + 1 + 4
    assert (plan.status, plan.waits, plan.reasoning) == (Status.APPLIED, False, 0)
    assert plan.passes


def test_a_plan_names_a_turn_that_goes_and_one_that_comes() -> None:
    live = start(user("task"), user("one"), user("two"))
    live = live.append([live.dialect.note("assistant", "answer")])
    gone = Revision("model", "file", (drop(live, 2),))
    assert live.plan(gone, PLENTY).first == 2
    new = Revision("model", "file", (), (insert(live, 2, "a note"),))
    assert live.plan(new, PLENTY).first == live.next_number


def test_a_plan_tells_the_reasoning_that_is_lost_and_that_it_must_wait() -> None:
    run = begun(BOUND, 3)
    plan = run.live.plan(revision(run, 3, "short"), PLENTY)
    assert (plan.status, plan.waits) == (Status.QUEUED, True)
    assert plan.reasoning == sum(t.reasoning for t in run.live.turns if t.number > 3)
    ended = begun(BOUND, 3, 0)
    later = ended.live.plan(revision(ended, 3, "short"), PLENTY)
    assert (later.status, later.waits) == (Status.APPLIED, False)
    assert later.reasoning > 0


def test_a_plan_tells_the_rule_that_would_refuse_and_the_size_it_refuses() -> None:
    run = begun(BOUND, 2)
    long = revision(run, 3, "word " * 50, gate=Gate.SHRINK)
    plan = run.live.plan(long, PLENTY)
    assert plan.status is Status.REJECTED
    assert not plan.passes
    assert "shrink" in plan.rule
    assert plan.after > plan.before == run.live.tokens
    assert plan.net == 0


def test_a_check_of_the_clients_is_asked_too() -> None:
    run = begun(BOUND, 2)
    plan = plan_edit(run.live, revision(run, 3, "short"), PLENTY, [lambda _: "not on a Monday"])
    assert (plan.status, plan.rule) == (Status.REJECTED, "not on a Monday")


def marked() -> Live:
    mark = {"cache_control": {"type": "ephemeral"}}
    blocks = [
        {"type": "tool_result", "tool_use_id": "a", "content": "out a", **mark},
        {"type": "tool_result", "tool_use_id": "b", "content": "out b"},
        {"type": "text", "text": "words", **mark},
    ]
    use = [{"type": "tool_use", "id": name, "name": "look", "input": mark} for name in "ab"]
    frame, contents = Anthropic().split(
        {
            "system": [{"type": "text", "text": "s", **mark}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "task", **mark}]},
                {"role": "assistant", "content": use},
                {"role": "user", "content": blocks},
                {"role": "assistant", "content": "answer"},
            ],
        }
    )
    return Live.start(Anthropic(), METER, frame, contents)


@pytest.mark.parametrize(("number", "broken"), [(3, 2), (4, 1), (2, 2), (6, 0)])
def test_a_plan_counts_the_cache_markers_at_and_behind_the_change(number: int, broken: int) -> None:
    live = marked()
    turn = next(turn for turn in live.turns if turn.number == number)
    new = None
    if turn.content.calls or turn.role == "tool":
        written = live.dialect.write(turn.content, "short", turn.content.calls, ())
        new = live.draft(written, Origin.EDITED)
    change = Revision("model", "file", (Change(number, turn.digest, new),))
    assert live.plan(change, PLENTY).breakpoints == broken


@settings(max_examples=40)
@given(scripts)
def test_a_plan_says_what_the_door_then_does_and_changes_nothing(script: list) -> None:
    run = play(Speaker(Anthropic(), "bound"), script)
    for turn in list(run.live.editable())[:6]:
        change = Revision("model", "file", (Change(turn.number, turn.digest, None),))
        before = run.live.turns
        plan, answer = run.live.plan(change, PLENTY), commit(run.live, change, PLENTY)
        assert run.live.turns is before
        assert plan.status is answer.receipt.status
        assert plan.passes is isinstance(answer, Commit)
        if isinstance(answer, Commit):
            assert plan.after == answer.live.tokens
            assert plan.waits is (answer.live.older is not None)
