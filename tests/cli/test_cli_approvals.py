"""`redraft run --ask`, `redraft approve` and `redraft reject`: a person decides, later or at once."""

from __future__ import annotations

import json
import os
import pty
import select
import time
from pathlib import Path

import pytest
from cli_world import Done, process, redraft, results, run, script

ASK = ("--ask", r"\btouch\b", "--sandbox", "local")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def resume(*arguments: str) -> Done:
    return redraft("resume", "last", "--retries", "0", *arguments, env={"OPENAI_API_KEY": "k"})


def test_a_command_waits_is_shown_approved_and_made(tmp_path: Path) -> None:
    with script("ls", "touch seen && echo made\n# \x1b[2K nothing") as server:
        done = run(server, *ASK, "--json")
        assert done.code == 6
        assert done.json["status"] == "waiting"
        assert done.json["why"].startswith("approval a2.1 is asked for: bash: touch seen")
        assert "not run: waits for your approval (a2.1)" in done.err
        assert "Decide with: redraft approve" in done.err
        assert not Path("seen").exists()

        listed = redraft("approve", "last")
        assert listed.out.startswith("a2.1:\ntouch seen && echo made\n# \ufffd[2K nothing\n")
        (waiting,) = json.loads(redraft("approve", "last", "--json").out)
        assert waiting["arguments"]["command"] == "touch seen && echo made\n# \x1b[2K nothing"
        assert not waiting["granted"]
        assert "waits for your approval: a2.1" in redraft("show", "last").out
        assert json.loads(redraft("show", "last", "--json").out)["pending"][0]["id"] == "a2.1"

        assert resume().code == 6  # nobody has decided
        assert len(server.requests) == 2
        approved = redraft("approve", "last", "a2.1")
        assert approved.out.startswith("approved: a2.1; `redraft resume")
        assert not Path("seen").exists()
        assert redraft("approve", "last", "a2.1").code == 2
        assert "is granted already" in redraft("approve", "last", "a2.1").err

        done = resume()
        assert (done.code, done.out) == (0, "done\n")
        assert Path("seen").exists()
        assert "approval a2.1 granted: result of bash\nmade" in results(server)[-1]
        assert "no call of" in redraft("approve", "last").err


def test_a_refused_command_is_not_made_and_the_pattern_holds_on() -> None:
    with script("touch seen", "touch seen") as server:
        assert run(server, *ASK).code == 6
        done = redraft("reject", "last", "a1.1", "--why", "not here", "--json")
        assert done.json["verdict"] == "rejected"
        done = resume()
        assert done.code == 6  # the run was begun with --ask, so it asks again
        assert not Path("seen").exists()
        assert "The reason given: not here" in results(server)[0]
        redraft("approve", "last", "a2.1")
        assert resume("--ask", "rm ").code == 0
        assert Path("seen").exists()


def test_mistakes_are_said_and_leave_no_run() -> None:
    with script() as server:
        done = run(server, "--ask", "(")
        assert done.code == 2
        assert "is no regular expression" in done.err
        assert redraft("ls").out.startswith("No runs are kept yet")
        done = run(server, *ASK, "--incognito")
        assert done.code == 2
        assert "--ask needs a terminal" in done.err
        assert server.requests == []
        assert run(server, *ASK).code == 0
        assert "'zz' is not known" in redraft("approve", "last", "zz").err
        assert redraft("reject", "last", "zz").code == 2


def test_on_a_terminal_it_asks_at_once(tmp_path: Path) -> None:
    with script("touch one", "touch two", "touch three") as server:
        code, said = at_a_terminal(
            ["y\n", "n\n", "not two\n", "l\n"],
            *("run", "Do it.", "--model", "m", "--base-url", server.base_url, "--retries", "0"),
            *("--budget", "12000", *ASK),
        )
        assert code == 6, said
        assert said.count("The model wants to run:") == 3
        assert Path("one").exists()
        assert not Path("two").exists()
        assert not Path("three").exists()
        assert "The reason given: not two" in results(server)[1]
        # At the terminal, what waits is asked about before the run goes on.
        code, said = at_a_terminal(["y\n"], "resume", "last", "--retries", "0")
        assert code == 0, said
        assert Path("three").exists()


def at_a_terminal(answers: list[str], *arguments: str) -> tuple[int, str]:
    """Run the command with a terminal for standard input and error; each question gets an answer."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "OPENAI_API_KEY": "k", "TERM": "dumb"}
    with process(*arguments, stdin=theirs, stderr=theirs, env=env) as running:
        os.close(theirs)
        said, left, until = "", list(answers), time.monotonic() + 60
        asked = 0
        while time.monotonic() < until:
            ready, _, _ = select.select([ours], [], [], 0.1)
            if ready:
                try:
                    said += os.read(ours, 65_536).decode("utf-8", "replace")
                except OSError:  # the other side is gone
                    break
            questions = said.count("[l]ater: ") + said.count("may be empty): ")
            while asked < questions and left:
                os.write(ours, left.pop(0).encode())
                asked += 1
            if running.poll() is not None and not ready:
                break
        os.close(ours)
        running.communicate()
    return running.returncode, said


def test_nothing_of_this_is_asked_without_the_option() -> None:
    with script("touch seen") as server:
        assert run(server, "--sandbox", "local").code == 0
    assert Path("seen").exists()
