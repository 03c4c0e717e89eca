"""The bench measures real rounds, and what it measures follows the change and not the context."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from redraft.tokens import Meter

BENCH = Path(__file__).parents[1] / "bench"


def bench(*arguments: str) -> str:
    script = str(BENCH / "rounds.py")
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_there_is_a_row_for_each_size_and_place_of_the_edit_and_a_ratio_within_the_run() -> None:
    report = json.loads(bench("--json", "--sizes", "8000,32000,40000", "--repeat", "1"))
    rows = report["rows"]
    assert [(row["edit"], row["size"]) for row in rows] == [
        (edit, size) for edit in ("none", "early", "late") for size in (8_000, 32_000, 40_000)
    ]
    for row in rows:
        assert row["tokens"] == pytest.approx(row["size"], abs=1_500)
        assert row["ms"] == pytest.approx(sum(row["phases"].values()))
        assert row["slowest"] == row["ms"], "there was one round"
        assert row["cpu"] > 0
    by_size = {row["size"]: row["cpu"] for row in rows if row["edit"] == "late"}
    assert report["ratios"]["late"] == pytest.approx(by_size[40_000] / by_size[32_000])


def test_the_table_has_no_ratio_where_there_is_nothing_to_compare() -> None:
    table = bench("--sizes", "8000", "--repeat", "1")
    assert [line.split()[0] for line in table.splitlines()] == ["edit", "none", "early", "late"]


def world(tokens: int, meter: Meter) -> Any:
    spec = spec_from_file_location("redraft_bench_world", BENCH / "world.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.World(tokens, meter)


def effort(tokens: int, edit_at: float | None, meter: Meter) -> tuple[int, int]:
    """The turns of a session, and the calls of Python functions that one round of it takes."""
    small = world(tokens, meter)
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    try:
        small.round(edit_at)
        small.round(edit_at)
        before = sys.getprofile()
        sys.setprofile(count)
        small.round(edit_at)
        sys.setprofile(before)
        return len(small.session.live.turns), calls
    finally:
        small.close()


@pytest.mark.parametrize(
    ("edit_at", "most"), [(None, 8), (0.95, 16)], ids=["no edit", "an edit near the end"]
)
def test_a_round_takes_next_to_no_work_for_a_turn_that_stands(
    edit_at: float | None, most: int
) -> None:
    """Walking the list once or twice is cheap, checking each message again is not: that takes some
    forty calls a turn. Calls are counted since no test looks at a clock."""
    meter = Meter()
    (few, less), (many, more) = (effort(size, edit_at, meter) for size in (8_000, 64_000))
    assert many > few + 50
    assert (more - less) / (many - few) < most
