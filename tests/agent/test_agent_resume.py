"""A run that another process goes on with: its answer, its steps, its figures, and what it is told."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from agent_world import Scripted, bash, say

from redraft.agent import Agent, CommandStarted, RunResult, RunStatus
from redraft.errors import JournalError, ModelConnectionError
from redraft.events import Event, RunEnded
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings
from redraft.store import SQLiteJournal, Told, run_info


class World:
    """Runs of one task in one place."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.run = home / "run"
        self.agent: Agent | None = None

    def begin(self, *script: object, **options: Any) -> Scripted:
        return self._work(Scripted(*script), None, **options)

    def resume(self, *script: object, say_: str = "", **options: Any) -> Scripted:
        return self._work(Scripted(*script), say_, **options)

    def _work(self, model: Scripted, more: str | None, **options: Any) -> Scripted:
        (self.home / "work").mkdir(exist_ok=True)
        with (
            LocalSandbox(self.home / "work", timeout=20) as sandbox,
            SQLiteJournal(self.run) as journal,
        ):
            if more is None:
                options = {"task": "Do it.", "settings": Settings(budget=8_000), **options}
                self.agent = Agent(
                    model, sandbox, journal=journal, path=self.run / "context", **options
                )
            else:
                self.agent = Agent.resume(model, sandbox, journal, **options)
            if more:
                self.agent.session.append({"role": "user", "content": more})
            with suppress(KeyboardInterrupt, ModelConnectionError):
                self.agent.run()
        return model

    @property
    def result(self) -> RunResult:
        assert self.agent is not None
        return self.agent.result


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def contents(model: Scripted, at: int = -1) -> list[str]:
    return [str(message["content"]) for message in model.requests[at]["messages"]]


def test_a_run_that_a_person_stopped_goes_on_and_ends_with_its_answer(world: World) -> None:
    world.begin(bash("echo one"), KeyboardInterrupt())
    assert world.result.status is RunStatus.INTERRUPTED
    model = world.resume(bash("echo two"), say("42"))
    assert (world.result.answer, world.result.status, world.result.why) == (
        "42",
        RunStatus.FINISHED,
        "",
    )
    assert [text.splitlines()[0] for text in contents(model)[3::2]] == ["one", "two"]


def test_figures_go_on_counting(world: World) -> None:
    world.begin(bash("echo one"), bash("echo two"), ModelConnectionError("gone"))
    assert world.result.status is RunStatus.FAILED
    world.resume(bash("echo three"), say("42"))
    metrics = world.result.metrics
    assert (metrics.rounds, metrics.steps, metrics.commands) == (4, 3, 3)
    assert metrics.sent_tokens > metrics.peak_tokens > 0


def test_the_model_is_told_that_its_shell_is_a_new_one_once(world: World) -> None:
    world.begin(bash("export X=1"), KeyboardInterrupt())
    model = world.resume(bash("echo [$X]"), bash("echo again"), say("42"))
    first, second = contents(model)[5::2]
    assert first.startswith("[]\n")
    assert "goes on in a new shell" in first
    assert "new shell" not in second


def test_a_command_that_was_interrupted_is_told_as_such(world: World) -> None:
    world.begin(bash("kill -INT $PPID; sleep 20"))
    model = world.resume(say("42"))
    (said,) = contents(model)[3::2]
    assert "the session was interrupted while this call ran" in said
    assert world.result.answer == "42"


def test_a_run_that_has_its_answer_gives_it_again_and_asks_nobody(world: World) -> None:
    world.begin(say("42"))
    model = world.resume(say("never asked"))
    assert model.requests == []
    assert (world.result.answer, world.result.status) == ("42", RunStatus.FINISHED)
    assert world.result.metrics.rounds == 1


def test_a_run_that_has_its_answer_can_be_asked_for_more(world: World) -> None:
    world.begin(say("42"))
    model = world.resume(say("43"), say_="And now?")
    assert contents(model)[2:] == ["42", "And now?"]
    assert world.result.answer == "43"


