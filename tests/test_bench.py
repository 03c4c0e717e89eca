"""The bench measures real rounds: it runs, says what it measured, and compares within one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "rounds.py"


def bench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_as_json_there_is_a_row_for_each_size_and_place_of_the_edit() -> None:
    report = json.loads(bench("--json", "--sizes", "8000,32000,40000", "--repeat", "1"))
    rows = report["rows"]
    assert [(row["edit"], row["size"]) for row in rows] == [
        (edit, size) for edit in ("none", "early", "late") for size in (8_000, 32_000, 40_000)
    ]
    for row in rows:
        assert row["tokens"] == pytest.approx(row["size"], abs=1_500)
        assert row["ms"] == pytest.approx(sum(row["phases"].values()))
        assert row["slowest"] == row["ms"], "there was one round"
    by_size = {row["size"]: row["ms"] for row in rows if row["edit"] == "late"}
    assert report["ratios"]["late"] == pytest.approx(by_size[40_000] / by_size[32_000])


def test_the_table_has_no_ratio_where_there_is_nothing_to_compare() -> None:
    table = bench("--sizes", "8000", "--repeat", "1")
    assert [line.split()[0] for line in table.splitlines()] == ["edit", "none", "early", "late"]
