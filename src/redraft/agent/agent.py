"""The agent: a model, a shell, and a session between them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from redraft import prompts
from redraft.agent.bash import BASH, LONGEST, read_command
from redraft.agent.metrics import Collector
from redraft.agent.result import RunResult, RunStatus
from redraft.agent.texts import mended, usable_text
from redraft.budget import Phase
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import elsewhere, spoken, unthought
from redraft.errors import DialectError, ModelReplyError, SandboxError, SessionStateError
from redraft.events import (
    CommandEnded,
    CommandStarted,
    EditJudged,
    Event,
    PhaseChanged,
    Prodded,
    ReplyRead,
    RequestRefused,
    RunEnded,
)
from redraft.models import Model
from redraft.models.overflow import overflow_of
from redraft.policies import Policy
from redraft.prompts import agent as words
from redraft.sandbox import Sandbox
from redraft.session import Approver, Interface, Session, ToolCall
from redraft.session.rounds import Outcome
from redraft.session.summarizers import EXTRACTIVE, OWN, ModelSummarizer, Summarizer
from redraft.session.terms import recorded_terms
from redraft.settings import Settings
from redraft.store import Journal, SQLiteJournal
from redraft.store.memory_base import Memory

__all__ = ["Agent"]

_GARBAGE_TRIES = 3
"""Replies running that cannot be read, before the run fails. A client may retry on its own as well."""

_PRODS = 3
"""Replies running that are empty or broken off, before the run stops."""

_MANY_FREE = 20
"""Free rounds that every run may have; a long one may have as many as steps. Growing and shrinking in
turn is free for ever by the rule on free rounds, and every round costs a model call."""

_NOTICES: Mapping[str, Callable[[str], str]] = {
    "broken-off": words.broken_off_notice,
    "empty": words.empty_reply_notice,
    "made-up": prompts.forged_reply_notice,
    "unfenced": prompts.elsewhere_notice,
}
"""What the model is told of a reply that is no use, by what is wrong with it."""

_ANSWERED = (RunStatus.FINISHED, RunStatus.STOPPED)


class Agent:
    """Works on one task with one tool, `bash`, and redrafts its context on the way.

        with LocalSandbox(Path("work")) as sandbox:
            result = Agent(OpenAIModel("gpt-5"), sandbox, task="Mend the failing test.").run()

    Nothing is sent before `run`. The sandbox and the model stay the caller's to close.

    Args:
        model: who answers.
        sandbox: where the commands run. The context file must be visible there under its own path.
        task: what to do.
        system: the system prompt, to which the section on the context is added; by default
            `redraft.prompts.agent.system_prompt`.
        budget: tokens that a prompt may take; by default `settings.budget`, else the model's window.
        window: the model's window in tokens, where its name does not say it.
        interface: how the model edits its context; `none` for a run that only appends.
        settings: all other numbers. With `tool_calls="fenced"` the model writes its calls as text.
        steer: a sentence of strategy on when and how to edit.
        max_steps: steps of this run; by default `settings.max_steps`.
        parameters: further request fields, e.g. `temperature`.
        policy: who compacts on schedule beside the model, or its name (`redraft.policies.POLICIES`).
        policy_options: options of a policy that is named, as somebody would type them.
        summarizer: who writes the summaries that it asks for: `own` (default), the model of the run;
            `extractive`, the built-in one; or any other.
        memory: what it looks things up in, or its file.
        approver: asked before each call whether it may run: None for yes, an `Approval` for a call that
            is to wait for a person, a `Rejection` for no. Where a call waits, the run ends with the status
            `waiting`, and is taken up again once that is decided (`Session.approve`, `Session.reject`).
        on_event: called with every event of the session and of the agent, in order.
        journal: where everything is recorded, for `resume`; by default in memory. It stays the caller's
            to close.
        path: the directory for the context file; by default a private temporary one.
        incognito: keep no record on disk; see `redraft.Session`.

    Raises:
        BudgetError: the budget leaves no room for what must be sent.
        ContextFileError: the context file cannot be made.
        SettingsError: a text or a number cannot be used.
    """

    def __init__(
        self,
        model: Model,
        sandbox: Sandbox,
        *,
        task: str,
        system: str | None = None,
        budget: int | None = None,
        window: int | None = None,
        interface: Interface | None = None,
        settings: Settings | None = None,
        steer: str = "",
        max_steps: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        policy: Policy | str | None = None,
        policy_options: Mapping[str, str] | None = None,
        summarizer: Summarizer | str | None = None,
        memory: Memory | str | Path | None = None,
        approver: Approver | None = None,
        on_event: Callable[[Event], None] | None = None,
        journal: Journal | None = None,
        path: str | Path | None = None,
        incognito: bool = False,
    ) -> None:
        self._begin(model, sandbox, on_event)
        self._settings = _with_steps(settings or Settings(), max_steps)
        default = self._settings.command_timeout
        dialect = Fenced() if self._settings.tool_calls == "fenced" else None
        if system is None:
            system = words.system_prompt(
                default, max(LONGEST, default), background=sandbox.background
            )
        self._session = Session(
            [
                {"role": "system", "content": usable_text("the system prompt", system)},
                {"role": "user", "content": usable_text("the task", task)},
            ],
            tools=[BASH],
            model=model.name,
            budget=budget,
            window=window,
            interface=interface,
            settings=self._settings,
            steer=usable_text("steer", steer or self._settings.steer, empty=True),
            parameters=parameters,
            policy=policy,
            policy_options=policy_options,
            summarizer=_summarizer(summarizer or OWN, model),
            memory=memory,
            dialect=dialect,
            approver=approver,
            on_event=self._saw,
            journal=journal,
            path=path,
            incognito=incognito,
        )

    def _begin(
        self, model: Model, sandbox: Sandbox, on_event: Callable[[Event], None] | None
    ) -> None:
        self._model = model
        self._sandbox = sandbox
        self._on_event = on_event
        self._collector = Collector()
        self._edits: list[EditJudged] = []
        self._reply: ReplyRead | None = None
        self._why = ""
        self._status = RunStatus.RUNNING
        self._prods = 0
        self._began = False
        self._resumed = False

    @classmethod
    def resume(
        cls,
        model: Model,
        sandbox: Sandbox,
        journal: SQLiteJournal,
        *,
        budget: int | None = None,
        window: int | None = None,
        settings: Settings | None = None,
        max_steps: int | None = None,
        policy: Policy | str | None = None,
        policy_options: Mapping[str, str] | None = None,
        summarizer: Summarizer | str | None = None,
        memory: Memory | str | Path | None = None,
        approver: Approver | None = None,
        on_event: Callable[[Event], None] | None = None,
        path: str | Path | None = None,
    ) -> Self:
        """Take up a run where its journal leaves it; `run` then goes on with it.

        A run that has its answer ends at once, with that answer, unless `session.append` gave the model
        more to do. One that was stopped goes on, with as many steps as it is given now.

        Args:
            model, sandbox: as for a new run. The shell is a new one, and the model is told so.
            journal: the run's journal, open to write.
            budget, window: for another limit; by default it stays.
            settings: other numbers; by default they stay.
            max_steps: steps of the whole run, those before included; by default they stay.
            policy, policy_options, summarizer, memory: in place of what the run had. A policy that no name
                and options make must be given again; a summarizer that was another model is `own` where it
                is not given.
            approver: as for a new run. Calls that were approved meanwhile are run first.
            on_event: called with every event from here on.
            path: another directory for the context file.

        Raises:
            ContextFileError: the context file cannot be made at its place.
            JournalError: the journal cannot be read or written, or holds no session.
        """
        agent = cls.__new__(cls)
        agent._begin(model, sandbox, on_event)
        agent._resumed = True
        terms = recorded_terms(journal)
        if max_steps is not None:
            settings = _with_steps(settings or terms.settings, max_steps)
        if summarizer is None:
            summarizer = EXTRACTIVE if terms.summarizer == EXTRACTIVE else OWN
        for event in journal.events():
            agent._note(event)
        agent._session = Session.resume(
            journal,
            budget=budget,
            window=window,
            settings=settings,
            policy=policy,
            policy_options=policy_options,
            summarizer=_summarizer(summarizer, model),
            memory=memory,
            approver=approver,
            on_event=agent._saw,
            path=path,
            notice=words.resumed_notice(
                str(journal.meta().get("tag", "")), background=sandbox.background
            ),
        )
        agent._settings = agent._session.settings
        return agent

    @property
    def session(self) -> Session:
        """The session: its messages, ledger and journal stay readable after the run."""
        return self._session

    @property
    def result(self) -> RunResult:
        """How the run stands: the partial result of one that was interrupted or failed."""
        return RunResult(
            answer=self._answer() if self._status in _ANSWERED else "",
            status=self._status,
            why=self._why,
            metrics=self._collector.metrics,
            edits=tuple(self._edits),
            calls=self._collector.calls,
            model=self._model.name,
            exchanges=self._collector.exchanges,
            outside=self._collector.outside,
        )

    def run(self) -> RunResult:
        """Work on the task until there is an answer, or the steps or the context are spent.

        The context file goes when this returns. After an error or Ctrl-C, which pass through, `result`
        holds what there is; a command that was running has been killed.

        Raises:
            ModelError: the model cannot be asked, or three replies running could not be read.
            BudgetError: the server takes less than what must be sent.
            SandboxError: commands cannot be run.
            ContextFileError: the context file cannot be written any more.
            SessionStateError: this agent has run already.
        """
        if self._began:
            raise SessionStateError("an agent runs once; make a new one for another task.")
        self._began = True
        try:
            self._prepare()
            if not self._resumed or self._take_up():
                self._loop()
        except Exception as error:
            self._status, self._why = RunStatus.FAILED, str(error)
            raise
        except BaseException:  # Ctrl-C, or an exit that a signal asked for
            self._status, self._why = RunStatus.INTERRUPTED, "interrupted"
            raise
        finally:
            for exchange in self._collector.exchanges[-1:]:
                self._tell(exchange.ended(self._round))
            self._tell(RunEnded(self._round, str(self._status), self._why))
            self.close()
        return self.result

    def close(self) -> None:
        """Remove the context file; `run` does it as well. Closing twice does nothing."""
        self._session.close()

    def __enter__(self) -> Self:
        """Use the agent in a `with` block, where it may come to no run."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the agent."""
        self.close()

    # -- the loop --------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Let the commands know where the context file lies; exported variables last."""
        for name, value in self._session.env.items():
            outcome = self._sandbox.run(f"export {name}={shlex.quote(value)}")
            if outcome.exit_code:
                raise SandboxError(
                    f"{name} cannot be set in the sandbox: {outcome.output.strip()}. Check that its "
                    "shell works."
                )

    def _take_up(self) -> bool:
        """Before a run goes on: whether there is anything to do."""
        session, steps = self._session, self._collector.metrics.steps
        if not self._settled():
            return False
        if session.phase is Phase.STOPPED:
            if steps >= self._settings.max_steps:
                self._status = RunStatus.STOPPED
                return False
            note = words.taken_up_notice(session.tag)
            session.append({"role": "user", "content": note})
        elif session.done:
            return self._go_on()
        self._mind_steps()
        return True

    def _loop(self) -> None:
        session = self._session
        while (request := session.request()) is not None:
            if not self._ask(request):
                continue
            with session.round() as now:
                for call in now.calls:
                    outcome = self._outcome(call)
                    now.result(
                        call,
                        outcome.text,
                        exit_code=outcome.exit_code,
                        timed_out=outcome.timed_out,
                    )
            if not self._settled():
                return
            if session.phase is Phase.RUNNING and not self._go_on():
                return
        self._status = RunStatus.STOPPED

    def _ask(self, request: Mapping[str, Any]) -> bool:
        """Make one model call; returns whether there is a reply, and no overflow."""
        with self._session.answer() as answer:
            for attempt in range(1, _GARBAGE_TRIES + 1):
                try:
                    answer(mended(self._model.complete(request)))
                    break
                except DialectError as error:
                    if attempt == _GARBAGE_TRIES:
                        raise self._unreadable(error) from error
                except Exception as error:
                    if overflow_of(error) is not None:
                        self._tell(RequestRefused(self._round))
                    raise
        return answer.given

    def _unreadable(self, error: DialectError) -> ModelReplyError:
        return ModelReplyError(
            f"The model {self._model.name!r} answers with something that is not a chat completion, "
            f"{_GARBAGE_TRIES} times running: {error} Check the server and the URL."
        )

    def _go_on(self) -> bool:
        """After a round: whether there is more to do, and what the model must be told first."""
        reply = self._reply
        if reply is not None and not reply.calls:
            fault = "" if reply.complete else "broken-off"
            fault = fault or self._fault(self._answer())
            if not fault:
                self._status = RunStatus.FINISHED
                return False
            if not self._prod(fault):
                return False
        self._mind_steps()
        return True

    def _fault(self, answer: str) -> str:
        """Why a whole reply without calls is no answer; "" where it is one."""
        if not (unthought(answer) if self._fenced else answer).strip():
            return "empty"
        if not self._fenced:
            return ""
        if spoken(answer).forged:
            return "made-up"
        return "unfenced" if elsewhere(answer, self._tools) else ""

    def _prod(self, fault: str) -> bool:
        """Ask again after a reply that is no use; False where that was tried often enough."""
        if self._prods == _PRODS:
            self._status, self._why = RunStatus.STOPPED, f"the model's replies stay {fault}"
            return False
        self._tell(Prodded(self._round, fault))
        notice = _NOTICES[fault](self._session.tag)
        self._session.append({"role": "user", "content": notice})
        return True

    def _mind_steps(self) -> None:
        metrics, most = self._collector.metrics, self._settings.max_steps
        if metrics.steps >= most:
            self._session.finish("the step budget is spent")
        elif metrics.free_rounds >= max(most, _MANY_FREE):
            self._session.finish("the rounds that only edit the context are spent")

    # -- calls -----------------------------------------------------------------------------------

    def _settled(self) -> bool:
        """Run the calls that were approved; whether none is left that waits for a person."""
        for waiting in self._session.pending:
            if waiting.granted:
                with self._session.replay(waiting.id) as now:
                    if not now.answered:
                        outcome = self._outcome(now.call)
                        now.result(
                            outcome.text, exit_code=outcome.exit_code, timed_out=outcome.timed_out
                        )
        left = next(iter(self._session.pending), None)
        if left is not None:
            self._status = RunStatus.WAITING
            self._why = f"approval {left.id} is asked for: {left.asked}"
        return left is None

    def _outcome(self, call: ToolCall) -> Outcome:
        """Run a call."""
        if call.name != "bash":
            return Outcome(words.no_such_tool_result(call.name, self._tools), 1)
        command = read_command(call.arguments, self._settings.command_timeout)
        if isinstance(command, str):
            return Outcome(words.bad_arguments_result(command), 1)
        self._tell(CommandStarted(self._round, command.text, command.seconds))
        outcome = self._sandbox.run(command.text, command.seconds)
        code, late = outcome.exit_code, outcome.timed_out
        self._tell(CommandEnded(self._round, code, late, len(outcome.output)))
        text = words.command_result(
            outcome.output,
            code,
            timed_out=late,
            seconds=command.seconds,
            background=self._sandbox.background,
        )
        # Whatever limit stopped it, it may have left half a context file.
        return Outcome(text, code, late or bool(outcome.stopped))

    @property
    def _fenced(self) -> bool:
        """Whether the model writes its calls as text."""
        return self._session.live.dialect.name == Fenced.name

    @property
    def _tools(self) -> list[str]:
        return ["bash", *self._session.own_tools]

    # -- what is known ---------------------------------------------------------------------------

    @property
    def _round(self) -> int:
        return self._reply.round if self._reply else 0

    def _answer(self) -> str:
        """The newest assistant turn's text, unless work went on after it."""
        turns = self._session.live.turns
        newest = next((turn for turn in reversed(turns) if turn.role != "tool"), None)
        return newest.content.text if newest is not None and newest.role == "assistant" else ""

    def _saw(self, event: Event) -> None:
        """Take note of an event and pass it on."""
        self._note(event)
        if self._on_event is not None:
            self._on_event(event)

    def _note(self, event: Event) -> None:
        match event:
            case ReplyRead():
                self._reply = event
                self._prods = 0 if event.calls else self._prods
            case Prodded():
                self._prods += 1
            case EditJudged():
                self._edits.append(event)
            case PhaseChanged(phase=Phase.RUNNING):
                self._why = ""
            case PhaseChanged(why=why):
                # The first change says what was spent; the second only how the last turn went.
                self._why = self._why or why
        self._collector = self._collector.after(event)

    def _tell(self, event: Event) -> None:
        self._session.tell(event)


def _with_steps(settings: Settings, max_steps: int | None) -> Settings:
    # Through the settings, so that their rules on range hold.
    return settings if max_steps is None else replace(settings, max_steps=max_steps)


def _summarizer(summarizer: Summarizer | str, model: Model) -> Summarizer | str:
    """A summarizer; the run's own model where it is called `own`."""
    return ModelSummarizer(model, name=OWN) if summarizer == OWN else summarizer
