"""The live context: what is appended, what is held, what is shown, and what all of it costs."""

from __future__ import annotations

import pytest
from context_world import (
    calls,
    contents,
    grown,
    note,
    numbers,
    result,
    said,
    start,
    user,
    words,
)
from hypothesis import given

from redraft.context import Origin
from redraft.testing.strategies import conversations

SYSTEM = {"role": "system", "content": "prompt"}


class TestThePinnedPrefix:
    @pytest.mark.parametrize(
        ("messages", "head"),
        [
            ((SYSTEM, user(), said()), 2),
            ((SYSTEM, SYSTEM, user()), 3),
            ((user(), said()), 1),
            ((SYSTEM, said()), 1),
            ((said(), user()), 0),
            ((), 0),
        ],
    )
    def test_it_is_the_system_prompts_and_the_task(
        self, messages: tuple[object, ...], head: int
    ) -> None:
        assert start(*messages).head == head  # type: ignore[arg-type]

    @pytest.mark.parametrize(("asked", "head"), [(0, 0), (1, 1), (99, 3), (-5, 0)])
    def test_it_is_as_long_as_one_says(self, asked: int, head: int) -> None:
        assert start(SYSTEM, user(), said(), head=asked).head == head


class TestAppending:
    def test_it_gives_the_next_numbers_and_leaves_the_old_context_alone(self) -> None:
        before = start(user())
        after = grown(before, said(), user())
        assert (numbers(before), numbers(after)) == ([1], [1, 2, 3])
        assert after.turns[0] is before.turns[0]
        assert after.tokens == after.recount()

    def test_appended_turns_are_original_unless_one_says_otherwise(self) -> None:
        live = start(user()).append(contents(user("notice")), Origin.HARNESS)
        assert [turn.origin for turn in live.turns] == [Origin.ORIGINAL, Origin.HARNESS]


class TestCosts:
    def test_frame_and_turns_add_up(self) -> None:
        tools = [{"type": "function"}]
        live = start(user(words(10)), said(words(20)), tools=tools)
        assert live.frame_tokens == start(tools=tools).tokens > start().tokens
        assert live.tokens == live.frame_tokens + 14 + 24

    def test_reasoning_is_counted_and_told_apart(self) -> None:
        live = start(calls("a", reasoning_content=words(30)))
        assert live.turns[0].reasoning == 30
        assert live.tokens == live.recount() == start(calls("a")).tokens + 30

    @given(conversations())
    def test_the_sum_is_the_recount(self, messages: list[dict[str, object]]) -> None:
        live = start(*messages)
        assert live.tokens == live.recount()


class TestWhatIsHeld:
    def test_prefix_system_turns_pins_and_unanswered_words_are(self) -> None:
        live = start(SYSTEM, user("task"), said("a"), SYSTEM, said("b"), user("and?"), calls("x"))
        live = live.pin([3])
        assert live.protected() == {1, 2, 3, 4, 6}
        assert [live.holds(at) for at in range(7)] == [True, True, True, True, False, True, False]
        assert live.unpin([3, 99]).protected() == {1, 2, 4, 6}

    def test_the_file_shows_all_but_prefix_system_and_the_open_round(self) -> None:
        live = start(SYSTEM, user(), said(), SYSTEM, user("more"), calls("a", "b"), result("a"))
        assert [turn.number for turn in live.editable()] == [3, 5]
        assert [turn.number for turn in grown(live, result("b")).editable()] == [3, 5, 6, 7, 8]

    def test_nothing_is_shown_where_the_prefix_is_in_the_open_round(self) -> None:
        assert list(start(user(), calls("a"), head=2).editable()) == []

    def test_a_policy_may_rewrite_what_is_shown_and_not_held_and_no_plan(self) -> None:
        live = start(user(), said("a"), said("b"), said("c"), user("more"), calls("x"))
        live = live.pin([2])
        assert [turn.number for turn in live.candidates()] == [3, 4]


def test_the_request_holds_the_very_natives() -> None:
    live = start(user(), said(), tools=[], seed=1)
    body = live.body()
    assert list(body) == ["messages", "tools", "seed"]
    assert all(
        a is t.content.carriers[0] for a, t in zip(body["messages"], live.turns, strict=True)
    )


def test_a_draft_is_priced_as_the_turn_that_it_becomes() -> None:
    live = start(user())
    draft = note(live, words(6))
    assert (draft.tokens, draft.reasoning) == (10, 0)
