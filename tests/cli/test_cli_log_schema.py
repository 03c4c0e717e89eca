"""`redraft log --follow --json` prints every event as one line that keeps to docs/api/events.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_world import EDIT, process, redraft, run, script

from redraft.events import event_catalogue, event_from_dict
from redraft.store import SQLiteJournal, Told, find_run

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "events"))

from schema_world import faults  # noqa: E402

SCHEMA = json.loads((ROOT / "docs" / "api" / "events.json").read_text(encoding="utf-8"))


def checked(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        assert list(faults(line, SCHEMA, SCHEMA)) == [], line


def test_the_schema_in_the_docs_is_the_one_of_the_program() -> None:
    assert event_catalogue() == SCHEMA


def test_every_event_of_a_real_run_is_a_line_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with script("ls", "echo one", EDIT, "touch seen") as server:
        run(server, "--sandbox", "local", "--ask", "touch")
    with process("log", "last", "--follow", "--json") as following:
        out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    lines = [json.loads(line) for line in out.decode().splitlines()]
    checked(lines)
    with SQLiteJournal(find_run("last"), write=False) as journal:
        told = [
            (recorded.seq, recorded.entry.event)
            for recorded in journal.tail().new()
            if isinstance(recorded.entry, Told)
        ]
    assert [(line["seq"], event_from_dict(line)) for line in lines] == told
    kinds = {line["type"] for line in lines}
    assert {
        "approval_asked",
        "command_started",
        "command_ended",
        "edit_judged",
        "exchange_ended",
        "reply_read",
        "request_made",
        "round_ended",
        "run_ended",
    } <= kinds
    redraft("reject", "last", "a4.1")
    lines = [json.loads(line) for line in redraft("log", "last", "--json").out.splitlines()]
    checked(lines)
    assert {"approval_decided", "approval_settled"} <= {line["type"] for line in lines}


def test_a_line_that_says_something_else_is_found_out() -> None:
    good = {"type": "run_ended", "round": 1, "status": "finished", "why": ""}
    checked([good])
    for bad in ({**good, "more": 1}, {**good, "round": "1"}, {"type": "run_ended"}, {"type": "x"}):
        assert list(faults(bad, SCHEMA, SCHEMA))