def test_a_run_out_of_steps_goes_on_with_more_and_not_without(world: World) -> None:
    world.begin(bash("true"), bash("true"), say("so far"), max_steps=2)
    assert (world.result.status, world.result.why) == (
        RunStatus.STOPPED,
        "the step budget is spent",
    )
    assert world.resume(say("never asked")).requests == []
    assert world.result.answer == "so far"
    model = world.resume(bash("true"), say("42"), max_steps=4)
    assert contents(model, 0)[-1].endswith("Give your answer once the task is done.")
    assert (world.result.answer, world.result.status, world.result.why) == (
        "42",
        RunStatus.FINISHED,
        "",
    )
    assert world.result.metrics.steps == 3


def test_more_steps_stay_given_and_change_nothing_else(world: World) -> None:
    world.begin(bash("true"), KeyboardInterrupt(), budget=9_000, max_steps=2)
    assert world.agent is not None
    limit = world.agent.session.limit
    world.resume(KeyboardInterrupt(), max_steps=5)
    world.resume(KeyboardInterrupt())
    assert world.agent.session.settings.max_steps == 5
    assert world.agent.session.limit == limit
    world.resume(KeyboardInterrupt(), budget=12_000)
    assert world.agent.session.limit == limit + 3_000


def test_empty_replies_are_counted_across_processes(world: World) -> None:
    world.begin(say(""), say(""), KeyboardInterrupt())
    world.resume(say(""), KeyboardInterrupt())
    world.resume(say(""), say("never asked"))
    assert world.result.why == "the model's replies stay empty"
    assert world.result.metrics.prods == 3


def test_a_reply_that_was_broken_off_is_asked_for_again(world: World) -> None:
    cut = {"choices": [{"message": say("The answ"), "finish_reason": "length"}]}
    world.begin(cut, KeyboardInterrupt())
    model = world.resume(say("The answer."))
    assert "broke off" in contents(model)[-1]
    assert world.result.answer == "The answer."


def test_the_record_says_when_commands_begin_and_how_runs_end(world: World) -> None:
    seen: list[Event] = []
    world.begin(bash("echo hi"), KeyboardInterrupt(), on_event=seen.append)
    world.resume(say("42"), on_event=seen.append)
    with SQLiteJournal(world.run, write=False) as journal:
        told = [entry.event for entry in journal.entries() if isinstance(entry, Told)]
        assert list(journal.events()) == told == seen
    assert [event.command for event in told if isinstance(event, CommandStarted)] == ["echo hi"]
    assert [(e.status, e.why) for e in told if isinstance(e, RunEnded)] == [
        ("interrupted", "interrupted"),
        ("finished", ""),
    ]


def test_a_list_of_runs_says_how_each_one_ended(world: World) -> None:
    world.begin(bash("true"), KeyboardInterrupt())
    assert run_info(world.run).status == "interrupted"
    world.resume(say("42"))
    info = run_info(world.run)
    assert (info.status, info.model, info.task) == ("finished", "scripted", "Do it.")


def test_the_context_file_lies_where_the_run_keeps_it(world: World) -> None:
    model = world.begin(bash('echo "$REDRAFT_CONTEXT_FILE"'), KeyboardInterrupt())
    place = str(world.run / "context" / "LIVE_CTX_MAIN.txt")
    assert place in contents(model)[3]
    model = world.resume(bash('echo "$REDRAFT_CONTEXT_FILE"'), say("42"))
    assert place in contents(model)[5]
    assert place in contents(model)[0]
    assert not Path(place).exists()


def test_a_run_killed_in_the_middle_of_a_command_can_be_taken_up(
    world: World, tmp_path: Path
) -> None:
    world.begin(bash("echo one"), KeyboardInterrupt())
    (tmp_path / "other").mkdir()
    shutil.copy(world.run / "journal.db", tmp_path / "other" / "journal.db")
    world.run = tmp_path / "other"
    world.resume(say("42"))
    assert world.result.answer == "42"


def test_without_a_run_there_is_nothing_to_take_up(world: World) -> None:
    with pytest.raises(JournalError, match="holds no session"):
        world.resume(say("42"))
    with pytest.raises(JournalError, match="holds no session"):
        world.resume(say("42"), max_steps=3)
