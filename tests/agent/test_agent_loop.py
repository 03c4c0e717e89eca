"""The agent's loop, with a scripted model and real commands."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from agent_world import NOTE_ALL, Scripted, agent, bash, play, say

from redraft.agent import (
    BASH,
    Agent,
    CommandEnded,
    CommandStarted,
    Prodded,
    RequestRefused,
    RunResult,
    RunStatus,
)
from redraft.errors import (
    BudgetError,
    ContextOverflowError,
    ModelError,
    ModelReplyError,
    SandboxError,
    SessionStateError,
    SettingsError,
)
from redraft.events import Event, PhaseChanged
from redraft.models import Model
from redraft.sandbox import LocalSandbox, Outcome
from redraft.settings import Settings


def contents(model: Scripted, at: int = -1) -> list[str]:
    return [str(message["content"]) for message in model.requests[at]["messages"]]


def test_a_run_ends_with_the_first_reply_without_calls(tmp_path: Path) -> None:
    made, model = play(bash("echo hi"), say("42"), say("never asked"), place=tmp_path)
    result = made.result
    assert (result.answer, result.status, result.why) == ("42", RunStatus.FINISHED, "")
    assert (result.metrics.rounds, result.metrics.steps, result.metrics.commands) == (2, 1, 1)
    assert contents(model)[3].startswith("hi\n[redraft:")


def test_the_request_holds_system_prompt_task_and_tool(tmp_path: Path) -> None:
    _, model = play(place=tmp_path, task="Count the files.", parameters={"temperature": 0.5})
    request = model.requests[0]
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["messages"][1]["content"] == "Count the files."
    assert request["tools"] == [BASH]
    assert request["temperature"] == 0.5


def test_a_scripted_model_is_a_model() -> None:
    as_protocol: Model = Scripted()
    assert as_protocol.name == "scripted"


# --- the context file ---------------------------------------------------------------------------


def test_commands_find_the_context_file_and_their_edits_land(tmp_path: Path) -> None:
    made, model = play(bash("seq 1 300"), bash(NOTE_ALL), place=tmp_path)
    metrics = made.result.metrics
    assert dict(metrics.edits) == {"applied": 1}
    assert (metrics.steps, metrics.free_rounds) == (1, 1)
    assert contents(model)[2] == "noted"
    assert made.result.edits[0].after < made.result.edits[0].before


def test_the_context_file_goes_with_the_run_and_its_place_was_ours(tmp_path: Path) -> None:
    made, model = play(bash('echo "$REDRAFT_CONTEXT_FILE"'), place=tmp_path)
    path = Path(contents(model)[3].splitlines()[0])
    assert path.name == "LIVE_CTX_MAIN.txt"
    assert not path.parent.exists()
    assert made.session.messages  # the record stays


def test_without_an_interface_the_context_only_grows(tmp_path: Path) -> None:
    made, model = play(bash('echo "[$REDRAFT_CONTEXT_FILE]"'), place=tmp_path, interface="none")
    assert contents(model)[3].startswith("[]\n")
    assert made.session.context_file is None
    assert "Redrafting" not in contents(model)[0]


def test_a_command_that_is_killed_does_not_edit(tmp_path: Path) -> None:
    edit = ': > "$REDRAFT_CONTEXT_FILE"; sleep 60'
    made, model = play(bash("echo keep"), bash(edit, timeout=0.2), place=tmp_path)
    assert dict(made.result.metrics.edits) == {"rejected": 1}
    assert "keep" in contents(model)[3]
    assert "[stopped: not done after 0.2 seconds." in contents(model)[5]


# --- replies that are no use --------------------------------------------------------------------


def reply(message: Any, finish: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}]}


def test_a_reply_that_cannot_be_read_is_asked_for_again_with_the_same_request(
    tmp_path: Path,
) -> None:
    made, model = play("<html>", {"choices": []}, say("fine"), place=tmp_path)
    assert made.result.answer == "fine"
    assert model.requests[0] is model.requests[1] is model.requests[2]
    assert made.result.metrics.rounds == 1


def test_three_replies_that_cannot_be_read_end_the_run(tmp_path: Path) -> None:
    model = Scripted("<html>", "<html>", "<html>", say("too late"))
    made, sandbox = agent(model, tmp_path)
    with sandbox, pytest.raises(ModelReplyError, match="not a chat completion, 3 times running"):
        made.run()
    assert made.result.status is RunStatus.FAILED
    assert "not a chat completion" in made.result.why


@pytest.mark.parametrize(
    ("useless", "fault"),
    [
        (say(""), "empty"),
        (say(None), "empty"),
        (reply(say("half of it"), "length"), "broken-off"),
        (reply(say(""), "length"), "broken-off"),
        (reply(say("I must not"), "content_filter"), "broken-off"),
    ],
)
def test_a_useless_reply_costs_a_step_and_is_asked_for_again(
    tmp_path: Path, useless: object, fault: str
) -> None:
    seen: list[Event] = []
    made, _ = play(useless, say("here"), place=tmp_path, on_event=seen.append)
    assert made.result.answer == "here"
    assert made.result.metrics.steps == made.result.metrics.prods == 1
    assert [event.why for event in seen if isinstance(event, Prodded)] == [fault]


def test_useless_replies_running_end_the_run_with_what_there_is(tmp_path: Path) -> None:
    half = reply(say("half of it"), "length")
    made, model = play(*[half] * 9, place=tmp_path)
    result = made.result
    assert (result.status, result.answer) == (RunStatus.STOPPED, "half of it")
    assert result.why == "the model's replies stay broken-off"
    assert len(model.requests) == 4


def test_work_in_between_starts_the_count_of_useless_replies_anew(tmp_path: Path) -> None:
    script = [say(""), say(""), say(""), bash("true")] * 2
    made, _ = play(*script, say("at last"), place=tmp_path)
    assert (made.result.status, made.result.answer) == (RunStatus.FINISHED, "at last")


# --- the end of the budget ----------------------------------------------------------------------


def test_the_step_budget_ends_in_one_last_turn(tmp_path: Path) -> None:
    seen: list[Event] = []
    made, model = play(
        *[bash("true")] * 2, say("so far"), place=tmp_path, max_steps=2, on_event=seen.append
    )
    result = made.result
    assert (result.status, result.answer) == (RunStatus.STOPPED, "so far")
    assert result.why == "the step budget is spent"
    assert "This is your last turn" in contents(model)[-1]
    assert [e.phase for e in seen if isinstance(e, PhaseChanged)] == ["final", "stopped"]


def test_the_words_beside_calls_of_the_last_turn_are_the_answer(tmp_path: Path) -> None:
    last = {**bash("touch made"), "content": "It is in report.md; one more look:"}
    made, _ = play(bash("true"), last, place=tmp_path, max_steps=1)
    assert made.result.answer == "It is in report.md; one more look:"
    assert not (tmp_path / "made").exists()


def test_without_a_final_turn_the_run_stops_at_once(tmp_path: Path) -> None:
    settings = Settings(budget=8_000, final_turn=False, max_steps=1)
    made, model = play(bash("true"), say("never asked"), place=tmp_path, settings=settings)
    assert (made.result.status, made.result.answer) == (RunStatus.STOPPED, "")
    assert len(model.requests) == 1


def test_an_answer_in_time_is_no_stop(tmp_path: Path) -> None:
    made, _ = play(bash("true"), say("in time"), place=tmp_path, max_steps=2)
    assert made.result.status is RunStatus.FINISHED


# --- overflow -----------------------------------------------------------------------------------


def test_an_overflow_error_is_rolled_back_and_the_run_goes_on(tmp_path: Path) -> None:
    seen: list[Event] = []
    too_large = ContextOverflowError("too large", requested=90_000, window=89_000)
    made, model = play(
        bash("seq 1 1500"), bash("seq 1 300"), too_large, place=tmp_path, on_event=seen.append
    )
    result = made.result
    assert (result.answer, result.metrics.rollbacks) == ("done", 1)
    assert any(isinstance(event, RequestRefused) for event in seen)
    assert "Rolled back" in contents(model)[-1]
    # The refused request was never read, so it is no peak.
    refused = made.result.edits[0].before
    assert result.metrics.peak_tokens < refused


def test_a_server_that_refuses_whatever_is_sent_ends_the_run(tmp_path: Path) -> None:
    """By a last turn that is refused as well, or by an error where what must be sent is too large."""
    work = [bash("seq 1 400")] * 4
    model = Scripted(*work, *[ContextOverflowError("too large")] * 99)
    made, sandbox = agent(model, tmp_path, settings=Settings(budget=30_000))
    with sandbox, suppress(BudgetError):
        made.run()
    assert made.result.status in (RunStatus.STOPPED, RunStatus.FAILED)
    assert made.result.metrics.rounds == 4
    assert len(model.requests) < 12


# --- what ends a run early ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelError("the server is on fire"), RunStatus.FAILED),
        (RuntimeError("a bug of the model's"), RunStatus.FAILED),
        (KeyboardInterrupt(), RunStatus.INTERRUPTED),
        (SystemExit(1), RunStatus.INTERRUPTED),
    ],
)
def test_an_error_passes_through_and_leaves_the_partial_result(
    tmp_path: Path, error: BaseException, status: RunStatus
) -> None:
    words = {**bash("true"), "content": "I am only beginning."}
    made, sandbox = agent(Scripted(words, error), tmp_path)
    with sandbox, pytest.raises(type(error)):
        made.run()
    assert (made.result.status, made.result.answer) == (status, "")
    assert made.result.metrics.commands == 1
    file = made.session.context_file
    assert file is not None
    assert not file.parent.exists()


class Interrupting:
    """A sandbox in which Ctrl-C comes during the first command of the model's."""

    background = True

    def __init__(self, inner: LocalSandbox) -> None:
        self._inner = inner

    def run(self, command: str, timeout: float | None = None) -> Outcome:
        if not command.startswith("export "):
            raise KeyboardInterrupt
        return self._inner.run(command, timeout)


