"""Free rounds: tidying costs no step, unless it goes on and on without freeing anything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redraft.budget import FREE_RUN, FreeRounds

WORK, SHRANK, GREW = (False, False), (True, True), (True, False)


def costs(*rounds: tuple[bool, bool]) -> list[int]:
    state, paid = FreeRounds(), []
    for free, shrank in rounds:
        state, cost = state.step(free, shrank)
        paid.append(cost)
    return paid


def test_work_costs_a_step_whatever_it_did_to_the_context() -> None:
    assert costs(WORK, (False, True)) == [1, 1]


def test_an_edit_that_shrinks_is_always_free() -> None:
    assert costs(*[SHRANK] * 20) == [0] * 20


def test_three_edits_running_that_do_not_shrink_are_free_and_every_further_one_costs() -> None:
    assert costs(*[GREW] * 6) == [0, 0, 0, 1, 1, 1]


def test_a_shrinking_edit_ends_the_run_even_when_the_next_one_would_cost() -> None:
    assert costs(GREW, GREW, GREW, SHRANK, GREW, GREW, GREW, GREW) == [0, 0, 0, 0, 0, 0, 0, 1]


def test_work_ends_the_run() -> None:
    assert costs(GREW, GREW, GREW, WORK, GREW) == [0, 0, 0, 1, 0]


@given(st.lists(st.sampled_from([WORK, SHRANK, GREW]), max_size=60))
def test_no_endless_run_of_rounds_is_free_without_shrinking(
    rounds: list[tuple[bool, bool]],
) -> None:
    run = 0
    for (free, shrank), cost in zip(rounds, costs(*rounds), strict=True):
        run = run + 1 if free and not shrank else 0
        assert cost == (not free or run > FREE_RUN)
