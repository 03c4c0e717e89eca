"""The figures of the readout."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.budget import Readout


@pytest.mark.parametrize(
    ("used", "percent"), [(0, 0), (12_345, 41), (29_951, 99), (29_952, 100), (59_904, 200)]
)
def test_the_percentage_is_rounded_down(used: int, percent: int) -> None:
    assert Readout(used, 29_952).percent == percent


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_free_and_over_agree(used: int, limit: int) -> None:
    readout = Readout(used, limit)
    assert readout.over == (readout.free < 0)
    assert readout.over or readout.percent <= 100


def test_a_context_at_its_limit_has_not_overflowed() -> None:
    assert not Readout(100, 100).over
    assert Readout(101, 100).over