def test_an_interrupted_call_still_has_a_result_in_the_record(tmp_path: Path) -> None:
    with LocalSandbox(tmp_path) as inner:
        made = Agent(Scripted(bash("sleep 9")), Interrupting(inner), task="Do it.")  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            made.run()
    assert "was interrupted while this call ran" in made.session.messages[-1]["content"]


class Closed:
    """A sandbox without a working shell."""

    background = True

    def run(self, command: str, timeout: float | None = None) -> Outcome:
        return Outcome("no shell here\n", 127, timed_out=False, truncated_bytes=0)


def test_a_sandbox_without_a_shell_is_found_before_anything_is_sent(tmp_path: Path) -> None:
    model = Scripted()
    with pytest.raises(SandboxError, match="no shell here"):
        Agent(model, Closed(), task="Do it.").run()  # type: ignore[arg-type]
    assert model.requests == []


def test_an_agent_runs_once(tmp_path: Path) -> None:
    made, _ = play(place=tmp_path)
    with pytest.raises(SessionStateError, match="make a new one"):
        made.run()


def test_an_agent_that_never_runs_leaves_nothing(tmp_path: Path) -> None:
    model = Scripted()
    made, sandbox = agent(model, tmp_path)
    with sandbox, made:
        file = made.session.context_file
        assert file is not None
        assert made.result == RunResult(metrics=made.result.metrics, model="scripted")
    assert not file.parent.exists()
    assert model.requests == []


