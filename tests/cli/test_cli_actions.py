"""`redraft run --policy fold` and its like: tools, memory file, log, and a run taken up again."""

from __future__ import annotations

import json
from pathlib import Path

from cli_world import call, calling, redraft, results, run, say, script

FAST = ("--sandbox", "local", "--quiet")
BRANCH = call("branch", json.dumps({"description": "look", "goal": "know"}), 1)
PRINTS = "for i in $(seq 60); do echo line $i of a listing that says nothing new; done"
RETURN = call("return_from_branch", json.dumps({"result": "It says nothing."}), 9)


def kinds() -> list[str]:
    rows = map(json.loads, redraft("log", "last", "--json").out.splitlines())
    return [row["op"] for row in rows if row["type"] == "context_op" and row["ok"]]


def test_a_run_folds_its_branches() -> None:
    with script(
        calling(BRANCH), PRINTS, PRINTS, calling(RETURN), say("It says nothing.")
    ) as server:
        done = run(server, *FAST, "--policy", "fold", "--json")
        assert (done.code, done.json["answer"]) == (0, "It says nothing.")
        known = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
        assert known == ["bash", "branch", "return_from_branch", "read_overflow"]
        assert "my result of the branch `look`, in place of 4 turns" in str(server.requests[-1])
        assert "line 60 of a listing" not in str(server.requests[-1])
        assert server.requests[0]["tools"] == server.requests[-1]["tools"]
    assert kinds() == ["branch", "return"]
    log = redraft("log", "last").out
    assert "branch b3.0" in log
    assert "return_from_branch b3.0, turns 5-8" in log


def test_a_branch_is_still_open_when_a_run_is_taken_up_again() -> None:
    with script(calling(BRANCH), PRINTS, PRINTS, say("Enough for today.")) as server:
        assert run(server, *FAST, "--policy", "fold").code == 0
    with script(calling(RETURN), say("done")) as server:
        where = ("--base-url", server.base_url, "--retries", "0")
        more = redraft(
            *("resume", "last", *where, "--say", "Go on.", "--quiet"), env={"OPENAI_API_KEY": "k"}
        )
        assert more.code == 0, more.err
        assert "my result of the branch `look`" in str(server.requests[-1])
        assert any("branch ended, none open" in text for text in results(server))


def test_a_memory_file_serves_the_next_run(tmp_path: Path) -> None:
    file, fact = str(tmp_path / "memory.db"), "The staging database listens on port 5433."
    policy = (*FAST, "--policy", "offload-and-retrieve", "--memory", file)
    store = call("memory_store", json.dumps({"text": fact, "tags": ["database"]}))
    with script(calling(store), say("Kept.")) as server:
        assert run(server, *policy).code == 0
        assert "Kept as memory 1." in results(server)[-1]
    fetch = call("memory_fetch", json.dumps({"query": "which port has the staging database"}))
    with script(calling(fetch), say("5433")) as server:
        assert run(server, *policy).code == 0
        assert fact in results(server)[-1]
    assert kinds() == ["fetch"]


def test_options_of_such_a_policy_are_held_to_their_ranges() -> None:
    with script(say("done")) as server:
        done = run(server, *FAST, "--policy", "self-compact", "--policy-option", "offer=1.5")
        assert done.code == 2
        assert "offer" in done.err
        assert server.requests == []
