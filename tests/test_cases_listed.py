"""docs/design/cases.md names every fault of the collection, and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shared import SHARED

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "design" / "cases.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]


def row(line: str) -> int:
    return int(line.split("|")[1])


def test_every_row_is_there_once_and_in_order() -> None:
    assert len(ROWS) == 75
    assert [row(line) for line in ROWS] == sorted({row(line) for line in ROWS})


def test_the_rows_are_those_of_the_collection() -> None:
    cases = SHARED / "spec" / "cases.md"
    if not cases.is_file():
        pytest.skip(f"no collection of cases in {SHARED}; set REDRAFT_SHARED to where it lies")
    wanted = re.findall(r"^\| (\d+) \|", cases.read_text("utf-8"), re.M)
    assert [row(line) for line in ROWS] == sorted(map(int, wanted))


@pytest.mark.parametrize("line", ROWS, ids=lambda line: f"row {row(line)}")
def test_each_row_names_tests_that_are_there(line: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", line)
    assert named
    for file, test in named:
        assert f"def {test or 'test_'}" in (ROOT / file).read_text("utf-8")
