"""`redraft demo`, and the scripted player behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from typer.testing import CliRunner

from redraft.agent import RunStatus
from redraft.cli.app import app
from redraft.cli.demo import play
from redraft.events import EditJudged, Event, RequestMade
from redraft.testing.alerts import Grade, make_alert_task
from redraft.testing.players import COMPACT, alert_player

TASK = make_alert_task(parts=18, seed=7)
BUDGET = 10_000


@pytest.fixture(scope="module")
def edited() -> tuple[list[Event], Any]:
    events: list[Event] = []
    return events, play(TASK, "file", BUDGET, events.append)


def test_the_player_reports_every_open_alert_in_a_context_it_may_edit(
    edited: tuple[list[Event], Any],
) -> None:
    _, result = edited
    assert result.status is RunStatus.FINISHED
    assert TASK.grade(result.answer) == Grade(len(TASK.open), 0, len(TASK.open))


def test_its_edits_are_applied_and_keep_every_request_within_the_limit(
    edited: tuple[list[Event], Any],
) -> None:
    events, result = edited
    judged = [event for event in events if isinstance(event, EditJudged)]
    edits = [event for event in judged if event.author == "model"]
    requests = [event for event in events if isinstance(event, RequestMade)]
    assert len(edits) >= 3
    assert {(one.source, one.status) for one in judged} == {
        ("file", "applied"),
        ("elide", "applied"),
    }
    assert all(request.tokens <= request.limit for request in requests)
    assert result.metrics.rollbacks == 0


def test_the_same_player_fails_in_a_context_that_can_only_grow() -> None:
    result = play(TASK, "none", BUDGET, lambda event: None)
    assert result.status is RunStatus.STOPPED
    assert result.metrics.applied == 0
    assert TASK.grade(result.answer).score < 0.5


def test_the_player_is_a_pure_function_of_the_request() -> None:
    request: Mapping[str, Any] = {
        "messages": [
            {"role": "system", "content": "..."},
            {"role": "user", "content": TASK.prompt},
        ]
    }
    before = json.dumps(request)
    assert alert_player(request) == alert_player(json.loads(before))
    assert json.dumps(request) == before


def test_the_player_knows_nothing_that_is_not_in_the_request() -> None:
    source = json.dumps(alert_player.__code__.co_names) + COMPACT
    assert not any(reference in source for reference in TASK.open)
    blind = {"messages": [{"role": "user", "content": TASK.prompt}]}
    said = json.dumps(alert_player(blind))
    assert not any(reference in said for reference in TASK.open)


def test_a_grade_counts_wrong_references_against_the_answer() -> None:
    right = sorted(TASK.open)
    half = right[: len(right) // 2]
    grade = TASK.grade("\n".join([*half, "ref=0123"]))
    assert grade == Grade(len(half), 1, len(right))
    assert grade.score == len(half) / (len(right) + 1)
    assert TASK.grade("").score == 0


def test_a_seed_makes_the_same_task_and_another_seed_another() -> None:
    assert make_alert_task(6, 3) == make_alert_task(6, 3)
    assert make_alert_task(6, 3).open != make_alert_task(6, 4).open


def test_demo_prints_one_json_object_on_request() -> None:
    run = CliRunner().invoke(app, ["demo", "--parts", "12", "--json"])
    assert run.exit_code == 0, run.output
    rows = {row["policy"]: row for row in json.loads(run.stdout)["runs"]}
    assert rows["context-file"]["score"] == 1.0
    assert rows["append-only"]["score"] < rows["context-file"]["score"]


def test_demo_shows_edits_as_they_land_and_a_table_at_the_end() -> None:
    run = CliRunner().invoke(app, ["demo", "--parts", "12"])
    assert run.exit_code == 0, run.output
    assert "edit 1 applied" in run.output
    assert "context-file" in run.stdout
    assert "100%" in run.stdout
    assert "append-only" in run.stdout
