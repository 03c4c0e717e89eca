"""What somebody meets who has never used it: no server, no sandbox, a run that is not there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from cli_world import call, calling, process, redraft, run, say, script

from redraft.cli import doctor
from redraft.store import SQLiteJournal, list_runs, run_info

NO_ONE = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}


def found(*arguments: str, **env: str | None) -> tuple[int, dict[str, dict[str, object]]]:
    done = redraft("doctor", "--json", "--no-ask", *arguments, env={"OPENAI_API_KEY": "k", **env})
    return done.code, {row["thing"]: row for row in json.loads(done.out)}


# -- doctor ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sandbox", "code"), [(None, 1), ("local", 0)])
def test_doctor_fails_without_bubblewrap_only_where_a_run_would_stop(
    monkeypatch: pytest.MonkeyPatch, sandbox: str | None, code: int
) -> None:
    monkeypatch.setattr(doctor, "available", lambda: "bubblewrap is not installed. Install it.")
    ended, rows = found(REDRAFT_SANDBOX=sandbox)
    row = rows["bubblewrap"]
    assert (ended, row["good"], row["needed"]) == (code, False, code == 1)
    assert ("--sandbox local" in str(row["says"])) == (code == 1)


def test_doctor_says_which_settings_come_from_the_environment() -> None:
    code, rows = found(REDRAFT_MAX_STEPS="7", REDRAFT_SANDBOX=None)
    assert (code, rows["settings"]["says"]) == (0, "can be used; set: REDRAFT_MAX_STEPS")
    code, rows = found(REDRAFT_MAX_STEPS="many")
    assert code == 1
    assert not rows["settings"]["good"]
    assert "REDRAFT_MAX_STEPS is 'many'" in str(rows["settings"]["says"])


def test_doctor_tries_to_write_where_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    code, rows = found(REDRAFT_HOME=str(tmp_path / "file" / "home"))
    assert (code, rows["runs"]["good"]) == (1, False)
    assert "set REDRAFT_HOME" in str(rows["runs"]["says"])
    full = shutil.disk_usage(tmp_path)._replace(free=5_000_000)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: full)
    code, rows = found(REDRAFT_HOME=str(tmp_path / "home"))
    assert (code, rows["runs"]["good"]) == (1, False)
    assert "5 MB left; make room" in str(rows["runs"]["says"])
    assert not (tmp_path / "home").exists()


def test_doctor_says_what_the_server_serves() -> None:
    with script() as server:
        done = redraft("doctor", "--base-url", server.base_url, env=NO_ONE)
    assert "ok    server       answers; it serves 1 model (fake-model)" in done.out


# -- a run that is not there, that runs, or that ended -----------------------------------------------------


@pytest.mark.parametrize("command", ["resume", "show", "log"])
def test_a_run_that_does_not_exist_is_named_with_those_that_do(command: str) -> None:
    done = redraft(command, "nosuch")
    assert (done.code, "start one with `redraft run`" in done.err) == (4, True)
    with script(say("Done.")) as server:
        assert run(server).code == 0
    (kept,) = list_runs()
    done = redraft(command, "nosuch")
    assert done.code == 4
    assert done.err.endswith(f"no run is called 'nosuch'; the latest are {kept.name}.\n")


def test_a_run_that_somebody_writes_to_is_named_with_its_process_and_what_can_be_done() -> None:
    with script(say("Done.")) as server:
        run(server)
    (kept,) = list_runs()
    with SQLiteJournal(kept.directory):
        done = redraft("resume", "last", env={"OPENAI_API_KEY": "k"})
        assert done.code == 4
        assert f"process {os.getpid()} is writing to {kept.directory}; wait for it" in done.err
        assert "Errno" not in done.err
        assert redraft("show", "last").code == 0


def test_a_run_is_resumed_with_the_key_that_it_began_with() -> None:
    env = {"MY_KEY": "secret", **NO_ONE}
    with script("true", say("42")) as server:
        first = run(server, "--api-key-env", "MY_KEY", "--max-steps", "1", key=None, env=env)
        assert first.code == 1
        done = redraft("resume", "last", "--max-steps", "5", env=env)
    assert (done.code, done.out) == (0, "42\n"), done.err
    done = redraft("resume", "last", env=NO_ONE)
    assert done.code == 3
    assert "MY_KEY is empty or not set" in done.err


def test_a_run_whose_work_directory_has_moved_is_resumed_in_its_new_place(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "file").write_text("moved with it")
    with script("true", "cat file", say("42")) as server:
        run(server, "-C", str(old), "--max-steps", "1")
        old.rename(new)
        lost = redraft("resume", "last", "--max-steps", "5", env={"OPENAI_API_KEY": "k"})
        assert (lost.code, "name another directory" in lost.err) == (4, True)
        found = ("resume", "last", "--max-steps", "5", "-C", str(new))
        assert redraft(*found, env={"OPENAI_API_KEY": "k"}).code == 0
        assert "moved with it" in str(server.requests[-1]["messages"])


def test_an_undo_leaves_the_run_as_it_ended() -> None:
    edit = {"edits": [{"turn": 3, "text": "noted"}]}
    tidy = calling(call("edit_context", json.dumps(edit), 2))
    with script("seq 200", tidy, say("42")) as server:
        assert run(server, "--interface", "tool").code == 0
    (kept,) = list_runs()
    assert redraft("undo", "last", "99").code == 2
    assert run_info(kept.directory).status == "finished"


def test_ctrl_c_says_how_to_go_on_and_that_works(tmp_path: Path) -> None:
    with script("touch begun; sleep 60", "true", say("42")) as server:
        given = ["--base-url", server.base_url, "--model", "m", "--budget", "12000"]
        started = process("run", "Wait.", *given, cwd=tmp_path, text=True)
        while not (tmp_path / "begun").exists():
            assert started.poll() is None, started.communicate()
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
        assert (started.returncode, out) == (130, "")
        told = re.search(r"Go on with: redraft (resume \S+)", err)
        assert told, err
        done = redraft(*told[1].split())
    assert (done.code, done.out) == (0, "42\n"), done.err
    assert "goes on in a new shell" in str(server.requests[-1]["messages"])


def test_the_options_of_resume_say_that_what_is_not_given_stays() -> None:
    shown = " ".join(redraft("resume", "--help").out.split())
    assert shown.count("Default: as it was.") == 9
    assert "Default: 200" not in shown
