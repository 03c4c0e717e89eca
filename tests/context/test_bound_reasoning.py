"""Reasoning is never sent behind anything but what it was made under (DESIGN.md section 9)."""

from __future__ import annotations

import itertools

import pytest
from bound_world import BOUND, BOUND_CHAT, DROPPED, FREE, Run, Speaker, begun, play, scripts
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.context import (
    Commit,
    Effect,
    Live,
    Origin,
    Refusal,
    Revision,
    Status,
    exchange_at,
    flattening,
    groups,
    invert,
    void,
)

BINDING = (BOUND, BOUND_CHAT, DROPPED)
bound = pytest.mark.parametrize("speaker", BINDING, ids=lambda one: one.dialect.name)
bindings = st.sampled_from(BINDING)


def status(answer: Commit | Refusal) -> Status:
    return answer.receipt.status


# -- what always holds ------------------------------------------------------------------------------


@settings(max_examples=120)
@given(bindings, scripts)
def test_no_request_holds_reasoning_behind_another_prefix(speaker: Speaker, script: list) -> None:
    play(speaker, script)  # the server refuses what it must


@pytest.mark.slow
@settings(max_examples=3_000)
@given(bindings, scripts)
def test_no_request_holds_reasoning_behind_another_prefix_in_depth(
    speaker: Speaker, script: list
) -> None:
    play(speaker, script)


@settings(max_examples=50)
@given(bindings, scripts)
def test_every_commit_conserves_and_the_sum_is_the_recount(speaker: Speaker, script: list) -> None:
    run = play(speaker, script)
    for done in run.commits:
        assert done.deltas.after == done.live.tokens == done.live.recount()
        assert done.live.outgoing.recount() == done.live.outgoing.tokens
    assert run.row.close(run.live.tokens).after == run.live.tokens


@settings(max_examples=50)
@given(bindings, scripts)
def test_the_open_exchange_keeps_every_assistant_turn_while_it_is_open(
    speaker: Speaker, script: list
) -> None:
    if speaker.binding != "bound":
        return
    sent = play(speaker, script).sent
    for before, after in itertools.pairwise(sent):
        start = exchange_at(before)
        thoughtful = [t for t in before.turns[start:] if t.content.hidden]
        if exchange_at(after) < len(after.turns) and after.answered == before.answered:
            assert all(turn in after.turns for turn in thoughtful)


@settings(max_examples=50)
@given(bindings, scripts)
def test_words_calls_and_results_are_those_of_the_same_script_without_binding(
    speaker: Speaker, script: list
) -> None:
    # An undo names a commit, and here there are more of them: what is void goes by one of its own.
    script = [step for step in script if step.kind != "undo"]
    free = play(Speaker(speaker.dialect, "free"), script, strict=False)
    run = play(speaker, script)
    assert [t.content.text for t in run.live.turns] == [t.content.text for t in free.live.turns]
    assert [t.number for t in run.live.turns] == [t.number for t in free.live.turns]


@settings(max_examples=30)
@given(scripts)
def test_a_free_model_keeps_its_reasoning_and_nothing_waits(script: list) -> None:
    run = play(FREE, script, strict=False)
    assert run.live.older is None
    assert not void(run.live)
    assert all(status(answer) is not Status.QUEUED for answer in run.answers)
    assert not run.live.made


@bound
def test_appending_never_takes_anything_away(speaker: Speaker) -> None:
    run = begun(speaker, 2, 2)
    assert [turn in run.live.turns for turn in run.sent[-1].turns] == [True] * len(
        run.sent[-1].turns
    )
    assert len(run.thoughts()) == 5


# -- one edit ---------------------------------------------------------------------------------------


@bound
def test_an_edit_in_a_finished_exchange_takes_the_reasoning_behind_it_away(
    speaker: Speaker,
) -> None:
    run = begun(speaker, 3, 0)
    kept, *gone = run.thoughts()
    assert status(run.edit(3)) is Status.APPLIED  # the first result
    assert run.thoughts() == [kept]
    assert gone
    assert run.live.older is None


@bound
def test_undo_brings_it_back_to_the_very_turns(speaker: Speaker) -> None:
    run = begun(speaker, 3, 0)
    before = run.live.turns
    done = run.edit(3)
    assert isinstance(done, Commit)
    run.propose(invert(run.live, done))
    assert all(one is other for one, other in zip(run.live.turns, before, strict=True))


@bound
def test_undo_under_another_prefix_brings_the_words_back_without_the_reasoning(
    speaker: Speaker,
) -> None:
    run = begun(speaker, 3, 0)
    first = run.edit(5)
    run.edit(3, "shorter")
    assert isinstance(first, Commit)
    assert isinstance(run.propose(invert(run.live, first)), Commit)
    assert "out call" in run.turn(5).content.text
    assert run.thoughts() == [2]
    run.round()


