"""A board of pins: a value, with owners."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.tools.pins import Owner, Pin, PinBoard

OWNERS: tuple[Owner, ...] = ("model", "user", "harness")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "remove", "clear")),
        st.sampled_from(OWNERS),
        st.lists(st.integers(1, 6), max_size=3),
    ),
    max_size=12,
)


def built(steps: list[tuple[str, Owner, list[int]]]) -> PinBoard:
    board = PinBoard()
    for what, owner, turns in steps:
        if what == "add":
            board = board.add(owner, turns, "some words")
        elif what == "remove":
            board = board.remove(owner, turns)
        else:
            board = board.clear(owner)
    return board


@settings(max_examples=60)
@given(STEPS, st.sampled_from(OWNERS), st.lists(st.integers(1, 6)))
def test_no_owner_touches_the_pins_of_another(
    steps: list[tuple[str, Owner, list[int]]], owner: Owner, turns: list[int]
) -> None:
    board = built(steps)
    for after in (board.clear(owner), board.remove(owner, turns), board.add(owner, turns)):
        for other in OWNERS:
            assert other == owner or after.of(other) == board.of(other)


@settings(max_examples=60)
@given(STEPS)
def test_a_board_comes_back_from_its_values(steps: list[tuple[str, Owner, list[int]]]) -> None:
    board = built(steps)
    assert PinBoard.from_values(json.loads(json.dumps(board.as_values()))) == board
    assert board.numbers == {number for pin in board.pins for number in pin.turns}


def test_a_turn_stays_pinned_while_one_owner_holds_it() -> None:
    board = PinBoard().add("model", [3]).add("user", [3])
    assert board.remove("model", [3]).numbers == {3}
    assert board.remove("model", [3]).remove("user", [3]).numbers == set()


def test_one_owner_pins_the_same_turns_once() -> None:
    board = PinBoard().add("model", [3, 4])
    assert board.add("model", [4]) is board
    assert board.add("user", [4]) is not board
    assert board.add("model", []) is board


def test_a_pin_says_whose_it_is() -> None:
    (pin,) = PinBoard().add("model", [3], "  many\n words " + "x" * 200).pins
    assert pin.label.startswith("[model] many words xxx")
    assert len(pin.excerpt) == 80


def test_pins_of_turns_that_are_gone_fall_away() -> None:
    board = PinBoard().add("model", [3, 4]).add("user", [5])
    assert board.present({4}).pins == (Pin("model", (3, 4)),)


def test_pins_without_an_owner_are_the_users() -> None:
    assert PinBoard.of_numbers({5, 2}).pins == (Pin("user", (2,)), Pin("user", (5,)))


def test_an_unknown_owner_is_refused() -> None:
    with pytest.raises(ValueError, match="a pin belongs to 'root'; known are model, user, harness"):
        PinBoard.from_values([{"owner": "root", "turns": [1]}])
