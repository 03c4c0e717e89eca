"""The bench of the accounting: it runs, and says what it measured. No clock is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "bench" / "bench_cost.py"


def bench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_as_json_there_is_a_row_for_each_cache_model() -> None:
    found = json.loads(bench("--json", "--calls", "40", "--size", "4000"))
    assert found["calls"] == 40
    assert 3_000 < found["largest"] <= 4_000
    by_name = {row["cache"]: row for row in found["rows"]}
    assert {"longest-prefix", "radix", "openai", "anthropic", "suffix-64"} <= set(by_name)
    assert by_name["suffix-64"]["read"] > by_name["longest-prefix"]["read"] > 0.5


def test_the_table_has_a_line_for_each() -> None:
    lines = bench("--calls", "20", "--size", "4000").splitlines()
    assert lines[0].startswith("20 calls, the largest request")
    assert len(lines) == 2 + 12