@bound
def test_reasoning_made_after_an_edit_goes_when_the_edit_is_undone(speaker: Speaker) -> None:
    run = begun(speaker, 2, 0)
    done = run.edit(3)
    run.round(0)
    run.say()
    new = run.thoughts()[-1]
    assert isinstance(done, Commit)
    run.propose(invert(run.live, done))
    assert new not in run.thoughts()
    run.round()


@bound
def test_the_ledger_counts_the_reasoning_as_freed_and_nothing_as_rewritten(
    speaker: Speaker,
) -> None:
    run = begun(speaker, 3, 0)
    thoughts = sum(turn.reasoning for turn in run.live.turns if turn.number > 3)
    old = run.turn(3).tokens
    done = run.edit(3)
    assert isinstance(done, Commit)
    new = run.turn(3).tokens
    assert (done.deltas.freed, done.deltas.replacement) == (old + thoughts, new)
    assert done.reach.reasoning == thoughts


def test_the_responses_items_lose_their_ids_with_their_reasoning() -> None:
    run = begun(DROPPED, 2, 0)
    run.edit(3)
    items = [item for item in run.live.body()["input"] if item["type"] != "reasoning"]
    behind = [item for item in items if item.get("role") == "assistant"][1:]
    assert behind
    assert all("id" not in item for item in behind)


def test_a_turn_that_held_nothing_else_goes_with_its_reasoning() -> None:
    run = begun(BOUND, 2, strict=False)
    only = {"type": "thinking", "thinking": "hm", "signature": "sealed-only"}
    run.append(
        run.speaker.read({"role": "assistant", "content": [only], "stop_reason": "max_tokens"})
    )
    run.say()
    number = run.live.turns[-2].number
    done = run.edit(3)
    assert isinstance(done, Commit)
    assert number not in {turn.number for turn in run.live.turns}
    run.propose(invert(run.live, done))
    assert number in {turn.number for turn in run.live.turns}


def test_reasoning_of_a_turn_that_is_rewritten_goes_as_a_whole() -> None:
    run = begun(BOUND_CHAT, 2, 0)  # Chat Completions keep it beside a call
    assert 2 in run.thoughts()
    run.edit(2, "other words")
    assert 2 not in run.thoughts()
    assert run.turn(2).content.calls


def test_another_system_prompt_voids_everything() -> None:
    run = begun(BOUND, 2, 0)
    frame, _ = run.speaker.dialect.split(
        {"messages": [], "system": "new", "tools": [{"name": "x"}]}
    )
    run.live = run.live.framed(frame, 3)
    assert void(run.live) == set(run.thoughts())
    run.settle()
    assert run.thoughts() == []


def test_what_began_under_something_else_is_void_from_the_start() -> None:
    run = begun(BOUND, 2, 0)
    contents = [turn.content for turn in run.live.turns]
    fields = (BOUND.dialect, run.live.meter, run.live.frame, contents)
    assert not void(Live.start(*fields, binding="bound"))
    assert void(Live.start(*fields, binding="bound", intact=False)) == set(run.thoughts())
    assert void(Live.start(*fields).bind("bound")) == set(run.thoughts())


# -- the open exchange ------------------------------------------------------------------------------


@pytest.mark.parametrize("speaker", [BOUND, BOUND_CHAT], ids=lambda one: one.dialect.name)
def test_an_edit_that_would_disturb_the_open_exchange_is_queued(speaker: Speaker) -> None:
    run = begun(speaker, 3)
    before = run.live
    answer = run.edit(3)
    assert status(answer) is Status.QUEUED
    assert "until this exchange ends" in answer.receipt.rule
    assert run.turn(3).content.text == "short"
    assert run.live.outgoing is before
    run.round()
    assert list(run.sent[-1].turns) == list(before.turns)
    assert len(run.live.outgoing.turns) == len(before.turns) + 2


def test_queued_edits_take_effect_at_the_boundary_as_one_batch() -> None:
    run = begun(BOUND, 3)
    for number in (3, 5, 7):
        assert status(run.edit(number)) is Status.QUEUED
    run.round()
    run.round(0)
    run.say()
    older = run.sent[-1].turns
    run.round()
    now = run.sent[-1]
    assert now.older is None
    assert [turn.content.text for turn in now.turns if turn.number in (3, 5, 7)] == ["short"] * 3
    assert run.thoughts(now) == [2]
    assert [turn.content.text for turn in older if turn.number == 3] != ["short"]
    # one request breaks the prefix; the next goes on from it
    run.round()
    assert run.sent[-1].turns[: len(now.turns)] == now.turns


