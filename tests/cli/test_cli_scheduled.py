"""`redraft run --policy`: names and options as somebody types them, the summarizer, resume, the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from cli_world import bash, redraft, run, say

from redraft.cli.context_report import report_lines
from redraft.policies import ContextReport, Item, Preservation, Rotation
from redraft.policies.report import MemoryPlan
from redraft.policies.tuning import Adjustment
from redraft.testing import FakeServer

PRINTS = 'for i in $(seq 60); do echo "line $i of a long listing that says nothing new"; done'
SMALL = ("--sandbox", "local", "--budget", "9000")


class Worker:
    """Prints long listings and answers; asked for a summary, it writes one. One for each model."""

    def __init__(self, rounds: int = 15) -> None:
        self.left = rounds
        self.summaries: list[str] = []

    def __call__(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        messages = request["messages"]
        if str(messages[0]["content"]).startswith("You shorten the record"):
            self.summaries.append(request["model"])
            return say("- it listed lines that say nothing new")
        if "This is your last turn" in str(messages[-1]["content"]) or not self.left:
            return say("done")
        self.left -= 1
        return bash(PRINTS, self.left)


def test_a_policy_compacts_and_everybody_can_see_it() -> None:
    worker = Worker()
    with FakeServer(worker) as server:
        done = run(server, *SMALL, "--policy", "threshold-summary", "--json")
        assert (done.code, done.json["answer"]) == (0, "done")
        # The harness decides alone: the model is not told of any file.
        assert "REDRAFT_CONTEXT_FILE" not in str(server.requests[0])
    metrics = done.json["metrics"]
    assert metrics["rotations"] == {"threshold-summary": len(worker.summaries)}
    assert set(worker.summaries) == {"test-model"}
    assert metrics["outside_tokens"] > 0
    assert "threshold-summary: " in done.err
    assert "spent outside of the window" in done.err
    log = redraft("log", "last").out
    assert "by the policy (threshold-summary)" in log
    kinds = [json.loads(line)["type"] for line in redraft("log", "last", "--json").out.splitlines()]
    assert kinds.count("policy_acted") == len(worker.summaries)
    assert "policies: " in redraft("show", "last").out


def test_the_report_has_five_parts_in_their_order() -> None:
    with FakeServer(Worker()) as server:
        assert run(server, *SMALL, "--policy", "manager", "--quiet").code == 0
    told = redraft("show", "last", "--report").out
    heads = [line for line in told.splitlines() if line[:1].isdigit()]
    assert [head.partition(". ")[2] for head in heads] == [
        "Context status",
        "Strategy",
        "Preservation audit",
        "External memory",
        "Token efficiency",
    ]
    values = redraft("show", "last", "--report", "--json").json
    assert list(values)[:5] == ["status", "strategy", "preservation", "memory", "efficiency"]
    assert values["rotations"]
    assert values["strategy"]["name"] == values["rotations"][-1]["method"]
    assert values["efficiency"]["saved_per_hour"] > 0


def test_the_report_counts_as_the_run_itself_does() -> None:
    worker = Worker()
    with FakeServer(worker) as server:
        done = run(server, *SMALL, "--policy", "threshold-summary", "--json")
    values = redraft("show", "last", "--report", "--json").json
    limit = values["status"]["limit"]
    assert f" of {limit:,} tokens" in done.err
    assert 0 < values["status"]["tokens"] <= limit
    assert all(one["after"] < one["before"] <= 1.1 * limit for one in values["rotations"])


def test_the_report_names_a_policy_by_which_the_model_decides() -> None:
    with FakeServer(Worker(1)) as server:
        assert run(server, *SMALL, "--policy", "self-compact").code == 0
    assert "self-compact: the model decides" in redraft("show", "last", "--report").out


def test_the_report_of_a_run_without_a_policy() -> None:
    with FakeServer(Worker(1)) as server:
        assert run(server, *SMALL).code == 0
    assert "none: no policy is scheduled" in redraft("show", "last", "--report").out


def test_options_and_the_built_in_summarizer(tmp_path: Any) -> None:
    worker = Worker()
    options = ("--policy-option", "trigger=0.6", "--policy-option", "summary=300")
    memory = ("--memory", str(tmp_path / "memory.db"))
    with FakeServer(worker) as server:
        done = run(
            server, *SMALL, "--policy", "threshold-summary", *options, *memory,
            "--summarizer", "extractive", "--json",
        )  # fmt: skip
    assert done.json["metrics"]["rotations"]
    assert done.json["metrics"]["outside_tokens"] == 0
    assert worker.summaries == []


def test_what_is_no_memory_is_found_before_the_run_begins(tmp_path: Any) -> None:
    broken = tmp_path / "memory.db"
    broken.write_text("no database")
    with FakeServer(Worker(1)) as server:
        for place in (broken, tmp_path):
            done = run(server, *SMALL, "--policy", "manager", "--memory", str(place))
            assert done.code != 0
            assert str(place) in done.err
            assert "Traceback" not in done.err
        assert not server.requests
    assert redraft("ls").out.count("\n") <= 1


def test_another_model_of_the_same_server_summarizes_also_after_resume() -> None:
    worker = Worker(30)
    with FakeServer(worker) as server:
        stopped = run(
            server,
            *SMALL,
            "--policy",
            "threshold-summary",
            "--summarizer",
            "tiny",
            "--max-steps",
            "12",
        )
        assert stopped.code != 0
        before = len(worker.summaries)
        assert before
        assert redraft("undo", "last", "1").code in (0, 2)  # which knows no model at all
        key = {"OPENAI_API_KEY": "k"}
        done = redraft("resume", "last", "--max-steps", "60", "--retries", "0", "--json", env=key)
        assert done.json["answer"] == "done"
    assert len(worker.summaries) > before
    assert set(worker.summaries) == {"tiny"}
    assert done.json["metrics"]["rotations"] == {"threshold-summary": len(worker.summaries)}


@pytest.mark.parametrize(
    ("policy", "named", "file"),
    [
        ("context-file", (), True),
        ("append-only", (), False),
        ("hybrid", (), True),
        ("sliding-window", ("--interface", "file"), True),
        ("context-file", ("--interface", "both"), True),
        ("context-tools", (), False),
        ("self-compact", (), False),
        ("fold", ("--policy-option", "bodies=2"), False),
    ],
)
def test_who_has_a_context_file(policy: str, named: tuple[str, ...], file: bool) -> None:
    with FakeServer(Worker(1)) as server:
        assert run(server, *SMALL, "--policy", policy, *named).code == 0
        assert ("REDRAFT_CONTEXT_FILE" in str(server.requests[0])) is file


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--policy", "sliding-windows"), "sliding-window"),
        (("--policy", "sliding-window", "--policy-option", "trigger"), "NAME=VALUE"),
        (("--policy", "sliding-window", "--policy-option", "trigger=9"), "trigger=9"),
        (("--policy", "sliding-window", "--policy-option", "tigger=0.8"), "trigger=0.75"),
        (("--policy-option", "trigger=0.8"), "--policy"),
        (("--policy", "append-only", "--policy-option", "x=1"), "append-only has no"),
        (("--policy", "fold", "--policy-option", "depth=0"), "from 1. Options of fold, with their"),
        (("--policy", "context-file", "--interface", "context-tools"), "is --interface file"),
        (("--policy", "context-tools", "--interface", "both"), "is --interface context-tools"),
    ],
)
def test_a_mistake_is_said_before_anything_is_sent(arguments: tuple[str, ...], says: str) -> None:
    with FakeServer(Worker()) as server:
        done = run(server, *SMALL, *arguments)
        assert server.requests == []
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err
    assert "no run" in redraft("show", "last").err


def test_a_summarizer_that_fails_is_said_and_the_run_goes_on() -> None:
    worker = Worker()

    def broken(request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = worker(request)
        return say("") if worker.summaries and answer["content"] else answer

    with FakeServer(broken) as server:
        done = run(server, *SMALL, "--policy", "threshold-summary", "--max-steps", "14")
    assert "threshold-summary goes on without help: an empty reply" in done.err
    assert "threshold-summary by sliding-window" in done.err
    assert "not to be had" in done.err


def test_a_report_in_words() -> None:
    missing = Item("identifier", "8812934")
    found = Item("task", "abc", 2, "Do the task.")
    rotations = tuple(Rotation(60.0 * at, "offload", "why", 100, 50, at) for at in range(25))
    report = ContextReport(
        500,
        1_000,
        "offload",
        "most of the context is tool output",
        Preservation((found,), (missing,), ("77777",)),
        MemoryPlan(("disk",), 2, 3_000, items="/home/ann/memory.db"),
        1_234.4,
        rotations,
        (Adjustment(61.0, 0.7, 0.72, "little was saved"),),
    )
    lines = "\n".join(report_lines(report))
    for words in (
        "500 of 1,000 tokens, 50.0 % used",
        "offload: most of the context is tool output",
        "2 critical items: 1 missing",
        "missing  identifier: 8812934",
        "found    task (turn 2): Do the task.",
        "invented 77777",
        "2 pointers to 3,000 bytes (disk); by id",
        "items and states in /home/ann/memory.db; by words",
        "1,234 tokens saved for each hour",
        "5 earlier ones",
        "1970-01-01 00:24:00  offload: 100 -> 50 tokens, 24 spent (why)",
        "1970-01-01 00:01:01  trigger 70% -> 72%: little was saved",
    ):
        assert words in lines
