"""What can go wrong with `redraft run`: each time a clear line and an exit code, never a trace."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_world import EDIT, Done, bash, call, calling, redraft, results, run, say, script

from redraft.models import OpenAIModel
from redraft.testing import FakeServer, Fault
from redraft.testing.faults import OVERFLOWS


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def says(done: Done, code: int, *words: str) -> None:
    """The run ended with this code and a line that holds these words."""
    assert "Traceback" not in done.err
    line = done.err.splitlines()[-1]
    assert line.startswith("redraft: ")
    assert [word for word in words if word not in line] == []
    assert done.code == code


# --- the key and the server ---------------------------------------------------------------------


def test_without_key_and_server_it_says_what_to_set_and_points_to_the_demo() -> None:
    done = redraft("run", "Do it.", "--model", "gpt-5")
    says(done, 3, "OPENAI_API_KEY", "--base-url", "`redraft demo`")


def test_a_key_variable_that_is_not_set_is_named() -> None:
    done = redraft("run", "Do it.", "--model", "gpt-5", "--api-key-env", "MY_KEY")
    says(done, 3, "MY_KEY is empty or not set")


def test_a_wrong_key_is_an_error_of_the_model_and_is_not_repeated() -> None:
    with script(key="right") as server:
        done = run(server, key="wrong-key-0123")
    says(done, 3, "401", "OPENAI_API_KEY")
    assert "wrong-key-0123" not in done.err


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = redraft("run", "Do it.", "-m", "m", "--base-url", url, "--retries", "0")
    says(done, 3, "cannot be reached", url, "--base-url")


def test_a_url_that_is_none() -> None:
    done = redraft("run", "Do it.", "-m", "m", "--base-url", "localhost:8000")
    says(done, 2, "'localhost:8000'", "http://")


def test_a_model_that_the_server_does_not_know() -> None:
    with script(models=["other"]) as server:
        done = run(server)
    says(done, 3, "404", "'test-model'")


def test_a_server_that_takes_too_long() -> None:
    with script(faults=[Fault.timeout(30)]) as server:
        done = run(server, "--request-timeout", "0.2")
    says(done, 3, "did not answer in time")


def test_a_server_that_fails_again_and_again() -> None:
    with script(faults=[Fault.status(500, retry_after=0.001)] * 9) as server:
        done = run(server, "--retries", "2")
    says(done, 3, "500")
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    "fault",
    [Fault.status(500, retry_after=0.001), Fault.rate_limit(), Fault.disconnect()],
    ids=["500", "rate limit", "lost connection"],
)
def test_a_trouble_that_passes_is_tried_again_with_the_same_bytes(fault: Fault) -> None:
    with script("echo hi", faults=[None, fault]) as server:
        done = run(server, "--retries", "1")
    assert (done.code, done.out) == (0, "done\n")
    assert len(server.bodies) == 3
    assert server.bodies[1] == server.bodies[2]


def test_a_rate_limit_that_does_not_pass() -> None:
    with script(faults=[Fault.rate_limit()] * 9) as server:
        done = run(server, "--retries", "1")
    says(done, 3, "429", "Wait")


def test_an_error_in_the_middle_still_brings_the_figures() -> None:
    with script("echo hi", faults=[None, Fault.status(400, "No such parameter.")]) as server:
        done = run(server, "--json")
    says(done, 3, "No such parameter")
    told = done.json
    assert (told["status"], told["exit_code"]) == ("failed", 3)
    assert told["error"]["type"] == "ModelRequestError"
    assert told["metrics"]["commands"] == 1


def test_an_error_before_the_start_is_json_as_well() -> None:
    told = redraft("run", "Do it.", "--model", "gpt-5", "--json").json
    assert (told["status"], told["answer"], told["error"]["type"]) == (
        "failed",
        "",
        "ModelAuthError",
    )
    assert told["metrics"]["rounds"] == 0


# --- replies ------------------------------------------------------------------------------------


def test_replies_that_are_garbage_three_times_running() -> None:
    with script(
        faults=[Fault.garbage(b"<html>Log in</html>", content_type="text/html")] * 9
    ) as server:
        done = run(server)
    says(done, 3, "does not answer with a chat completion", "<html>Log in</html>")
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    "fault", [Fault.empty_choices(), Fault.null_message(), Fault.garbage(b'{"id": ')]
)
def test_one_garbage_reply_is_asked_for_again(fault: Fault) -> None:
    with script("echo hi", faults=[None, fault]) as server:
        done = run(server)
    assert (done.code, done.out, len(server.bodies)) == (0, "done\n", 3)


def test_half_a_surrogate_pair_in_a_reply_does_not_end_the_run() -> None:
    """It has no UTF-8 form, so the next request could not be written."""
    message = {**bash("echo hi"), "content": "broken \ud83d smile"}
    with script(message, say("answer \udc00")) as server:
        done = run(server)
    assert (done.code, done.out) == (0, "answer \N{REPLACEMENT CHARACTER}\n")
    assert server.requests[1]["messages"][2]["content"] == "broken \N{REPLACEMENT CHARACTER} smile"


def test_arguments_that_are_no_json_are_answered_and_the_run_goes_on() -> None:
    with script(calling(call("bash", '{"command": "touch made'))) as server:
        done = run(server)
    assert done.code == 0
    assert "not a JSON object" in results(server)[0]
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "`command` is missing"),
        ({"command": ["ls", "-l"]}, "`command` must be text"),
        ({"command": "ls", "timeout": "soon"}, "`timeout` must be a number"),
        ({"command": "ls", "timeout": -1}, "`timeout` must be a number"),
    ],
)
def test_arguments_that_fit_no_schema_are_answered(arguments: Any, complaint: str) -> None:
    with script(calling(call("bash", json.dumps(arguments)))) as server:
        assert run(server).code == 0
    assert complaint in results(server)[0]


def test_a_tool_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with script(calling(call("browser", '{"url": "x"}'))) as server:
        done = run(server)
    assert done.code == 0
    assert results(server)[0].startswith("Not run: there is no tool `browser`. Tools: `bash`.")


def test_parallel_calls_run_in_order_and_each_gets_its_result() -> None:
    calls = [
        call("bash", json.dumps({"command": f"echo {n} >> log; cat log"}), n) for n in (1, 2, 3)
    ]
    with script(calling(*calls)) as server:
        assert run(server).code == 0
    answered = [m for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in answered] == ["call_1", "call_2", "call_3"]
    assert [m["content"].split("\n[")[0] for m in answered] == ["1", "1\n2", "1\n2\n3"]


def test_a_good_call_beside_a_broken_one_is_run() -> None:
    calls = calling(call("bash", "{", 1), call("bash", '{"command": "echo fine"}', 2))
    with script(calls) as server:
        assert run(server).code == 0
    broken, fine = results(server)
    assert "not a JSON object" in broken
    assert fine.startswith("fine\n")


def test_a_call_that_was_cut_off_is_not_run() -> None:
    command = "touch made; " + "# long " * 20
    with script(command, faults=[Fault.cut()]) as server:
        done = run(server)
    assert done.code == 0
    assert "your reply broke off at its length limit" in results(server)[0]
    assert not Path("made").exists()
    assert "the reply broke off at its length limit" in done.err


def test_an_answer_that_was_cut_off_is_not_taken_for_the_answer() -> None:
    with script(
        say("The first half of a very long"), say("Short."), faults=[Fault.cut()]
    ) as server:
        done = run(server)
    assert (done.code, done.out) == (0, "Short.\n")
    assert "broke off before its end" in server.requests[-1]["messages"][-1]["content"]


def test_an_empty_reply_is_not_taken_for_the_answer() -> None:
    with script(say(""), say("Here.")) as server:
        done = run(server)
    assert (done.code, done.out) == (0, "Here.\n")


def test_a_model_that_says_nothing_at_all_is_given_up() -> None:
    with script(*[say(" ")] * 9) as server:
        done = run(server, "--json")
    assert done.code == 1
    assert (done.json["status"], done.json["why"]) == ("stopped", "the model's replies stay empty")
    assert len(server.bodies) == 4


# --- overflow -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", sorted(OVERFLOWS))
def test_a_request_too_large_for_the_server_is_rolled_back_and_the_run_goes_on(shape: str) -> None:
    """The server's window is smaller than anybody told us."""
    with script("seq 1 400", "seq 1 9000", "echo small", window=9_000, overflow=shape) as server:
        done = run(server, "--budget", "40000", "--json")
    told = done.json
    assert (done.code, told["status"], told["answer"]) == (0, "finished", "done")
    assert told["metrics"]["rollbacks"] == 1
    assert "the server refused the request as too large" in done.err
    assert "rolled back: " in done.err
    last = json.dumps(server.requests[-1]["messages"])
    assert "Rolled back" in last
    assert "seq 1 9000" in last
    assert "8999" not in last


