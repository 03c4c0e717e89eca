"""`redraft run --tool-calls fenced`, and everything that looks into such a run afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cli_world import EDIT, Script, call, calling, redraft, run, say

from redraft.dialects.fenced_results import read_pieces
from redraft.store import find_run
from redraft.testing import FakeServer, Fault, in_fences, refused_in_fences


@pytest.fixture
def server() -> Iterator[FakeServer]:
    script = Script("seq 1 400", EDIT, "echo two", say("42"))
    with FakeServer(in_fences(script), check=refused_in_fences) as made:
        yield made


def texts(server: FakeServer, at: int = -1) -> list[str]:
    return [str(message["content"]) for message in server.requests[at]["messages"]]


FENCED = ("--tool-calls", "fenced", "--sandbox", "local")


def test_a_run_on_a_server_without_function_calling(server: FakeServer) -> None:
    done = run(server, *FENCED, "--json")
    assert (done.code, done.json["answer"]) == (0, "42")
    assert done.json["metrics"]["edits"] == {"applied": 1}
    assert "tools" not in server.requests[0]
    assert "## Calling tools" in texts(server, 0)[0]
    found = read_pieces(texts(server)[-1])
    assert found is not None
    assert found[1][0].text.startswith("two\n")


def test_a_word_that_is_no_way_of_calling_is_a_mistake(server: FakeServer) -> None:
    done = run(server, "--tool-calls", "xml")
    assert done.code == 2
    assert "native, fenced" in done.err
    assert server.requests == []


def test_it_can_be_a_setting(server: FakeServer) -> None:
    done = run(server, "--sandbox", "local", env={"REDRAFT_TOOL_CALLS": "fenced"})
    assert (done.code, done.out) == (0, "42\n")


def test_a_run_is_looked_into_compared_and_taken_back(server: FakeServer) -> None:
    run(server, *FENCED)
    shown = redraft("show", "last")
    assert shown.code == 0
    assert "SEEN IT ALL" in shown.out
    log = redraft("log", "last")
    assert log.code == 0
    assert "edit 1" in log.out
    diff = redraft("diff", "last", "1")
    assert diff.code == 0
    undone = redraft("undo", "last", "1")
    assert undone.code == 0, undone.err
    assert "SEEN IT ALL" not in redraft("show", "last").out


def test_a_resumed_run_stays_on_its_route(server: FakeServer) -> None:
    run(server, *FENCED)
    script = Script("echo three", say("43"))
    with FakeServer(in_fences(script), check=refused_in_fences) as again:
        done = redraft(
            *("resume", "last", "--say", "More.", "--base-url", again.base_url),
            env={"OPENAI_API_KEY": "k"},
        )
        assert (done.code, done.out) == (0, "43\n"), done.err
        found = read_pieces(texts(again)[-1])
        assert found is not None
        assert found[0] == 4  # three rounds had calls before
        assert texts(again, 0)[: len(texts(server)) - 1] == texts(server)[:-1]


def test_a_run_that_the_server_failed_goes_on_with_the_same_bytes() -> None:
    faults = [None, Fault.status(500)]
    with FakeServer(
        in_fences(Script("echo one", say("42"))), check=refused_in_fences, faults=faults
    ) as server:
        assert run(server, *FENCED).code != 0
        asked = server.requests[-1]["messages"]
        env: dict[str, str | None] = {"OPENAI_API_KEY": "k"}
        assert redraft("resume", "last", env=env).out == "42\n"
        assert server.requests[-1]["messages"][: len(asked)] == asked


def test_a_journal_of_the_route_is_replayed(server: FakeServer) -> None:
    run(server, *FENCED)
    done = redraft("replay", str(find_run("last")), "--json")
    assert done.code == 0, done.err
    assert '"calls"' in done.out


def test_a_tool_that_does_not_exist_is_named_to_the_model() -> None:
    unknown = calling(call("python", "{}"))
    with FakeServer(in_fences(Script(unknown, say("ok"))), check=refused_in_fences) as server:
        assert run(server, *FENCED).out == "ok\n"
        assert "there is no tool `python`" in texts(server)[-1]
