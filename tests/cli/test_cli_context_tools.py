"""`redraft run` with the context tools: natively and as text, incognito, undone, pruned."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cli_world import Message, call, calling, redraft, results, run, say, script

from redraft.dialects.fenced_calls import call_fence
from redraft.store import SQLiteOverflow, find_run, list_runs
from redraft.store.runs import runs_home
from redraft.tools.catalogue import TOOL_ARGUMENTS

BIG = "seq 1 900"


def drop(*handles: str, at: int = 50) -> Message:
    return calling(call("context_drop", json.dumps({"handles": handles}), at))


def tools_of(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request.get("tools", [])]


ASKING = "Count, and free up your context when you are done with a number."


def test_a_run_drops_a_result_and_undo_brings_it_back() -> None:
    with script(BIG, drop("call_1"), "echo on", say("Counted.")) as server:
        done = run(server, "--interface", "context-tools", task=ASKING)
        assert done.code == 0, done.err
        first, *_ = server.requests
        assert tools_of(first) == ["bash", *TOOL_ARGUMENTS]
        assert all(tools_of(request) == tools_of(first) for request in server.requests)
        assert results(server)[0].startswith("[overflow id=")
        assert "dropped: call_1" in results(server)[1]
    log = redraft("log", "last")
    assert "context_drop call_1\n" in log.out
    events = [json.loads(line) for line in redraft("log", "last", "--json").out.splitlines()]
    told = [e for e in events if e.get("type") == "context_op" or e.get("event") == "context_op"]
    assert told
    undone = redraft("undo", "last", "1")
    assert undone.code == 0, undone.err
    shown = json.loads(redraft("show", "last", "--json").out)
    assert any(row["tokens"] > 900 for row in shown["turns"])


def test_the_file_and_the_tools_land_in_one_journal(tmp_path: Path) -> None:
    edit = (
        "python3 - <<'EOF'\nimport os\np = os.environ['REDRAFT_CONTEXT_FILE']\nt = open(p).read()\n"
    )
    edit += "open(p, 'w').write(t.replace('on and on', 'on'))\nEOF"
    with script(BIG, "echo on and on", drop("call_1"), edit, say("Counted.")) as server:
        done = run(server, "--interface", "all", task=ASKING)
        assert done.code == 0, done.err
        assert tools_of(server.requests[0]) == ["bash", "edit_context", *TOOL_ARGUMENTS]
    for revision in ("2", "1"):
        undone = redraft("undo", "last", revision)
        assert undone.code == 0, undone.err
    shown = redraft("show", "last", "--json").out
    assert any(row["tokens"] > 900 for row in json.loads(shown)["turns"])


def test_a_fenced_run_is_told_the_syntax_and_uses_it() -> None:
    written = [
        say(call_fence("bash", json.dumps({"command": BIG}))),
        say(call_fence("context_drop", json.dumps({"handles": ["r1.1"]}))),
        say("Counted."),
    ]
    with script(*written) as server:
        done = run(server, "--interface", "context-tools", "--tool-calls", "fenced", task=ASKING)
        assert done.code == 0, done.err
        assert all("tools" not in request for request in server.requests)
        said = [str(message["content"]) for message in server.requests[-1]["messages"]]
        assert sum("From now on you can manage" in text for text in said) == 1
        assert any("[overflow id=" in text and "call_id=r1.1" in text for text in said)
        assert any("dropped: r1.1" in text for text in said)


def test_an_incognito_run_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, temporary, work = (tmp_path / name for name in ("home", "tmp", "work"))
    for place in (home, temporary, work):
        place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    env = {"HOME": str(home), "TMPDIR": str(temporary), "REDRAFT_HOME": str(home / "redraft")}
    with script(BIG, drop("call_1"), say("Counted.")) as server:
        done = run(
            server, "--incognito", "--sandbox", "local", "-C", str(work), task=ASKING, env=env
        )
        assert done.code == 0, done.err
        assert "memory-only (incognito)" in results(server)[0]
        assert "cannot be restored" in results(server)[1]
    assert "incognito: nothing of it is kept" in done.err
    assert "redraft resume" not in done.err
    assert [path for place in (home, temporary, work) for path in place.rglob("*")] == []


@pytest.mark.parametrize("interface", ["file", "both", "all"])
def test_an_incognito_run_with_a_file_is_refused(interface: str) -> None:
    with script() as server:
        done = run(server, "--incognito", "--sandbox", "local", "--interface", interface)
    assert done.code == 2
    assert "leaves nothing behind" in done.err
    assert list_runs() == []


def test_gc_prunes_originals_that_nothing_cites() -> None:
    with script(BIG, drop("call_1"), say("Counted.")) as server:
        assert run(server, "--interface", "context-tools", task=ASKING).code == 0
    place = find_run("last")
    with SQLiteOverflow(place / "overflow.db", clock=lambda: 1_000.0) as store:
        stray = store.put("stray " * 99)
    done = redraft("gc", "--overflow", "--older-than", "1d")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "1 original"
    with SQLiteOverflow(place / "overflow.db") as store, pytest.raises(LookupError):
        store.read(stray)
    again = json.loads(redraft("gc", "--overflow", "--larger-than", "1b", "--json").out)
    assert [(row["removed"], row["kept"]) for row in again] == [([], 1)]
    assert redraft("gc", "--overflow", "--older-than", "1d", "--dry-run").code == 2
    assert "say which originals should go" in redraft("gc", "--overflow").err
    assert runs_home().exists()