@pytest.mark.parametrize("shape", sorted(OVERFLOWS))
def test_a_server_that_is_never_content_ends_the_run(shape: str) -> None:
    faults = [None, None, *[Fault.overflow(100_000, 99_000, server=shape)] * 99]
    with script("echo 1", "echo 2", faults=faults) as server:
        done = run(server, "--budget", "40000")
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert len(server.bodies) < 10


def test_an_output_larger_than_the_context_is_cut_to_what_fits() -> None:
    with script("seq 1 200000") as server:
        done = run(server, "--json")
    assert done.code == 0
    assert "tokens of output left out here" in results(server)[0]
    assert done.json["metrics"]["peak_tokens"] <= done.json["metrics"]["limit"]


def test_a_context_that_overflows_is_rolled_back() -> None:
    with script(*["seq 1 2200"] * 12) as server:
        done = run(server, "--json")
    told = done.json
    assert done.code == 0
    assert told["metrics"]["rollbacks"] > 0
    assert "rolled back: " in done.err
    assert told["metrics"]["peak_tokens"] <= told["metrics"]["limit"]


# --- settings and places ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--budget", "1000"], "raise `budget`"),
        (["--budget", "2700"], "raise `budget` by at least"),
        (["--budget", "-5"], "budget is -5"),
        (["--window", "8000"], "output reserve"),
        (["--gate", "loose"], "fit, shrink, conserve"),
        (["--interface", "mind"], "file, tool, both"),
        (["--max-steps", "0"], "max_steps is 0"),
        (["--timeout", "0"], "command_timeout is 0"),
        (["--request-timeout", "0"], "timeout"),
        (["--retries", "-1"], "max_retries"),
        (["--settings", "none.toml"], "none.toml"),
        (["--system", "none.txt"], "the system prompt cannot be read from none.txt"),
        (["--steer", "a\0b"], "steer holds a NUL"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_before_anything_is_sent(
    options: list[str], named: str
) -> None:
    with script() as server:
        done = run(server, *options)
    says(done, 2, named)
    assert server.bodies == []


def test_a_setting_that_does_not_exist_is_named() -> None:
    with script() as server:
        done = run(server, env={"REDRAFT_BUGDET": "9"})
    says(done, 2, "REDRAFT_BUGDET")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "task"], ["run", "task", "-m", "m", "--nope"]]
)
def test_a_command_line_that_is_wrong_is_explained(arguments: list[str]) -> None:
    done = redraft(*arguments)
    assert done.code == 2
    assert "Usage: " in done.err


