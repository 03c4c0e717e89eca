"""The audit: what must survive is found word for word, and nothing may be made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.dialects.preserve import Approval, approval_line
from redraft.policies import audit
from redraft.policies.audit import MOST_VALUES, exact_values

ORIGINALS = [
    "The key is in /etc/app/keys.toml, commit 3f2a91c07be4, ticket OPS-1422, port 8443.",
    "See https://example.org/a/b?x=1. It took 12.5 s on 2026-11-30; 3 of 48 tests fail.",
]
GOOD = (
    "OPS-1422: 3 of 48 tests fail on port 8443 (12.5 s, 2026-11-30), commit 3f2a91c07be4, "
    "/etc/app/keys.toml, https://example.org/a/b?x=1"
)


def test_a_summary_that_keeps_every_exact_value_passes() -> None:
    report = audit(ORIGINALS, GOOD)
    assert report.ok, report
    assert report.recall == 1
    assert [item.value for item in report.found] == [
        "/etc/app/keys.toml",
        "3f2a91c07be4",
        "OPS-1422",
        "https://example.org/a/b?x=1",
    ]


DIGITS = [at for at, letter in enumerate(GOOD) if letter.isdigit()]


@pytest.mark.parametrize("at", DIGITS)
def test_one_changed_digit_fails(at: int) -> None:
    other = str((int(GOOD[at]) + 5) % 10)
    wrong = f"{GOOD[:at]}{other}{GOOD[at + 1 :]}"
    report = audit(ORIGINALS, wrong)
    assert not report.ok
    assert report.missing or report.invented


@given(st.integers(10_000, 10**12), st.data())
def test_a_long_number_survives_only_digit_for_digit(number: int, data: st.DataObject) -> None:
    text = str(number)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from([one for one in "0123456789" if one != text[at]]))
    assert audit([f"row {text} failed"], f"It was row {text}.").ok
    assert not audit([f"row {text} failed"], f"row {text[:at]}{other}{text[at + 1 :]}").ok


@pytest.mark.parametrize("piece", ["/etc/app/keys.toml.bak", "x/etc/app/keys.toml"])
def test_a_value_inside_of_a_longer_one_does_not_count(piece: str) -> None:
    report = audit(["Edit /etc/app/keys.toml now"], f"Edit {piece}")
    assert [item.value for item in report.missing] == ["/etc/app/keys.toml"]


def test_an_approval_must_go_on_waiting() -> None:
    line = approval_line(Approval("ap_1", "push"))
    assert not audit([f"so\n{line}"], "ap_1 was asked for").ok
    assert audit([f"so\n{line}"], f"short\n{line}").ok


def test_an_approval_that_was_decided_meanwhile_is_not_asked_for() -> None:
    line = approval_line(Approval("ap_1", "push"))
    assert audit([f"so\n{line}"], "short", settled={"ap_1"}).ok
    assert not audit([f"so\n{line}"], "short", settled={"ap_2"}).ok


def test_the_numbers_of_a_list_are_no_figures() -> None:
    assert audit(["it works"], "1. It works\n2) really").ok


def test_only_so_many_values_are_asked_for_and_the_newest_of_them() -> None:
    texts = [f"commit {at:011x}f" for at in range(MOST_VALUES + 5)]
    texts = [text.replace("00000000", "a1b2c3d4") for text in texts]
    report = audit(texts, "nothing")
    assert len(report.missing) == MOST_VALUES
    assert report.beyond == 5
    assert report.missing[-1].value == exact_values(texts[-1])[0]


@pytest.mark.parametrize("shape", ["a", "a.", "/a", "1.", "a@", "http://", "a-1"])
def test_a_long_text_of_any_shape_is_read_in_one_go(shape: str) -> None:
    text = shape * 30_000  # a pattern that backtracks would take minutes
    assert audit([text], "short").beyond >= 0
    exact_values(text)