def test_an_undo_that_leads_back_to_what_is_sent_empties_the_queue() -> None:
    run = begun(BOUND, 3)
    before = run.live
    done = run.edit(3)
    assert isinstance(done, Commit)
    again = run.propose(invert(run.live, done))
    assert status(again) is not Status.QUEUED
    assert run.live.older is None
    assert all(one is other for one, other in zip(run.live.turns, before.turns, strict=True))
    assert len(run.thoughts()) == 3


def test_an_edit_behind_the_reasoning_of_the_open_exchange_takes_effect_at_once() -> None:
    run = begun(BOUND, 2)
    run.round(thinks=False)
    last = run.live.turns[-1].number
    assert status(run.edit(last)) is Status.APPLIED
    assert run.live.older is None


def test_the_last_turn_with_reasoning_in_an_open_exchange_cannot_be_changed_before_it_ends() -> (
    None
):
    run = begun(BOUND, 1)
    run.round(thinks=False)
    assert status(run.edit(2, "other words")) is Status.QUEUED
    assert status(run.drop(2)) is Status.QUEUED
    assert run.thoughts(run.live.outgoing) == [2]


def test_the_round_in_progress_is_closed_also_to_queued_edits() -> None:
    run = begun(BOUND, 2)
    reply = run.speaker.reply(90, "sealed-open", 1)
    run.append(run.speaker.read(reply))
    assert status(run.drop(run.live.turns[-1].number)) is Status.REJECTED


def test_a_model_that_drops_reasoning_has_no_queue() -> None:
    run = begun(DROPPED, 3)
    assert status(run.edit(3)) is Status.APPLIED
    assert run.live.older is None
    assert run.thoughts() == [2]
    run.round()


def test_the_round_in_progress_of_a_dropping_model_is_cleared_once_its_results_are_in() -> None:
    run = begun(DROPPED, 2)
    body = run.live.body()
    reply = run.speaker.reply(91, "sealed-open", 1)
    run.server.said(body, reply)
    run.append(run.speaker.read(reply))
    head = run.live.turns[-1]
    run.edit(3)
    assert run.live.turns[-1] is head
    run.append(run.speaker.dialect.result(head.content.calls[0], "out"))
    run.round()
    assert head.number not in run.thoughts()


# -- when it cannot wait ----------------------------------------------------------------------------


def test_at_once_leaves_the_open_exchange_to_the_server() -> None:
    run = begun(BOUND, 1, 2)
    first, answer, *rest = run.thoughts()
    done = run.edit(3, effect=Effect.NOW)
    assert status(done) is Status.APPLIED
    assert run.live.older is None
    assert run.thoughts() == [first, *rest]
    assert answer not in run.thoughts()
    assert void(run.live) == set(rest)


def test_a_flattened_round_is_words_and_framed_output_and_no_open_exchange() -> None:
    run = begun(BOUND, 3)
    run.edit(3)
    head = run.live.turns[-2]
    done = run.propose(flattening(run.live), effect=Effect.CLEAR)
    assert isinstance(done, Commit)
    assert run.live.older is None
    assert not void(run.live)
    text, output = run.live.turns[-2:]
    assert text.number == head.number
    assert not text.content.calls
    assert "[tool call, kept as text] look {}" in text.content.text
    assert output.origin is Origin.TOOL
    assert output.content.text.startswith("[tool output, kept as text]")
    run.round()


def test_flattening_touches_nothing_while_the_last_reasoning_is_valid() -> None:
    run = begun(BOUND, 2)
    assert not flattening(run.live)
    run.edit(3, effect=Effect.NOW)
    assert flattening(run.live)


def test_a_flattened_round_comes_back_whole_by_undo() -> None:
    run = begun(BOUND, 2)
    run.edit(3)
    before = [turn.content.text for turn in run.live.turns]
    done = run.propose(flattening(run.live), effect=Effect.CLEAR)
    assert isinstance(done, Commit)
    run.propose(invert(run.live, done), effect=Effect.NOW)
    assert [turn.content.text for turn in run.live.turns] == before
    assert all(not group.open_calls for group in groups(run.live.turns))


@settings(max_examples=50)
@given(st.sampled_from((BOUND, BOUND_CHAT)), scripts)
def test_after_any_script_a_flattened_list_holds_no_void_reasoning(
    speaker: Speaker, script: list
) -> None:
    run = play(speaker, script)
    if run.live.older is not None:
        run.propose(flattening(run.live), effect=Effect.CLEAR)
        run.round()


def test_taking_away_nothing_is_no_revision() -> None:
    run: Run = begun(BOUND, 2, 1)
    answer = run.propose(Revision("harness", "boundary"), effect=Effect.CLEAR)
    assert status(answer) is Status.IGNORED
