"""Runs that are kept: listed, looked into, changed, resumed, forked and removed."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from cli_world import EDIT, Done, bash, process, redraft, run, say, script

from redraft.store import find_run, list_runs
from redraft.testing import FakeServer


def a_run(server: FakeServer, *arguments: str) -> Done:
    done = run(server, *arguments)
    assert done.code == 0, done.err
    return done


@pytest.fixture
def edited() -> None:
    """A run that printed much, and then made one note of it."""
    with script("seq 1 900", EDIT, say("Counted.")) as server:
        a_run(server)


def test_a_run_is_kept_and_listed_with_its_task_model_and_status() -> None:
    with script("echo hi", say("Done.")) as server:
        a_run(server)
    listed = redraft("ls")
    assert "finished" in listed.out
    assert "test-model" in listed.out
    row = json.loads(redraft("ls", "--json").out)[0]
    assert (row["status"], row["task"], row["model"]) == ("finished", "Do it.", "test-model")
    assert find_run("last").name == row["run"]


def test_no_runs_is_said_and_a_wrong_name_is_an_error() -> None:
    assert "No runs" in redraft("ls").out
    done = redraft("show", "last")
    assert done.code == 4
    assert "redraft run" in done.err
    with script(say("Done.")) as server:
        a_run(server)
    wrong = redraft("log", "no-such-run")
    assert wrong.code == 4
    assert list_runs()[0].name in wrong.err


@pytest.mark.usefixtures("edited")
def test_show_says_what_each_turn_would_cost_to_edit_and_where_the_prices_come_from() -> None:
    shown = json.loads(redraft("show", "last", "--json").out)
    rows = {row["turn"]: row for row in shown["turns"]}
    edit = rows[3]["edit"]
    assert edit["tail"] == rows[3]["edit_cost"]
    assert edit["reread"] == edit["tail"] + min(16, rows[3]["tokens"])
    assert edit["payback_calls"] is None or edit["payback_calls"] > 0
    assert edit["now_usd"] is None
    assert rows[1]["edit"] is None
    assert "test-model" in shown["prices"]["reason"]
    assert "no price is known" in redraft("show", "last").out


@pytest.mark.usefixtures("edited")
def test_show_gives_each_turn_with_size_origin_and_what_it_stands_for() -> None:
    shown = json.loads(redraft("show", "last", "--json").out)
    rows = {row["turn"]: row for row in shown["turns"]}
    assert rows[1]["held"] == "pinned"
    assert rows[2]["held"] == "pinned"
    assert rows[2]["edit_cost"] is None
    assert rows[3]["origin"] == "edited"
    assert rows[3]["stands_for"] == [4]
    assert 4 not in rows
    behind = sum(row["tokens"] for row in shown["turns"] if row["turn"] > 3)
    assert rows[3]["edit_cost"] == behind
    assert shown["tokens"] == shown["frame"] + sum(row["tokens"] for row in shown["turns"])
    assert "note: SEEN IT ALL" in redraft("show", "last").out


@pytest.mark.usefixtures("edited")
def test_log_shows_what_happened_in_words_and_as_json_lines() -> None:
    words = redraft("log", "last").out
    assert "seq 1 900" in words
    assert "edit 1 applied" in words
    assert words.rstrip().endswith("finished")
    lines = [json.loads(line) for line in redraft("log", "last", "--json").out.splitlines()]
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
    kinds = {line["type"] for line in lines}
    assert {"request_made", "reply_read", "edit_judged", "round_ended", "run_ended"} <= kinds


@pytest.mark.usefixtures("edited")
def test_diff_shows_turns_before_and_after_a_revision() -> None:
    done = redraft("diff", "last", "1")
    assert "revision 1 by the model (file), applied" in done.out
    assert "+note: SEEN IT ALL" in done.out
    assert "-900" in done.out
    found = json.loads(redraft("diff", "last", "1", "--json").out)
    assert [turn["turn"] for turn in found["turns"]] == [3, 4]
    wrong = redraft("diff", "last", "7")
    assert wrong.code == 4
    assert "revision 7" in wrong.err


@pytest.mark.usefixtures("edited")
def test_undo_brings_the_turns_back_and_says_when_it_cannot() -> None:
    before = json.loads(redraft("show", "last", "--json").out)["tokens"]
    done = redraft("undo", "last", "1")
    assert done.code == 0, done.err
    assert "undone: revision 1" in done.out
    shown = json.loads(redraft("show", "last", "--json").out)
    assert shown["tokens"] > before
    assert [row["turn"] for row in shown["turns"]][:4] == [1, 2, 3, 4]
    again = redraft("undo", "last", "1")
    assert again.code == 2
    assert "the newest first: 3" in again.err  # the undo; 2 left out the edit's own command


@pytest.mark.usefixtures("edited")
def test_a_fork_is_a_run_of_its_own_up_to_a_revision() -> None:
    original = list_runs()[0].name
    done = redraft("fork", original, "--at", "0")
    assert done.code == 0, done.err
    name = done.out.partition(":")[0]
    assert {run.name for run in list_runs()} == {original, name}
    assert "note: SEEN IT ALL" not in redraft("show", name).out
    assert "note: SEEN IT ALL" in redraft("show", original).out
    with script(say("Another way.")) as server:
        went = redraft("resume", name, "--base-url", server.base_url, env={"OPENAI_API_KEY": "k"})
    assert went.code == 0, went.err
    assert went.out == "Another way.\n"


def test_a_run_that_spent_its_steps_is_resumed_with_more() -> None:
    with script("echo one", "echo two", "echo three", say("Done.")) as server:
        stopped = run(server, "--max-steps", "1")
        assert stopped.code == 1
        assert "redraft resume" in stopped.err
        went = redraft(
            "resume", "last", "--max-steps", "50", "--base-url", server.base_url,
            env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip
    assert went.code == 0, went.err
    assert went.out == "Done.\n"


def test_a_finished_run_goes_on_with_more_words() -> None:
    with script(say("First."), "echo more", say("Second.")) as server:
        a_run(server)
        went = redraft(
            "resume", "last", "--say", "And now?", "--base-url", server.base_url,
            env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip
        assert went.out == "Second.\n", went.err
        said = [message["content"] for message in server.requests[-1]["messages"]]
        # what was sent before is sent again, byte for byte
        first, later = server.requests[0]["messages"], server.requests[-1]["messages"]
        assert later[: len(first)] == first
    assert "And now?" in said


def test_a_killed_run_goes_on_and_the_open_call_gets_one_result(tmp_path: Path) -> None:
    slow = "echo started > started; sleep 60"
    with script(bash("echo one"), bash(slow), say("Done.")) as server:
        arguments = ["run", "Do it.", "-m", "m", "--base-url", server.base_url, "--budget", "12000"]
        killed = process(*arguments, cwd=tmp_path)
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert "broken off" in redraft("ls").out
        went = redraft("resume", "last", "--base-url", server.base_url, env={"OPENAI_API_KEY": "k"})
        assert went.code == 0, went.err
        assert went.out == "Done.\n"
        results = [m for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert len(results) == 2
    assert "interrupted" in results[1]["content"]


def test_gc_removes_by_age_and_size_and_says_what_would_go() -> None:
    with script(say("Done.")) as server:
        a_run(server)
        a_run(server)
    assert redraft("gc").code == 2
    assert redraft("gc", "--older-than", "soon").code == 2
    would = redraft("gc", "--larger-than", "1B", "--keep", "1", "--dry-run")
    assert would.code == 0, would.err
    assert "would go" in would.out
    assert len(list_runs()) == 2
    assert redraft("gc", "--larger-than", "1B", "--keep", "1").code == 0
    assert len(list_runs()) == 1
    assert redraft("gc", "--older-than", "30d").out.startswith("0 runs")


def test_a_mistake_in_an_option_leaves_no_run_behind(tmp_path: Path) -> None:
    with script(say("Done.")) as server:
        assert run(server, "-C", str(tmp_path / "nowhere")).code == 4
        assert run(server, "--sandbox", "magic").code == 2
        assert run(server, "--container", "docker exec -i box bash").code == 2
    assert list_runs() == []


def test_doctor_says_what_is_there_and_what_to_do() -> None:
    with script() as server:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url}
        good = redraft("doctor", env=env)
    assert good.code == 0, good.out
    assert "ok    tokenizer" in good.out
    bad = redraft("doctor", "--json", env={"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None})
    assert bad.code == 1
    found = {row["thing"]: row for row in json.loads(bad.out)}
    assert not found["server"]["good"]
    assert "OPENAI_API_KEY" in found["server"]["says"]
