"""Lines of `redraft log --json` keep to the catalogue of events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from schema_world import faults
from typer.testing import CliRunner

from redraft import Session
from redraft.cli.app import app
from redraft.events import event_catalogue
from redraft.store import SQLiteJournal

HEAD = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Go."}]


def test_every_line_of_a_log_is_an_event_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path))
    message = {"role": "assistant", "content": "Done."}
    run = tmp_path / "runs" / "one"
    with SQLiteJournal(run) as journal, Session(HEAD, journal=journal) as session:
        session.request()
        with session.answer() as answer:
            answer({"choices": [{"message": message, "finish_reason": "stop"}]})
        session.finish("enough")
    done = CliRunner().invoke(app, ["log", str(run), "--json"])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    schema = event_catalogue()
    assert {"request_made", "reply_read"} <= {line["type"] for line in lines}
    for line in lines:
        assert {"seq", "at"} <= set(line)
        assert list(faults(line, schema, schema)) == []
