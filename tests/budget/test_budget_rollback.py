"""Rollback: which groups go, how deep, which commands are named, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.budget import MARGIN, MAXIMUM, Phase, Rollbacks, choose, commands, overflow
from redraft.context import (
    Change,
    Commit,
    Gate,
    Insert,
    Live,
    Origin,
    Revision,
    commit,
    groups,
)
from redraft.dialects.base import Content
from redraft.dialects.openai_chat import OpenAIChat
from redraft.tokens import Meter

LIMIT = 100_000
METER = Meter()

SYSTEM = {"role": "system", "content": "be good"}
TASK = {"role": "user", "content": "do it"}


def calling(*ids: str, command: str = "ls", name: str = "bash") -> dict[str, Any]:
    """An assistant message that makes calls."""
    arguments = f'{{"command": "{command}"}}'
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": one, "type": "function", "function": {"name": name, "arguments": arguments}}
            for one in ids
        ],
    }


def result(call: str, text: str = "word " * 100) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def live(*messages: dict[str, Any]) -> Live:
    """A context of a system prompt (turn 1), a task (turn 2) and these messages (from turn 3)."""
    frame, contents = OpenAIChat().split({"messages": [SYSTEM, TASK, *messages]})
    return Live.start(OpenAIChat(), METER, frame, contents)


def cost(context: Live, *numbers: int) -> int:
    return sum(turn.tokens for turn in context.turns if turn.number in numbers)


THREE_GROUPS = live(
    calling("a"),
    result("a"),
    calling("b", "c"),
    result("b"),
    result("c"),
    calling("d"),
    result("d"),
)


def test_the_newest_group_goes_first_and_whole() -> None:
    choice = choose(THREE_GROUPS, 1)
    assert choice.numbers == (8, 9)
    assert choice.freed == cost(THREE_GROUPS, 8, 9)
    assert choice.enough


def test_older_groups_follow_until_enough_is_freed() -> None:
    newest = cost(THREE_GROUPS, 8, 9)
    assert choose(THREE_GROUPS, newest).numbers == (8, 9)
    assert choose(THREE_GROUPS, newest + 1).numbers == (5, 6, 7, 8, 9)


def test_nothing_is_dropped_where_nothing_is_needed() -> None:
    assert choose(THREE_GROUPS, 0).numbers == ()
    assert choose(THREE_GROUPS, 0).enough


def test_what_can_be_dropped_is_returned_even_where_it_is_not_enough() -> None:
    choice = choose(THREE_GROUPS, 10**9)
    assert choice.numbers == (3, 4, 5, 6, 7, 8, 9)
    assert not choice.enough


def test_user_turns_are_skipped_answered_or_not() -> None:
    context = live(
        calling("a"), result("a"), said("done"), user("and now?"), calling("b"), result("b")
    )
    assert choose(context, 10**9).numbers == (3, 4, 5, 7, 8)


def test_a_group_with_an_unanswered_call_is_skipped() -> None:
    context = live(calling("a"), result("a"), calling("b", "c"), result("b"))
    assert choose(context, 10**9).numbers == (3, 4)


def test_pinned_turns_and_the_groups_around_them_are_skipped() -> None:
    assert choose(THREE_GROUPS.pin([9]), 10**9).numbers == (3, 4, 5, 6, 7)


def test_a_system_turn_in_the_middle_is_skipped() -> None:
    context = live(calling("a"), result("a"), {"role": "developer", "content": "mind"}, said("ok"))
    assert choose(context, 10**9).numbers == (3, 4, 6)


def with_insert(context: Live, role: str, origin: Origin, *, plan: bool = False) -> Live:
    note = context.dialect.note("assistant" if role == "assistant" else "user", "words " * 50)
    insert = Insert(context.turns[-1].number, context.draft(note, origin), plan)
    done = commit(context, Revision("policy", "test", inserts=(insert,)), LIMIT)
    assert isinstance(done, Commit)
    return done.live


def test_notes_and_summaries_with_the_user_role_are_skipped() -> None:
    for origin in (Origin.NOTE, Origin.SUMMARY, Origin.HARNESS):
        assert choose(with_insert(THREE_GROUPS, "user", origin), 1).numbers == (8, 9)


def test_flattened_tool_output_is_nobodys_word_and_goes() -> None:
    assert choose(with_insert(THREE_GROUPS, "user", Origin.TOOL), 1).numbers == (10,)


def test_the_plan_of_a_policy_is_skipped_since_the_door_would_refuse_to_drop_it() -> None:
    assert choose(with_insert(THREE_GROUPS, "assistant", Origin.SUMMARY, plan=True), 1).numbers == (
        8,
        9,
    )


messages = st.lists(
    st.one_of(
        st.just([said("an answer")]),
        st.just([user("a question")]),
        st.builds(
            lambda n, answered: [
                calling(*map(str, range(n))),
                *map(result, map(str, range(answered))),
            ],
            st.integers(1, 3),
            st.integers(0, 3),
        ).filter(lambda group: len(group) - 1 <= len(group[0]["tool_calls"])),
    ),
    max_size=8,
).map(lambda lists: [message for one in lists for message in one])


@given(messages, st.integers(0, 3_000))
def test_the_door_accepts_every_choice_and_frees_what_was_promised(
    some: list[dict[str, Any]], needed: int
) -> None:
    context = live(*some)
    choice = choose(context, needed)
    digests = {turn.number: turn.digest for turn in context.turns}
    drop = tuple(Change(number, digests[number], None) for number in choice.numbers)
    answer = commit(context, Revision("harness", "rollback", drop, gate=Gate.FIT), LIMIT)
    if not drop:
        assert answer.receipt.before == answer.receipt.after
        return
    assert isinstance(answer, Commit)
    assert answer.live.tokens == context.tokens - choice.freed
    assert choice.enough == (choice.freed >= needed)
    gone = set(choice.numbers)
    for group in groups(context.turns):
        numbers = {turn.number for turn in group.turns}
        assert numbers <= gone or not numbers & gone


def test_the_first_four_rollbacks_free_just_the_margin_then_each_goes_one_margin_deeper() -> None:
    state, depths = Rollbacks(), []
    for _ in range(8):
        depths.append(state.depth(LIMIT))
        state = state.rolled()
    assert depths == [MARGIN] * 4 + [2 * MARGIN, 3 * MARGIN, 4 * MARGIN, 5 * MARGIN]


def test_an_applied_edit_resets_the_depth_but_not_the_count() -> None:
    state = Rollbacks(count=10, since_edit=10).applied_edit()
    assert state == Rollbacks(count=10, since_edit=0)
    assert state.depth(LIMIT) == MARGIN


@given(st.integers(0, MAXIMUM - 1), st.integers(0, 60), st.integers(1, 500_000))
def test_a_rollback_never_frees_more_than_three_quarters_of_the_limit(
    count: int, since: int, limit: int
) -> None:
    depth = Rollbacks(count, since).depth(limit)
    assert depth is not None
    assert 4 * depth <= 3 * limit
    assert depth == min((1 + max(since - 3, 0)) * MARGIN, limit * 3 // 4)


def test_fifty_rollbacks_are_allowed_in_a_run() -> None:
    assert MAXIMUM == 50
    assert Rollbacks(49, 0).depth(LIMIT) == MARGIN
    assert Rollbacks(50, 0).depth(LIMIT) is None
    assert Rollbacks(2, 0).depth(LIMIT, maximum=2) is None


def test_commands_are_named_newest_last_and_only_from_dropped_turns() -> None:
    context = live(
        *(message for at in "abcdefg" for message in (calling(at, command=f"cat {at}"), result(at)))
    )
    everything = [turn.number for turn in context.turns]
    assert commands(context, everything) == ("cat c", "cat d", "cat e", "cat f", "cat g")
    assert commands(context, everything[:6]) == ("cat a", "cat b")
    assert commands(context, []) == ()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"command": "cat  a\\n| sort"}', "cat a | sort"),
        ('{"cmd": "ls"}', "ls"),
        ('{"script": "pwd"}', "pwd"),
        ('{"path": "/x"}', 'tool {"path": "/x"}'),
        ('{"command": ["ls"]}', 'tool {"command": ["ls"]}'),
        ('{"command": " "}', 'tool {"command": " "}'),
        ("not json", "tool not json"),
        ("[1]", "tool [1]"),
        ("[" * 100_000, "tool " + "[" * 114 + "…"),
        ('{"command": "a\\u0000\\u202e\\ud83dz"}', "a z"),
        ('{"command": "' + "x" * 121 + '"}', "x" * 119 + "…"),
        ('{"command": "' + "x" * 120 + '"}', "x" * 120),
    ],
)
def test_a_command_is_one_safe_short_line(arguments: str, line: str) -> None:
    message = calling("a", name="tool")
    message["tool_calls"][0]["function"]["arguments"] = arguments
    context = live(message, result("a"))
    assert commands(context, [3, 4]) == (line,)


@given(st.text(max_size=2_000))
def test_any_command_becomes_one_line_of_at_most_120_characters(text: str) -> None:
    content = Content("assistant", "", calls=live(calling("a")).turns[-1].content.calls)
    context = live().append([content])
    (line,) = commands(context, [3], lambda call: text)
    assert len(line) <= 120
    assert line == "" or line.isprintable()


def test_an_overflow_is_answered_by_a_rollback_while_that_is_possible() -> None:
    answer = overflow(THREE_GROUPS, Rollbacks(), Phase.RUNNING, LIMIT, lambda depth: 1)
    assert answer.choice == choose(THREE_GROUPS, 1)
    assert answer.rollbacks == Rollbacks(1, 1)
    assert answer.phase is Phase.RUNNING


def test_the_depth_is_what_must_be_free() -> None:
    asked: list[int] = []
    overflow(THREE_GROUPS, Rollbacks(9, 5), Phase.RUNNING, LIMIT, lambda d: asked.append(d) or 1)
    assert asked == [3 * MARGIN]


def test_spent_rollbacks_lead_to_the_final_turn_and_then_to_the_stop() -> None:
    spent = Rollbacks(50, 0)
    final = overflow(THREE_GROUPS, spent, Phase.RUNNING, LIMIT, lambda depth: 1)
    assert (final.phase, final.choice, final.rollbacks) == (Phase.FINAL, None, spent)
    after = overflow(THREE_GROUPS, spent, final.phase, LIMIT, lambda depth: 1)
    assert (after.phase, after.choice) == (Phase.STOPPED, None)


def test_where_nothing_can_be_dropped_the_final_turn_comes() -> None:
    answer = overflow(live(user("more")), Rollbacks(), Phase.RUNNING, LIMIT, lambda depth: depth)
    assert (answer.phase, answer.choice, answer.rollbacks) == (Phase.FINAL, None, Rollbacks())


def test_no_rollback_is_made_in_the_final_turn() -> None:
    answer = overflow(THREE_GROUPS, Rollbacks(), Phase.FINAL, LIMIT, lambda depth: 1)
    assert (answer.phase, answer.choice) == (Phase.STOPPED, None)


def test_a_stopped_run_stays_stopped() -> None:
    assert Phase.STOPPED.ended() is Phase.STOPPED


def test_ignored_rollbacks_end_in_at_most_fifty_steps_and_a_final_turn() -> None:
    """A model that runs the same command for ever is stopped: the livelock has an end."""
    context, state, phase, rounds = live(), Rollbacks(), Phase.RUNNING, 0
    while phase is Phase.RUNNING:
        context = context.append(live(calling("a"), result("a")).turns[at].content for at in (2, 3))
        answer = overflow(context, state, phase, LIMIT, lambda depth: 1)
        state, phase, rounds = answer.rollbacks, answer.phase, rounds + 1
        if answer.choice:
            keep = [t.content for t in context.turns[2:] if t.number not in answer.choice.numbers]
            context = live().append(keep)
    assert rounds == 51
    assert phase is Phase.FINAL
