"""How a run is summed up."""

from __future__ import annotations

import json

from redraft.agent import Metrics, RunResult, RunStatus
from redraft.cli.report import as_json, summary
from redraft.errors import SettingsError

METRICS = Metrics(
    rounds=12,
    steps=1,
    commands=14,
    limit=30_000,
    peak_tokens=29_001,
    sent_tokens=123_456,
    read_tokens=45_000,
    reread_tokens=3_000,
    prompt_tokens=120_000,
    cached_tokens=80_000,
    output_tokens=4_000,
    edits={"applied": 2, "grew": 1, "rejected": 3, "no-match": 1},
    rejected={"fit": 2, "shrink": 1},
    rollbacks=1,
)


def test_a_summary_says_how_it_ended_and_what_it_took() -> None:
    stopped = RunResult("", RunStatus.STOPPED, "the step budget is spent", METRICS)
    assert summary(stopped, 200) == [
        "stopped, because the step budget is spent: 1 step of 200 in 12 model calls, 14 commands",
        "context: peak 29,001 of 30,000 tokens; 3 edits applied, 1 of them grew, 3 rejected (fit 2, "
        "shrink), 1 no-match, 1 rollback",
        "tokens: 123,456 sent, 45,000 of them not in the prefix of the request before, 3,000 of these "
        "read a second time after edits",
        "the server counted 120,000 in (80,000 from its cache) and 4,000 out",
    ]


def test_what_the_server_does_not_count_is_left_out() -> None:
    assert not any("server" in line for line in summary(RunResult(), 9))


def test_a_limit_that_the_server_brought_down_is_no_riddle() -> None:
    lines = summary(RunResult(metrics=Metrics(peak_tokens=900, limit=500)), 9)
    assert "peak 900 tokens; the limit came down to 500" in lines[1]


def test_json_is_one_line_of_plain_ascii_that_holds_everything() -> None:
    result = RunResult("caf\u00e9 \ud800\n", RunStatus.FAILED, "why", METRICS)
    line = as_json(result, model="m", code=2, error=SettingsError("no"))
    assert line.isascii()
    assert "\n" not in line
    told = json.loads(line)
    assert told["answer"] == "caf\u00e9 \ud800\n"
    assert told["error"] == {"type": "SettingsError", "message": "no"}
    assert told["metrics"]["rejected"] == {"fit": 2, "shrink": 1}
    assert set(told["metrics"]) == set(Metrics.__dataclass_fields__)
