"""How two requests of one thread differ, and what the difference is called."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_world import of
from hypothesis import given
from hypothesis import strategies as st

from redraft.cost import Cause, compare
from redraft.cost.requests import common_length


def test_a_request_that_only_grew_did_not_break() -> None:
    change = compare(of("Sab"), of("Sabcd"))
    assert (change.at, change.shared, change.survived, change.cause) == (3, 300, 0, None)


def test_a_changed_turn_makes_the_text_behind_it_be_read_again() -> None:
    change = compare(of("Sabcd"), replace(of("Saxcde"), changed=Cause.EDIT))
    assert (change.at, change.shared, change.survived, change.cause) == (2, 200, 200, Cause.EDIT)


def test_dropping_the_newest_turns_makes_nothing_be_read_again() -> None:
    change = compare(of("Sabcd"), replace(of("Sabn"), changed=Cause.ROLLBACK))
    assert (change.shared, change.survived, change.cause) == (300, 0, Cause.ROLLBACK)


def test_a_break_in_the_frame_is_the_frames_whatever_the_sender_says() -> None:
    change = compare(of("STa"), replace(of("SUab"), changed=Cause.POLICY))
    assert (change.cause, change.survived) == (Cause.FRAME, 100)


def test_a_frame_that_grew_behind_its_start_changed_too() -> None:
    assert compare(of("Sa"), of("STa")).cause is Cause.FRAME


def test_reasoning_that_the_template_left_out_is_told_from_an_edit() -> None:
    before, after = of("Sr*ab"), replace(of("Sabcd"), changed=Cause.EDIT)
    change = compare(before, after)
    assert (change.at, change.survived, change.cause) == (1, 200, Cause.REASONING)


def test_reasoning_that_left_together_with_text_is_no_work_of_the_template() -> None:
    assert compare(of("Sr*ab"), of("Sbc")).cause is Cause.UNEXPLAINED


def test_another_model_has_nothing_of_it() -> None:
    change = compare(replace(of("Sab"), model="one"), replace(of("Sabc"), model="two"))
    assert (change.at, change.shared, change.survived, change.cause) == (0, 0, 300, Cause.MODEL)


def test_repeated_text_survives_as_often_as_it_stood_there() -> None:
    assert compare(of("Saaab"), of("Sxaaaab")).survived == 400


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_the_common_start_is_found_as_a_plain_loop_finds_it(one: list[int], two: list[int]) -> None:
    expected = 0
    while expected < min(len(one), len(two)) and one[expected] == two[expected]:
        expected += 1
    assert common_length(tuple(one), tuple(two)) == expected


@pytest.mark.parametrize(("names", "frame"), [("", 0), ("ab", 0), ("STab", 2), ("S", 1)])
def test_the_frame_is_what_leads(names: str, frame: int) -> None:
    assert of(names).frame == frame