def test_a_work_directory_that_is_missing() -> None:
    with script() as server:
        done = run(server, "--workdir", "nowhere")
    says(done, 4, "nowhere does not exist")


def test_a_work_directory_that_is_a_file() -> None:
    Path("plain").touch()
    with script() as server:
        done = run(server, "--workdir", "plain")
    says(done, 4, "plain is not a directory")


@pytest.fixture
def closed_to_us() -> Iterator[Path]:
    """A directory that this process may not enter, if need be as somebody else than the superuser."""
    root = os.geteuid() == 0
    # What is imported late might lie where somebody else may not read.
    OpenAIModel("m", base_url="http://127.0.0.1:9/v1").close()
    with tempfile.TemporaryDirectory() as place:
        closed = Path(place) / "closed"
        closed.mkdir(mode=0o000)
        if root:
            Path(place).chmod(0o755)
            os.seteuid(65534)
        try:
            yield closed
        finally:
            if root:
                os.seteuid(0)
            closed.chmod(0o700)


def test_a_work_directory_that_cannot_be_read(closed_to_us: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    done = redraft("run", "Do it.", "-m", "m", "--base-url", url, "-C", str(closed_to_us))
    says(done, 4, "closed", "permissions")


def test_a_work_directory_that_is_deleted_in_the_middle_is_an_error_of_the_place() -> None:
    Path("work").mkdir()
    with script("rm -rf ../work", "echo hi") as server:
        done = run(server, "--workdir", "work", "--json")
    says(done, 4, "work does not exist")
    assert done.json["metrics"]["rounds"] == 2


def test_a_temporary_directory_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/none")
    with script() as server:
        done = run(server)
    says(done, 4, "/dev/null/none")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with script(
        "ls -d $(dirname $REDRAFT_CONTEXT_FILE)", EDIT, faults=[None, None, Fault.status(400)]
    ) as server:
        done = run(server, "--workdir", "work")
    assert done.code == 3
    place = Path(results(server, 1)[0].splitlines()[0])
    assert place.is_relative_to(tmp_path / "redraft-home")
    assert list(place.iterdir()) == [], "the run is kept, its context file is gone"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "work").iterdir()) == []


def test_what_the_player_does_wrong_is_seen() -> None:
    """A check of the checks: the fake server reports a player's own error."""

    def player(request: Any) -> Any:
        raise LookupError("the player is at fault")

    with pytest.raises(LookupError, match="at fault"), FakeServer(player) as server:
        assert run(server).code == 3
