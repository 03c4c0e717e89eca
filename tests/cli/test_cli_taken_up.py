"""What a person reads who takes a run up again, or looks for one."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from cli_world import EDIT, Done, bash, process, redraft, results, run, say, script

from redraft.sandbox import available
from redraft.store import SQLiteJournal, find_run, list_runs
from redraft.testing import FakeServer


def resumed(server: FakeServer, *arguments: str) -> Done:
    key = {"OPENAI_API_KEY": "k"}
    return redraft("resume", "last", "--base-url", server.base_url, *arguments, env=key)


def test_of_a_run_in_progress_only_the_process_that_writes_is_named() -> None:
    with script("echo hi", say("Done.")) as server:
        run(server)
        with SQLiteJournal(find_run("last")):
            done = resumed(server)
    assert done.code == 4
    assert re.search(r"process \d+ is writing to", done.err)
    assert "Go on with" not in done.err


def test_a_wrong_option_is_all_that_is_said() -> None:
    with script(say("Done.")) as server:
        run(server)
        done = resumed(server, "--sandbox", "magic")
    assert done.code == 2
    assert "Go on with" not in done.err


def test_a_run_that_has_its_answer_gives_it_and_says_how_to_say_more() -> None:
    with script(say("First."), say("Second.")) as server:
        first = run(server)
        again = resumed(server)
        more = resumed(server, "--say", "And?")
    assert "--say" not in first.err
    assert again.out == "First.\n"
    assert f'redraft resume {list_runs()[0].name} --say "..."' in again.err
    assert more.out == "Second.\n"
    assert "had its answer" not in more.err


def test_a_run_without_steps_says_that_it_needs_more_and_counts_on() -> None:
    with script("echo one", "echo two", "echo three", say("Done.")) as server:
        stopped = run(server, "--max-steps", "1")
        went = resumed(server, "--max-steps", "50")
    assert "--max-steps 2" in stopped.err
    steps = [int(line.split()[0]) for line in went.err.splitlines() if "$ echo" in line]
    assert steps == [2, 3]


def test_the_figures_of_a_resumed_run_name_its_model() -> None:
    with script(say("First.")) as server:
        run(server)
        done = resumed(server, "--json")
    assert done.json["model"] == "test-model"


def test_a_list_on_a_narrow_terminal_keeps_names_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with script(say("Done.")) as server:
        run(server, task="Find out why the tests in this folder fail, and mend all of them.")
    listed = redraft("ls").out
    assert list_runs()[0].name in listed
    assert max(map(len, listed.splitlines())) <= 80


def test_a_fork_at_a_revision_that_is_not_there_leaves_nothing() -> None:
    with script(say("Done.")) as server:
        run(server)
    done = redraft("fork", "last", "--at", "77")
    assert done.code == 4
    assert len(list_runs()) == 1


def test_the_log_gives_the_number_of_every_revision() -> None:
    with script("seq 1 900", EDIT, say("Counted.")) as server:
        run(server)
    assert redraft("undo", "last", "1").code == 0
    log = redraft("log", "last").out
    assert "edit 1 applied" in log
    assert "edit 2 by the harness (elide)" in log
    assert "edit 3 by the person (undo)" in log


def killed_in_a_command(server: FakeServer, place: Path) -> None:
    arguments = ["run", "Do it.", "-m", "m", "--base-url", server.base_url, "--budget", "12000"]
    killed: Any = process(*arguments, cwd=place)
    deadline = time.monotonic() + 60
    while not (place / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()


def test_following_a_run_whose_process_is_gone_ends_and_says_how_to_go_on(tmp_path: Path) -> None:
    with script(bash("echo started > started; sleep 60")) as server:
        killed_in_a_command(server, tmp_path)
    done = redraft("log", "last", "--follow", "--json")
    assert done.code == 0
    assert [json.loads(line)["type"] for line in done.out.splitlines()][-1] == "command_started"
    assert f"redraft resume {list_runs()[0].name}" in done.err


@pytest.mark.skipif(available() is not None, reason="bubblewrap does not work here")
def test_runs_may_be_kept_below_the_work_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "project" / ".redraft"))
    (tmp_path / "project").mkdir()
    with script("ls .redraft/runs", say("Done.")) as server:
        done = run(server, "--sandbox", "bubblewrap", "-C", str(tmp_path / "project"))
    assert done.code == 0, done.err
    assert list_runs()[0].status == "finished"


@pytest.mark.skipif(available() is not None, reason="bubblewrap does not work here")
def test_a_run_that_is_named_by_its_path_hides_its_journal_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("REDRAFT_HOME", str(project / "copies"))
    with script(
        say("First."), "cat copies/runs/*/journal.db kept/*/journal.db", say("Done.")
    ) as server:
        assert run(server, "--sandbox", "bubblewrap", "-C", str(project)).code == 0
        (project / "copies" / "runs").rename(project / "kept")
        path = next((project / "kept").iterdir())
        key = {"OPENAI_API_KEY": "k"}
        done = redraft(
            "resume", str(path), "--say", "Go on.", "--base-url", server.base_url, env=key
        )
        assert done.code == 0, done.err
        seen = results(server)
    assert "SQLite" not in seen[0]
    assert seen[0].count("No such file") == 2
