"""Turns, their places and origins; groups, the open round, and the user's unanswered words."""

from __future__ import annotations

import pytest
from context_world import (
    CHAT,
    applied,
    calls,
    contents,
    drop,
    grown,
    numbers,
    result,
    revise,
    said,
    start,
    turn,
    user,
)
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import (
    Origin,
    Turn,
    commit,
    digest,
    group_at,
    groups,
    invert,
    open_start,
    unanswered,
)
from redraft.context.turn import edited_origin, place_before


def spans(*messages: object, head: int = 0) -> list[tuple[int, int]]:
    live = start(*messages)  # type: ignore[arg-type]
    return [(group.start, group.end) for group in groups(live.turns, head)]


class TestGroups:
    def test_a_group_is_an_assistant_turn_with_calls_and_its_results(self) -> None:
        messages = (
            user(),
            calls("a", "b"),
            result("b"),
            result("a"),
            said(),
            calls("c"),
            result("c"),
        )
        assert spans(*messages) == [(0, 1), (1, 4), (4, 5), (5, 7)]

    def test_a_result_of_another_call_is_no_part_of_it(self) -> None:
        assert spans(calls("a"), result("x"), result("a")) == [(0, 1), (1, 2), (2, 3)]

    def test_ids_that_repeat_from_turn_to_turn_do_not_join_groups(self) -> None:
        messages = (calls("x"), result("x"), calls("x"), result("x"))
        assert spans(*messages) == [(0, 2), (2, 4)]

    @pytest.mark.parametrize("position", range(7))
    def test_the_group_at_a_position_is_the_one_that_holds_it(self, position: int) -> None:
        live = start(user(), calls("a", "b"), result("b"), result("a"), result("x"), said(), user())
        group = group_at(live.turns, position)
        assert group in list(groups(live.turns))
        assert group.start <= position < group.end

    def test_open_calls_are_those_without_a_result(self) -> None:
        live = start(calls("a", "b", "c"), result("b"))
        assert group_at(live.turns, 0).open_calls == (0, 2)

    def test_of_calls_with_one_id_each_takes_one_result(self) -> None:
        live = start(calls("x", "x", "x"), result("x"), result("x"))
        group = group_at(live.turns, 0)
        assert group.pairs == {2: 0, 3: 1}
        assert group.open_calls == (2,)

    def test_a_second_result_answers_the_same_call(self) -> None:
        live = start(calls("a", "b"), result("a", "pending"), result("a", "final"), result("b"))
        assert group_at(live.turns, 0).pairs == {2: 0, 3: 0, 4: 1}


class TestTheOpenRound:
    @pytest.mark.parametrize(
        ("messages", "at"),
        [
            ((user(), calls("a")), 1),
            ((user(), calls("a", "b"), result("a")), 1),
            ((user(), calls("a"), result("a")), 3),
            ((user(), said()), 2),
            ((user(), calls("a"), user()), 3),
            ((user(), calls("a"), result("x")), 3),
            ((), 0),
            ((result("a"),), 1),
        ],
    )
    def test_it_begins_where_calls_at_the_end_still_wait(
        self, messages: tuple[dict[str, object], ...], at: int
    ) -> None:
        live = start(*messages)
        assert open_start(live.turns) == live.open_at == at

    def test_an_interrupted_call_does_not_open_again_when_what_came_after_it_goes(self) -> None:
        live = start(user(), calls("a"), said("never mind"))
        done = applied(revise(live, drop(live, 3)))
        assert done.live.open_at == 2
        back = applied(commit(done.live, invert(done.live, done), 10**9))
        assert numbers(back.live) == [1, 2, 3]


class TestUnansweredTurns:
    def test_a_user_turn_is_unanswered_until_an_answer_without_calls(self) -> None:
        live = start(user("one"), calls("a"), result("a"))
        assert unanswered(live.turns, live.answered) == {1}
        live = grown(live, said("done"))
        assert unanswered(live.turns, live.answered) == frozenset()
        live = grown(live, user("two"), user("three"))
        assert unanswered(live.turns, live.answered) == {5, 6}

    def test_notes_notices_and_summaries_ask_nothing(self) -> None:
        live = start(user()).append(contents(user("note")), Origin.NOTE)
        live = live.append(contents(user("notice")), Origin.HARNESS)
        assert unanswered(live.turns, live.answered) == {1}

    def test_an_assistant_note_answers_nothing(self) -> None:
        live = start(user()).append(contents(said("note to self")), Origin.NOTE)
        assert unanswered(live.turns, live.answered) == {1}


class TestOrigins:
    @pytest.mark.parametrize(
        ("message", "origin", "wanted"),
        [
            (user(), Origin.ORIGINAL, Origin.NOTE),
            (user(), Origin.NOTE, Origin.NOTE),
            (user(), Origin.HARNESS, Origin.NOTE),
            (user(), Origin.SUMMARY, Origin.NOTE),
            (user(), Origin.TOOL, Origin.TOOL),
            (said(), Origin.ORIGINAL, Origin.EDITED),
            (said(), Origin.EDITED, Origin.EDITED),
            (said(), Origin.NOTE, Origin.NOTE),
            (said(), Origin.SUMMARY, Origin.NOTE),
            (said(), Origin.HARNESS, Origin.NOTE),
            (result(), Origin.ORIGINAL, Origin.EDITED),
            (result(), Origin.HARNESS, Origin.EDITED),
        ],
    )
    def test_an_edit_by_the_model_only_ever_loses_authority(
        self, message: dict[str, object], origin: Origin, wanted: Origin
    ) -> None:
        (content,) = contents(message)
        assert edited_origin(Turn(1, content, origin, 1)) is wanted


class TestPlaces:
    def test_a_turn_that_is_appended_takes_the_place_of_its_number(self) -> None:
        live = start(user(), said())
        assert [turn.place for turn in live.turns] == [(1, 0), (2, 0)]

    @given(st.data())
    def test_a_new_place_lies_behind_all_older_ones_in_front_of_the_next(
        self, data: st.DataObject
    ) -> None:
        """Also behind those of turns that left, which may come back."""
        (content,) = contents(user())
        ordered: list[Turn] = []
        for number in range(1, data.draw(st.integers(2, 12))):
            at = data.draw(st.integers(0, len(ordered)))
            following = ordered[at] if at < len(ordered) else None
            place = place_before(following, number)
            ordered.insert(at, Turn(number, content, Origin.NOTE, 1, place=place))
            assert ordered == sorted(ordered, key=lambda turn: turn.place)


class TestDigests:
    def test_they_name_what_is_shown(self) -> None:
        same = digest(contents(calls("a", text="x"))[0])
        assert same == digest(contents(calls("a", text="x", reasoning_content="other"))[0])
        others = [
            calls("b", text="x"),
            calls("a", text="x "),
            calls("a", text="x", arguments='{"y":1}'),
            calls("a", "a", text="x"),
            said("x"),
            user("x"),
            result("a", "x"),
            result("b", "x"),
        ]
        digests = {digest(contents(message)[0]) for message in others}
        assert len(digests) == len(others)
        assert same not in digests

    @given(st.text(st.characters(exclude_categories=())))
    def test_any_text_has_one(self, text: str) -> None:
        assert len(digest(CHAT.note("user", text))) == 32


def test_a_turn_that_is_edited_keeps_number_and_place() -> None:
    live = start(user(), said())
    old = turn(live, 2)
    new = Turn.of(live.draft(CHAT.note("assistant", "x"), Origin.EDITED), old.number, old.place)
    assert (new.number, new.place) == (old.number, old.place)
    assert new.digest != old.digest
    assert numbers(live) == [1, 2]
