"""`redraft run`: a task, a server, a shell, and what comes out at the end."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_world import EDIT, bash, call, calling, results, run, say, script

from redraft.testing import FakeServer


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def messages_on_the_wire(body: bytes) -> bytes:
    """The bytes of the list of messages, without the bracket at its end."""
    start = body.index(b'"messages":') + len(b'"messages":')
    return body[start : body.index(b',"tools":')].rstrip(b"]")


# --- the answer and the figures -----------------------------------------------------------------


def test_the_answer_goes_to_standard_output_and_nothing_else_does() -> None:
    with script("echo hello", say("The answer\nis 42.")) as server:
        done = run(server)
    assert (done.code, done.out) == (0, "The answer\nis 42.\n")
    assert "$ echo hello" in done.err


def test_a_command_runs_in_the_work_directory_and_its_output_comes_back(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    with script("pwd; touch made") as server:
        done = run(server, "--workdir", str(tmp_path / "deep"))
    assert results(server)[0].startswith(f"{tmp_path}/deep\n")
    assert (tmp_path / "deep" / "made").exists()
    assert f"{tmp_path}/deep" in done.err


def test_a_real_edit_of_the_context_file_lands_and_shrinks_the_next_request() -> None:
    with script("seq 1 900", "seq 1 900", EDIT, "echo after") as server:
        done = run(server)
    assert done.code == 0
    assert "edit 1 applied: " in done.err
    before, after = server.bodies[2], server.bodies[3]
    assert len(after) < len(before) - 4_000
    assert b"SEEN IT ALL" in after
    assert b"899" not in after
    assert "edit 1 applied" in results(server, 3)[-1]


def test_what_was_sent_is_sent_again_byte_for_byte() -> None:
    with script(
        "seq 1 50", "printf 'a\\r\\nb \\t'; false", "echo \N{GREEK SMALL LETTER MU}"
    ) as server:
        assert run(server).code == 0
    lists = [messages_on_the_wire(body) for body in server.bodies]
    assert len(lists) == 4
    for earlier, later in itertools.pairwise(lists):
        assert later.startswith(earlier + b",")


def test_what_stands_before_an_edit_is_sent_again_byte_for_byte() -> None:
    with script("seq 1 900", EDIT) as server:
        assert run(server).code == 0
    before, after = (messages_on_the_wire(server.bodies[at]) for at in (1, 2))
    system_and_task = before[: before.index(b',{"role":"assistant"') + 1]
    assert b"Do it." in system_and_task
    assert after.startswith(system_and_task)


def test_json_is_one_object_with_answer_figures_and_receipts() -> None:
    with script("seq 1 900", EDIT, say("fine")) as server:
        done = run(server, "--json")
    told = done.json
    assert done.out.count("\n") == 1
    assert (told["answer"], told["status"], told["exit_code"]) == ("fine", "finished", 0)
    assert told["error"] is None
    assert told["metrics"]["rounds"] == 3
    assert (told["metrics"]["steps"], told["metrics"]["free_rounds"]) == (1, 1)
    assert told["metrics"]["edits"] == {"applied": 1}
    assert told["metrics"]["peak_tokens"] <= told["metrics"]["limit"] == 12_000 - 2_048
    receipt, elided = told["receipts"]
    assert (elided["author"], elided["source"], elided["status"]) == ("harness", "elide", "applied")
    assert (receipt["author"], receipt["source"], receipt["status"]) == ("model", "file", "applied")
    assert receipt["after"] < receipt["before"]


def test_quiet_leaves_standard_error_empty() -> None:
    with script("echo hi") as server:
        done = run(server, "--quiet")
    assert (done.code, done.out, done.err) == (0, "done\n", "")


def test_it_says_once_that_commands_run_with_the_users_rights() -> None:
    with script("echo hi", "echo ho") as server:
        done = run(server)
    assert done.err.count("with your rights") == 1


def test_commands_and_errors_cannot_steer_the_terminal() -> None:
    with script("echo '\x1b[2J\x07' '\u202e'; false # \x9b31m") as server:
        done = run(server)
    assert "$ echo " in done.err
    assert done.err.replace("\n", "").isprintable()


# --- options ------------------------------------------------------------------------------------


def test_a_sentence_of_strategy_reaches_the_system_prompt() -> None:
    with script() as server:
        run(server, "--steer", "Compact past 16,000 tokens.")
    system = server.requests[0]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].endswith("Compact past 16,000 tokens.")


def test_a_system_prompt_of_the_users_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("You are a pirate.")
    with script() as server:
        run(server, "--system", "system.txt")
    content = server.requests[0]["messages"][0]["content"]
    assert content.startswith("You are a pirate.")
    assert "REDRAFT_CONTEXT_FILE" in content


def test_with_the_tool_interface_the_model_edits_by_a_tool() -> None:
    edit = json.dumps({"edits": [{"turn": 3, "through": 4, "text": "note: SEEN IT ALL"}]})
    with script("seq 1 900", calling(call("edit_context", edit))) as server:
        done = run(server, "--interface", "tool", "--json")
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == [
        "bash",
        "edit_context",
    ]
    assert "REDRAFT_CONTEXT_FILE" not in server.requests[0]["messages"][0]["content"]
    assert done.json["metrics"]["edits"] == {"applied": 1}
    assert "SEEN IT ALL" in json.dumps(server.requests[-1]["messages"])


def test_the_gate_is_the_one_that_was_asked_for() -> None:
    with script("echo something", 'echo more words >> "$REDRAFT_CONTEXT_FILE"') as server:
        done = run(server, "--gate", "shrink", "--json")
    assert done.json["metrics"]["rejected"] == {"shrink": 1}


def test_settings_come_from_a_file_and_options_win(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("[redraft]\nbudget = 11_000\nmax_steps = 1\n")
    with script("echo 1", "echo 2") as server:
        done = run(server, "--settings", "r.toml", "--budget", "13000", "--json")
    assert done.json["metrics"]["limit"] == 13_000 - 2_048
    assert (done.code, done.json["metrics"]["steps"]) == (1, 1)


def test_settings_come_from_the_environment() -> None:
    with script("echo 1", "echo 2") as server:
        done = run(server, env={"REDRAFT_MAX_STEPS": "1"})
    assert done.code == 1


def test_commands_do_not_see_the_key() -> None:
    with script("env") as server:
        run(server, key="sesame-1")
    assert "sesame-1" not in results(server)[0]


def test_commands_do_not_see_the_key_in_a_variable_of_another_name() -> None:
    with script("env", key="sesame-2") as server:
        done = run(server, "--api-key-env", "MY_MODEL", key=None, env={"MY_MODEL": "sesame-2"})
    assert done.code == 0
    assert "sesame-2" not in results(server)[0]


def test_a_command_that_takes_too_long_is_stopped_and_the_model_is_told() -> None:
    with script("echo begun; sleep 60") as server:
        done = run(server, "--timeout", "0.2")
    assert results(server)[0].startswith("begun\n[stopped: not done after 0.2 seconds.")
    assert "its time was up" in done.err


def test_the_model_may_ask_for_another_time() -> None:
    with script(bash("sleep 60", timeout=0.2)) as server:
        run(server)
    assert "[stopped: not done after 0.2 seconds." in results(server)[0]


def test_an_exit_code_is_shown_where_it_is_not_zero() -> None:
    with script("echo no; exit 3", "true") as server:
        run(server)
    first, second = results(server)
    assert first.startswith("no\n[exit code 3]\n")
    assert second.startswith("[redraft:")


# --- where the task comes from ------------------------------------------------------------------


def task_of(server: FakeServer) -> str:
    content = server.requests[0]["messages"][1]["content"]
    assert isinstance(content, str)
    return content


def test_a_dash_reads_the_task_from_standard_input() -> None:
    with script() as server:
        run(server, task="-", stdin="Zähle bis drei.\n".encode())
    assert task_of(server) == "Zähle bis drei."


def test_an_at_sign_reads_the_task_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "task.md").write_bytes("\ufeffLine one.\r\nLine two.\n".encode())
    with script() as server:
        run(server, task="@task.md")
    assert task_of(server) == "Line one.\r\nLine two."


@pytest.mark.parametrize(
    ("task", "stdin", "named"),
    [
        ("", b"", "is empty"),
        ("  \n", b"", "is empty"),
        ("-", b"", "is empty"),
        ("-", b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8 text (byte 0 is 0x89)"),
        ("-", b"plain\0binary", "NUL at character 5"),
        ("-", b"x" * 10_000_001, "more than 10,000,000 bytes"),
        ("@missing.md", b"", "missing.md: No such file"),
        ("@.", b"", "Is a directory"),
        (os.fsdecode(b"caf\xe9"), b"", "not valid UTF-8 (at character 3)"),
    ],
)
def test_a_task_that_is_no_text_is_refused_before_anything_is_sent(
    task: str, stdin: bytes, named: str
) -> None:
    with script() as server:
        done = run(server, task=task, stdin=stdin)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err
    assert server.bodies == []


# --- steps --------------------------------------------------------------------------------------


def test_a_spent_step_budget_gives_the_model_one_last_turn() -> None:
    with script(*["echo again"] * 9) as server:
        done = run(server, "--max-steps", "3", "--json")
    assert done.code == 1
    told = done.json
    assert (told["status"], told["why"]) == ("stopped", "the step budget is spent")
    assert told["answer"] == "what I have"
    assert told["metrics"]["steps"] == 3
    assert len(server.bodies) == 4
    assert "because the step budget is spent" in server.requests[-1]["messages"][-1]["content"]


def test_a_last_turn_that_calls_tools_runs_nothing(tmp_path: Path) -> None:
    def player(request: Any) -> Any:
        return bash("echo x >> ran")

    with FakeServer(player) as server:
        done = run(server, "--max-steps", "2")
    assert (done.code, done.out) == (1, "")
    assert (tmp_path / "ran").read_text() == "x\nx\n"


def test_rounds_that_only_edit_cost_no_step() -> None:
    with script("seq 1 500", EDIT, "seq 1 500", EDIT, "seq 1 9") as server:
        done = run(server, "--max-steps", "4", "--json")
    assert (done.code, done.json["metrics"]["steps"]) == (0, 3)
    assert done.json["metrics"]["free_rounds"] == 2


def test_growing_and_shrinking_for_ever_comes_to_an_end() -> None:
    """Each such pair of rounds is free by the rule on steps, yet costs two model calls."""
    grow = 'echo "a note of some length" >> "$REDRAFT_CONTEXT_FILE"'
    with script("echo 1", *[grow, EDIT] * 50) as server:
        done = run(server, "--max-steps", "2", "--json")
    assert done.code == 1
    assert done.json["why"] == "the rounds that only edit the context are spent"
    assert done.json["metrics"]["free_rounds"] == 20