# --- what cannot be used ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": b"\x89PNG"}, "the task is bytes, not text; decode it first"),
        ({"task": " \n"}, "the task is empty"),
        ({"task": "a\0b"}, "the task holds a NUL at character 1"),
        ({"task": "caf\udce9"}, "the task is not valid UTF-8 .at character 3."),
        ({"system": "\0"}, "the system prompt holds a NUL"),
        ({"system": ""}, "the system prompt is empty"),
        ({"steer": "\ud800"}, "steer is not valid UTF-8"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with LocalSandbox(tmp_path) as sandbox, pytest.raises(SettingsError, match=message):
        Agent(Scripted(), sandbox, **{"task": "Do it.", **options})


def test_a_task_larger_than_the_budget_is_an_error_with_the_sizes(tmp_path: Path) -> None:
    with LocalSandbox(tmp_path) as sandbox, pytest.raises(BudgetError, match="pinned"):
        Agent(Scripted(), sandbox, task="word " * 9_000, budget=8_000)


# --- events -------------------------------------------------------------------------------------


def test_commands_are_told_with_their_time_and_their_end(tmp_path: Path) -> None:
    seen: list[Event] = []
    play(bash("echo abc; exit 3", timeout=7), place=tmp_path, on_event=seen.append)
    started, ended = (e for e in seen if isinstance(e, CommandStarted | CommandEnded))
    assert started == CommandStarted(1, "echo abc; exit 3", 7.0)
    assert ended == CommandEnded(1, 3, timed_out=False, printed=4)


def test_a_watcher_may_look_at_the_result_at_any_time(tmp_path: Path) -> None:
    states: list[tuple[RunStatus, int]] = []
    model = Scripted(bash("true"))
    with LocalSandbox(tmp_path) as sandbox:
        made = Agent(
            model,
            sandbox,
            task="Do it.",
            on_event=lambda event: states.append((made.result.status, made.result.metrics.rounds)),
        )
        made.run()
    # The last two tell of the end: what the exchange took, and how the run stands.
    assert {status for status, _ in states[:-2]} == {RunStatus.RUNNING}
    assert states[-1][0] is RunStatus.FINISHED  # the last event says how it ended
    assert [rounds for _, rounds in states] == sorted(rounds for _, rounds in states)
