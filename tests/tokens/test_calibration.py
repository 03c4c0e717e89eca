from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import SettingsError
from redraft.tokens import RATIO_MAX, RATIO_MIN, Calibration

sizes = st.integers(0, 10**9)
families = st.sampled_from([1.0, 1.15, 1.34, 1.64]) | st.floats(0.1, 10)
ratios = st.floats(RATIO_MIN, RATIO_MAX)
calibrations = st.builds(Calibration, families, ratios)


def observed(*reports: int, family: float = 1.0, raw: int = 1_000) -> Calibration:
    calibration = Calibration(family)
    for reported in reports:
        calibration = calibration.observe(reported, raw, fresh_edit=False)
    return calibration


@given(calibrations, sizes)
def test_the_raw_limit_is_the_largest_size_that_is_shown_within_the_limit(
    calibration: Calibration, limit: int
) -> None:
    raw = calibration.raw_limit(limit)
    assert calibration.shown(raw) <= limit < calibration.shown(raw + 1)


@given(calibrations, sizes, sizes)
def test_more_raw_tokens_are_never_shown_as_fewer(
    calibration: Calibration, raw: int, more: int
) -> None:
    assert calibration.shown(raw) <= calibration.shown(raw + more)
    assert calibration.shown(0) == 0


@given(sizes)
def test_without_a_family_or_a_ratio_every_size_is_shown_as_it_is(size: int) -> None:
    assert Calibration().shown(size) == Calibration().raw_limit(size) == size


def test_shown_rounds_up_and_is_not_led_astray_by_floats() -> None:
    assert Calibration(1.34).shown(100) == 134
    assert Calibration(1.34).shown(101) == 136
    assert Calibration(1.64, 1.25).raw_limit(205) == 100


def test_the_first_report_is_believed_at_once() -> None:
    assert observed(1_300).ratio == pytest.approx(1.3)
    assert observed(1_300).shown(1_000) == 1_300


def test_the_ratio_is_what_remains_after_the_familys_factor() -> None:
    calibration = observed(1_474, family=1.34)
    assert calibration.ratio == pytest.approx(1.1)
    assert calibration.shown(1_000) == 1_474


@given(calibrations, st.integers(1, 10**7), st.integers(1, 10**7))
def test_a_ratio_is_always_within_what_is_believed(
    calibration: Calibration, reported: int, raw: int
) -> None:
    after = calibration.observe(reported, raw, fresh_edit=False)
    assert RATIO_MIN <= after.ratio <= RATIO_MAX
    measured = reported / (raw * calibration.family)
    assert (after is calibration) == (not RATIO_MIN <= measured <= RATIO_MAX)


@pytest.mark.parametrize(
    ("reported", "raw", "fresh_edit"),
    [
        pytest.param(499, 1_000, False, id="below a half: only uncached tokens reported"),
        pytest.param(3_001, 1_000, False, id="above three: a sum of many requests"),
        pytest.param(0, 1_000, False, id="no usage"),
        pytest.param(-5, 1_000, False, id="nonsense"),
        pytest.param(1_000, 0, False, id="nothing of ours to compare with"),
        pytest.param(1_300, 1_000, True, id="a request with a fresh edit"),
    ],
)
def test_a_report_that_cannot_be_trusted_changes_nothing(
    reported: int, raw: int, fresh_edit: bool
) -> None:
    calibration = Calibration(1.0, 1.2)
    assert calibration.observe(reported, raw, fresh_edit=fresh_edit) is calibration


@pytest.mark.parametrize(("reported", "ratio"), [(500, 0.5), (3_000, 3.0)])
def test_both_ends_of_the_range_are_believed(reported: int, ratio: float) -> None:
    assert observed(reported).ratio == ratio


@given(st.integers(500, 3_000), st.integers(900, 1_500))
def test_one_anomaly_among_steady_reports_does_not_move_the_ratio(
    anomaly: int, steady: int
) -> None:
    settled = observed(steady, steady)
    shaken = settled.observe(anomaly, 1_000, fresh_edit=False)
    assert shaken.ratio == settled.ratio
    assert shaken.observe(steady, 1_000, fresh_edit=False).ratio == settled.ratio


def test_a_lasting_change_is_followed_at_its_second_report() -> None:
    assert observed(1_000, 1_000, 1_400).ratio == 1.0
    assert observed(1_000, 1_000, 1_400, 1_400).ratio == pytest.approx(1.4)


def test_of_two_reports_the_larger_is_in_force() -> None:
    assert observed(1_000, 1_200).ratio == observed(1_200, 1_000).ratio == pytest.approx(1.2)


@given(st.lists(st.integers(1, 5_000)))
def test_it_can_be_stored_by_its_three_fields_and_made_again(reports: list[int]) -> None:
    calibration = observed(*reports)
    assert len(calibration.recent) <= 3
    assert Calibration(**dataclasses.asdict(calibration)) == calibration


@pytest.mark.parametrize(
    ("family", "ratio", "recent"),
    [
        (0.0, 1.0, ()),
        (float("nan"), 1.0, ()),
        (float("inf"), 1.0, ()),
        (1.0, 0.4, ()),
        (1.0, 3.5, ()),
        (1.0, 1.0, (1.0, 9.0)),
    ],
)
def test_values_that_would_corrupt_the_budget_are_refused(
    family: float, ratio: float, recent: tuple[float, ...]
) -> None:
    with pytest.raises(SettingsError, match=r"(take it from|start from) `"):
        Calibration(family, ratio, recent)
