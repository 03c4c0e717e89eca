"""What the agent makes of a sandbox's limits, and what it tells the model of the place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_world import Scripted, bash, say

from redraft.agent import Agent
from redraft.prompts.agent import command_result, resumed_notice, system_prompt
from redraft.sandbox import BubblewrapSandbox, Limits, LocalSandbox, Outcome, available
from redraft.settings import Settings
from redraft.store import SQLiteJournal

HALF = 'printf "[[CTX_TURN 3 role=assistant]]\\nhalf a no" >"$REDRAFT_CONTEXT_FILE"'


class Limited:
    """A sandbox that stops each command that edits the context file, and says why."""

    def __init__(self, inner: LocalSandbox, why: str, *, background: bool = True) -> None:
        self._inner = inner
        self._why = why
        self.background = background

    def run(self, command: str, timeout: float | None = None) -> Outcome:
        outcome = self._inner.run(command, timeout)
        stopped = self._why if "printf" in command else ""
        return replace(outcome, stopped=stopped)

    def close(self) -> None:
        self._inner.close()


def texts(model: Scripted) -> list[str]:
    return [str(message["content"]) for message in model.requests[-1]["messages"]]


@pytest.fixture
def inner(tmp_path: Path) -> Iterator[LocalSandbox]:
    with LocalSandbox(tmp_path, timeout=20) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    "why", ["more than 100 MiB of memory", "more than 20 MiB of output", "the disk is almost full"]
)
def test_what_a_stopped_command_left_in_the_context_file_is_refused(
    inner: LocalSandbox, why: str
) -> None:
    model = Scripted(bash("echo one"), bash(HALF), say("42"))
    sandbox: Any = Limited(inner, why)
    made = Agent(model, sandbox, task="Do it.", settings=Settings(budget=8_000))
    result = made.run()
    assert [(edit.status, edit.rule) for edit in result.edits] == [
        ("rejected", "the file was changed by a command that was killed")
    ]
    assert "one\n" in texts(model)[3]  # the context is as it was
    assert "rejected" in texts(model)[-1]


def test_the_same_bytes_of_a_command_that_ended_by_itself_are_taken(inner: LocalSandbox) -> None:
    model = Scripted(bash("echo one"), bash(HALF), say("42"))
    sandbox: Any = Limited(inner, "")
    result = Agent(model, sandbox, task="Do it.", settings=Settings(budget=8_000)).run()
    assert [edit.status for edit in result.edits] == ["applied"]


@pytest.mark.skipif(available() is not None, reason=str(available()))
def test_a_command_that_bubblewrap_stops_in_the_middle_of_an_edit_changes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    model = Scripted(bash("echo one"), bash(f"{HALF}; yes"), say("42"))
    with BubblewrapSandbox(
        tmp_path / "work",
        context_dir=tmp_path / "context",
        timeout=60,
        limits=Limits(output_bytes=1_000_000),
    ) as sandbox:
        made = Agent(
            model,
            sandbox,
            task="Do it.",
            settings=Settings(budget=8_000),
            path=tmp_path / "context",
        )
        result = made.run()
    assert [edit.rule for edit in result.edits] == [
        "the file was changed by a command that was killed"
    ]
    said = made.session.messages[-2]["content"]
    assert "this command was stopped: more than 1000000 bytes of output" in said
    assert "one\n" in texts(model)[3]


# -- background processes ----------------------------------------------------------------------------------

SERVERS = "Start what runs for ever in the background"
ENDS = "What it starts in the background ends with it"


@pytest.mark.parametrize(("background", "told"), [(True, SERVERS), (False, ENDS)])
def test_the_prompt_says_what_becomes_of_background_processes(
    inner: LocalSandbox, background: bool, told: str
) -> None:
    model = Scripted(say("42"))
    sandbox: Any = Limited(inner, "", background=background)
    Agent(model, sandbox, task="Do it.", settings=Settings(budget=8_000)).run()
    others = {SERVERS, ENDS} - {told}
    assert told in texts(model)[0]
    assert not any(other in texts(model)[0] for other in others)


def test_a_late_command_is_advised_to_run_in_the_background_only_where_that_helps() -> None:
    advice = {
        background: command_result("", 143, timed_out=True, seconds=2, background=background)
        for background in (True, False)
    }
    assert "run it in the background" in advice[True]
    assert "background" not in advice[False]
    assert "Set a larger `timeout` or do less at a time]" in advice[False]


def test_a_run_that_goes_on_in_another_sandbox_is_told_what_holds_there(
    inner: LocalSandbox, tmp_path: Path
) -> None:
    settings = Settings(budget=8_000)
    with SQLiteJournal(tmp_path / "run") as journal, pytest.raises(KeyboardInterrupt):
        Agent(
            Scripted(bash("echo one"), KeyboardInterrupt()),
            inner,
            task="Do it.",
            settings=settings,
            journal=journal,
        ).run()
    model = Scripted(bash("echo two"), say("42"))
    sandbox: Any = Limited(inner, "", background=False)
    with SQLiteJournal(tmp_path / "run") as journal:
        Agent.resume(model, sandbox, journal).run()
    assert SERVERS in texts(model)[0]  # as it was sent then
    assert "What a command starts in the background ends with it." in texts(model)[-1]
    assert "background ends" not in resumed_notice("beef")


def test_prompts_are_of_one_length_whatever_the_sandbox() -> None:
    one, other = (system_prompt(120, 600, background=background) for background in (True, False))
    assert abs(len(one) - len(other)) < 60
