"""Nudges come once a tier, are armed again below it, and never stop inside the urgent band."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.budget import TIERS, Nudge, Nudges, urgent_band

LIMIT = 10_000


def said(*fills: int, outputs: tuple[int, ...] = ()) -> list[Nudge | None]:
    """What is said at each of these fills, in hundredths of a percent of the limit."""
    state, answers = Nudges(), []
    for used in fills:
        state, nudge = state.step(used, LIMIT, outputs)
        answers.append(nudge)
    return answers


def test_the_tiers_are_25_50_and_75_percent() -> None:
    assert TIERS == (25, 50, 75)


def test_each_tier_speaks_once() -> None:
    assert said(2_499, 2_500, 3_000, 5_000, 7_499, 7_500, 8_000) == [
        None,
        Nudge.INFORM,
        None,
        Nudge.TIDY,
        None,
        Nudge.COMPACT,
        None,
    ]


def test_a_jump_over_several_tiers_says_only_the_highest() -> None:
    assert said(100, 8_000, 8_100) == [None, Nudge.COMPACT, None]


def test_the_tiers_below_a_jump_count_as_said() -> None:
    assert said(8_000, 6_000, 4_000) == [Nudge.COMPACT, None, None]


def test_a_tier_is_armed_again_once_the_context_falls_below_it() -> None:
    assert said(6_000, 4_999, 5_000) == [Nudge.TIDY, None, Nudge.TIDY]


def test_only_the_tiers_that_it_fell_below_are_armed_again() -> None:
    assert said(8_000, 3_000, 5_500) == [Nudge.COMPACT, None, Nudge.TIDY]


def test_inside_the_band_every_round_is_urgent() -> None:
    assert said(9_001, 9_001, 9_500, 12_000) == [Nudge.URGENT] * 4


def test_the_band_begins_strictly_inside_its_edge() -> None:
    assert said(9_000) == [Nudge.COMPACT]
    assert said(9_001) == [Nudge.URGENT]


def test_leaving_the_band_upwards_of_a_tier_does_not_say_that_tier_again() -> None:
    assert said(9_500, 8_000) == [Nudge.URGENT, None]


def test_a_large_recent_output_makes_an_emptier_context_urgent() -> None:
    assert said(6_001, outputs=(2_000,)) == [Nudge.URGENT]
    assert said(6_000, outputs=(2_000,)) == [Nudge.TIDY]


@pytest.mark.parametrize(
    ("outputs", "band"),
    [
        ((), 1_000),
        ((499,), 1_000),
        ((700,), 1_400),
        ((700, 900, 800), 1_800),
        ((900, 100, 100), 1_800),
        ((3_000, 100, 100, 100), 1_000),  # only the last three count
        ((100, 100, 100, 2_000), 4_000),
        ((9_999,), 5_000),  # at most half the limit
    ],
)
def test_the_band_is_a_tenth_or_twice_the_largest_of_three_outputs(
    outputs: tuple[int, ...], band: int
) -> None:
    assert urgent_band(LIMIT, outputs) == band


@given(st.integers(1, 10**7), st.lists(st.integers(0, 10**8), max_size=6))
def test_the_band_is_between_a_tenth_and_half_of_the_limit(limit: int, outputs: list[int]) -> None:
    assert limit // 10 <= urgent_band(limit, outputs) <= limit // 2


@given(st.lists(st.integers(0, LIMIT), min_size=1, max_size=40))
def test_a_tier_speaks_at_most_once_between_two_falls_below_it(fills: list[int]) -> None:
    tier_of = {Nudge.INFORM: 2_500, Nudge.TIDY: 5_000, Nudge.COMPACT: 7_500}
    state = Nudges()
    armed = dict.fromkeys(tier_of, True)
    for used in fills:
        for nudge, tier in tier_of.items():
            armed[nudge] |= used < tier
        state, nudge = state.step(used, LIMIT, ())
        if nudge is not None and nudge is not Nudge.URGENT:
            assert armed[nudge]
            assert used >= tier_of[nudge]
        for passed, tier in tier_of.items():
            armed[passed] &= used < tier


def test_other_tiers_can_be_set() -> None:
    state, nudge = Nudges(tiers=(10, 20, 30)).step(1_000, LIMIT, ())
    assert nudge is Nudge.INFORM
    assert state.tiers == (10, 20, 30)


def test_a_state_is_never_changed_in_place() -> None:
    state = Nudges()
    state.step(8_000, LIMIT, ())
    assert state == Nudges()
