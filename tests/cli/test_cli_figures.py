"""The figures of a run, as `run` and `show` tell them to people and to scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import EDIT, Done, redraft, run, say, script

from redraft.agent import Metrics, ModelCall, RunCost, RunResult
from redraft.cli.report import as_json, costs, figures, summary
from redraft.cost import Money

MONEY = Money(0.01234, "house-model", "prices.json", "sha256:ab", ("a write is not listed",))
METRICS = Metrics(
    rounds=12,
    steps=9,
    free_rounds=2,
    limit=30_000,
    peak_tokens=29_001,
    median_tokens=14_500,
    sent_tokens=123_456,
    read_tokens=45_000,
    reread_tokens=3_000,
    elided_tokens=2_100,
    edits={"applied": 2, "queued": 1, "rejected": 1},
    rejected={"fit": 1},
    nudges={"tidy": 2, "urgent": 1},
    rollbacks=1,
)


def test_a_summary_names_what_became_of_the_context() -> None:
    began, context, tokens = summary(RunResult(metrics=METRICS), 200)
    assert began.endswith("12 model calls, 0 commands, 2 free rounds")
    assert context == (
        "context: peak 29,001 of 30,000 tokens, median 14,500; 2 edits applied, 1 rejected (fit), "
        "1 queued, 1 rollback, 3 nudges (tidy 2, urgent), 2,100 tokens of edits' own commands elided"
    )
    assert tokens.startswith("tokens: 123,456 sent")
    assert figures(METRICS) == [context, tokens]


def test_what_is_not_known_of_the_costs_is_not_said() -> None:
    assert costs(RunCost(unpriced="nobody knows it")) == []


def test_costs_name_the_shape_and_the_price_list() -> None:
    cost = RunCost(1.407e14, "Qwen3.6-27B", MONEY, notes=("1 call of 2 not priced",))
    assert costs(cost) == [
        "compute: 1.41e+14 FLOPs by the shape of Qwen3.6-27B, every prefix reused",
        "money: $0.0123 by the server's count, at the prices of house-model in prices.json sha256:ab",
        "  (a write is not listed; 1 call of 2 not priced)",
    ]


def test_dollars_have_cents() -> None:
    (line,) = costs(RunCost(money=Money(1_234.5, "m", "list", "1")))
    assert "$1,234.50" in line


def test_json_holds_the_costs_beside_the_metrics() -> None:
    result = RunResult(metrics=METRICS, calls=(ModelCall(900, 100),), model="qwen3-8b")
    told = json.loads(as_json(result, model="qwen3-8b", code=0))
    assert told["cost"]["geometry"] == "Qwen3-8B"
    assert told["cost"]["flops"] > 0
    assert told["cost"]["money"] is None
    assert told["cost"]["unpriced"] == "the server reported no usage"
    told = json.loads(as_json(result, model="m", code=0, cost=RunCost(money=MONEY)))
    assert told["cost"]["money"]["version"] == "sha256:ab"


# --- the real command -------------------------------------------------------------------------------


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A price file for the model of these tests."""
    entry = {"input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6}
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"test-model": entry}), encoding="utf-8")
    monkeypatch.setenv("REDRAFT_PRICE_FILE", str(file))


def ran(*arguments: str) -> Done:
    with script("seq 1 900", EDIT, say("fine")) as server:
        done = run(server, *arguments)
    assert done.code == 0, done.err
    return done


@pytest.mark.usefixtures("priced")
def test_a_run_and_the_look_into_it_tell_the_same_figures() -> None:
    told = ran("--json").json
    shown = json.loads(redraft("show", "last", "--json").out)
    assert shown["metrics"] == told["metrics"]
    assert shown["cost"] == told["cost"]
    assert told["metrics"]["elided_tokens"] > 100
    money = told["cost"]["money"]
    counted = told["metrics"]["prompt_tokens"] * 1e-6 + told["metrics"]["output_tokens"] * 4e-6
    assert money["usd"] == pytest.approx(counted)
    assert (money["source"], money["model"]) == ("prices.json", "test-model")
    assert money["version"].startswith("sha256:")


@pytest.mark.usefixtures("priced")
def test_a_run_and_the_look_into_it_tell_them_in_words() -> None:
    said = ran().err
    shown = redraft("show", "last").out
    for line in ("tokens of edits' own commands elided", "money: $", "1 free round", "median"):
        assert line in said
    for line in ("tokens of edits' own commands elided", "money: $", "peak", "median"):
        assert line in shown
    turns = json.loads(redraft("show", "last", "--json").out)["turns"]
    assert any("edit 1 was applied; what it wrote" in turn["says"] for turn in turns)


def test_a_price_that_nobody_knows_is_no_zero() -> None:
    told = ran("--json").json
    assert told["cost"]["money"] is None
    assert "test-model" in told["cost"]["unpriced"]


def test_the_option_turns_it_off() -> None:
    with script("seq 1 900", EDIT, say("fine")) as server:
        told = run(server, "--json", env={"REDRAFT_ELIDE_EDITS": "off"}).json
    assert told["metrics"]["elided_tokens"] == 0
    assert [one["source"] for one in told["receipts"]] == ["file"]
