"""`redraft scorecard`, and the metrics of each exchange in every place where a script reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import redraft, run, script

FIGURES = ("--sandbox", "local")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_exchange_has_its_row_and_the_rows_their_means() -> None:
    with script("ls", "pwd") as server:
        ran = run(server, *FIGURES, "--json").json
        more = redraft(
            *("resume", "last", "--say", "And now?", "--retries", "0", "--json"),
            env={"OPENAI_API_KEY": "k"},
        ).json
    (first,) = ran["exchanges"]
    assert (first["rounds"], first["tool_calls"], first["answered"]) == (3, 2, True)
    assert first["metrics"]["harness"]["total_tokens"] == ran["metrics"]["harness"]["total_tokens"]
    assert [one["rounds"] for one in more["exchanges"]] == [3, 1]
    total = more["metrics"]["harness"]["total_tokens"]
    assert total == sum(one["total_tokens"] for one in more["exchanges"]) > 0
    shown = json.loads(redraft("show", "last", "--json").out)
    assert shown["exchanges"] == more["exchanges"]
    assert shown["metrics"]["harness"] == more["metrics"]["harness"]

    card = json.loads(redraft("scorecard", "last", "--json").out)
    rows = card["rows"]
    assert [(row["exchange"], row["rounds"], row["tool_calls"]) for row in rows] == [
        (1, 3, 2),
        (2, 1, 0),
    ]
    assert sum(row["total_tokens"] for row in rows) == total
    assert rows[0]["tokens_per_tool_call"] == rows[0]["total_tokens"] / 2
    assert "tokens_per_tool_call" not in rows[1]
    means = card["aggregate"]
    assert means["avg_total_tokens"] == total / 2
    assert means["avg_tokens_per_tool_call"] == rows[0]["tokens_per_tool_call"]
    assert set(means) == {
        "avg_input_tokens",
        "avg_total_tokens",
        "avg_tokens_per_tool_call",
        "avg_tokens_per_round",
    }
    twice = json.loads(redraft("scorecard", "last", "last", "--json").out)
    assert twice == card  # each run counts once
    table = redraft("scorecard", "last", "last").out.splitlines()
    for title in ("exchange", "rounds", "calls", "total", "per round"):
        assert title in table[0]
    assert table[-1].startswith("mean")


def test_a_run_that_is_not_there_is_an_error() -> None:
    assert redraft("scorecard", "nowhere").code == 4


def test_the_log_tells_what_the_exchange_took() -> None:
    with script("ls") as server:
        run(server, *FIGURES)
    lines = [json.loads(line) for line in redraft("log", "last", "--json").out.splitlines()]
    (ended,) = [line for line in lines if line["type"] == "exchange_ended"]
    assert (ended["rounds"], ended["tool_calls"], ended["answered"]) == (2, 1, True)
    assert ended["total_tokens"] > 0
    assert lines[-1]["type"] == "run_ended"
