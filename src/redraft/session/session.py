"""`Session`: what a person with their own loop holds. A few lines around the model call do the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, get_args

from redraft import prompts
from redraft.budget import Phase
from redraft.context import Check, Gate, Receipt
from redraft.dialects import Dialect, Native, Profile
from redraft.errors import RewriteBudgetViolation, SessionStateError, SettingsError
from redraft.events import Event
from redraft.models.overflow import overflow_of
from redraft.policies import Policy
from redraft.session.actions import late_tools
from redraft.session.answers import Answer
from redraft.session.approvals import Approver
from redraft.session.approving import Approving
from redraft.session.assembly import Means, assemble, mirror_of, own_tools
from redraft.session.beginning import (
    beginning_of,
    dialect_for,
    gate_of,
    limit_of,
    one_of,
    profile_for,
    section_of,
)
from redraft.session.calling import calls_part
from redraft.session.engine import Engine
from redraft.session.facts import Facts
from redraft.session.framing import fields_of, turns_of
from redraft.session.overflows import (
    closable,
    incognito_interface,
    must_leave_nothing,
    overflow_for,
)
from redraft.session.past import past_of
from redraft.session.resume import Resumption
from redraft.session.rounds import Round, ToolCall
from redraft.session.schedule import Schedule
from redraft.session.summarizers import Summarizer
from redraft.session.terms import Terms
from redraft.session.toolsets import EditTool
from redraft.session.undoing import undo, undo_since
from redraft.session.views import Views
from redraft.settings import Settings
from redraft.store import Journal, Opened, Overflow, SQLiteJournal, VolatileJournal
from redraft.store.memory_base import Memory
from redraft.tokens import Meter, family_factor

__all__ = ["Interface", "Session"]

Interface = Literal["file", "tool", "both", "context-tools", "all", "none"]
"""How the model edits its context: the file, the `edit_context` tool, both, the context tools on top of the
pressure pass, all of these, or not at all."""


class Session(Approving, Facts):
    """A conversation whose live context can be redrafted, safely.

    The loop of a person who calls the model themselves:

        session = Session(messages, tools=tools, model="gpt-5", budget=32_000)
        while request := session.request():
            with session.answer() as answer:
                answer(client.chat.completions.create(model="gpt-5", **request))
            with session.round() as round:
                for call in round.calls:
                    output, code = run(call)
                    round.result(call, output, exit_code=code)

    Commands that the model runs need `session.env` in their environment, so that they find the
    context file. A framework that owns the loop calls `view` instead.

    Nothing is written but the context file, in a private directory that goes with the session; there
    is no networking. One session belongs to one conversation, and to one thread at a time.

    Args:
        messages: the conversation so far, in the wire format of `dialect`.
        tools: tool schemas in that format, sent with every request; they do not change during the
            session. On the fenced route they are in the format of Chat Completions, and the system
            prompt describes them.
        model: the model's name: its window and how its tokens compare with ours.
        budget: tokens that a prompt may take; by default the model's window.
        window: the model's window in tokens, where the name does not say it.
        interface: how the model edits its context: `file`, `tool` (`edit_context`, for agents
            without a shell), `both`, `context-tools` (`context_status` and its like, offered when they
            are due), `all`, or `none`; by default `settings.interface`, the file.
        mode: `observe` judges every edit and yields the receipts, but changes nothing.
        gate: the rule on size for the model's edits; by default `settings.gate`.
        settings: all other numbers.
        path: the directory for the context file; by default a private temporary one.
        name: the agent's name, part of the context file's name.
        steer: a sentence of strategy for the model.
        parameters: further request fields, sent as they are: `temperature`, `max_tokens`, and a system
            prompt that does not stand in the list (`system`, `instructions`, `systemInstruction`). For
            Gemini a `config` among them holds tools and system prompt, as Google's SDK wants it.
        head: how many leading turns are pinned; by default the system prompts and the first user
            turn.
        dialect: the wire format; by default the journal's, else Chat Completions.
        profile: the rules that a sent list must keep; by default those of the wire format and model.
        meter: how tokens are counted.
        journal: where everything is recorded; by default in memory.
        overflow: where the originals go whose stubs stay in the context; by default beside a journal on
            disk, else in memory.
        incognito: keep nothing on disk, neither journal nor context file nor originals. What is
            dropped cannot be read again, and its stub says so; `undo` brings it back while the session
            lives. The interface is then `context-tools` where none is named that has no file.
        checks: further tests for the door.
        fallback: the policy that compacts when the model's own edits lose tokens.
        policy: who compacts on schedule beside the model, or a name of `redraft.policies.SPECTRUM`; by
            default nobody, and the pressure pass where there are the context tools. A name by which the
            model decides (`self-compact`) brings its own tools.
        policy_options: options of a policy that is named, as somebody would type them.
        summarizer: who writes the summaries that policies and tools ask for: `ModelSummarizer(client)`, a
            function, or `extractive`, the built-in one; by default that.
        memory: what policies look things up in, or its file; by default nothing.
        clock: seconds since the epoch, for the log of rotations.
        approver: asked before each call whether it may run: None for yes, an `Approval` for a call that
            is to wait for a person (see `pending`), a `Rejection` for no.
        on_event: called with every event.
        on_escalation: called when a rewrite cannot prove that it conserves.
        tag: what marks redraft's own words; by default four random hexadecimal digits.

    Attributes:
        settings, model, tag: as given or chosen.
        interface: how the model edits its context.
        observing: whether nothing is changed.

    Raises:
        BudgetError: the limit leaves no room for what must be sent.
        ContextFileError: the context file cannot be made.
        DialectError: the messages are not of this wire format.
        SettingsError: an argument has a value that cannot be used.
    """

    def __init__(
        self,
        messages: Sequence[object],
        *,
        tools: Sequence[Native] | None = None,
        model: str = "",
        budget: int | None = None,
        window: int | None = None,
        interface: Interface | None = None,
        mode: Literal["edit", "observe"] = "edit",
        gate: Gate | str | None = None,
        settings: Settings | None = None,
        path: str | Path | None = None,
        name: str = "MAIN",
        steer: str = "",
        parameters: Mapping[str, Any] | None = None,
        head: int | None = None,
        dialect: Dialect | None = None,
        profile: Profile | None = None,
        meter: Meter | None = None,
        journal: Journal | None = None,
        overflow: Overflow | None = None,
        incognito: bool = False,
        checks: Sequence[Check] = (),
        fallback: Policy | None = None,
        policy: Policy | str | None = None,
        policy_options: Mapping[str, str] | None = None,
        summarizer: Summarizer | str | None = None,
        memory: Memory | str | Path | None = None,
        clock: Callable[[], float] = time.time,
        approver: Approver | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_escalation: Callable[[RewriteBudgetViolation], None] | None = None,
        tag: str | None = None,
    ) -> None:
        settings = settings or Settings()
        if incognito:
            must_leave_nothing(journal, overflow, path, memory)
        schedule = Schedule.of(policy, policy_options, summarizer, memory, clock)
        wanted = interface or schedule.interface
        chosen = one_of("interface", wanted or settings.interface, get_args(Interface))
        if incognito:
            chosen = incognito_interface(wanted, settings)
        if isinstance(journal, SQLiteJournal) and not journal.blank:
            raise SessionStateError(
                "this journal holds a session already; take it up with Session.resume(journal), or give "
                "a directory of its own to a new one."
            )
        terms = Terms(
            model=model,
            tag=tag or prompts.new_tag(),
            interface=chosen,
            observing=one_of("mode", mode, ("edit", "observe")) == "observe",
            gate=str(gate_of(gate or settings.gate)),
            name=name,
            pinned=settings.pinned if head is None else head,
            limit=limit_of(model, budget, window, settings),
            family=family_factor(model),
            settings=settings,
            budget=budget,
            window=window,
            private=path is None,
            started=clock(),
            **schedule.values,
        )
        dialect = dialect_for(dialect, journal)
        own = own_tools(terms, dialect)
        fields = fields_of(
            dialect,
            tools,
            parameters,
            own_tool=terms.has_tool,
            own=own,
            late=late_tools(terms),
        )
        means = Means(
            journal=journal or VolatileJournal(),
            dialect=dialect,
            meter=meter or Meter(),
            profile=profile and profile_for(dialect, profile),
            checks=checks,
            fallback=fallback,
            schedule=schedule,
            approver=approver,
            overflow=overflow or overflow_for(journal, incognito=incognito),
            on_event=on_event,
            on_escalation=on_escalation,
        )
        self._bodies = closable(means.overflow) if overflow is None else None
        self._closed, self._schedule = False, schedule
        self._mirror = mirror_of(terms, Path(path) if path else None)
        try:
            if self._mirror:
                terms = replace(terms, context_file=str(self._mirror.path))
            calls = calls_part(dialect, tools, own_tool=terms.has_tool, own=own)
            terms = replace(terms, section=section_of(terms, steer or settings.steer, calls))
            beginning = beginning_of(terms, means, fields)
            messages = turns_of(dialect, messages)
            live = beginning.live(messages)
            means.journal.record(Opened(terms.values()))
            engine = assemble(terms, means, live, self._mirror)
            self._hold(terms, engine, Views(engine, beginning, messages))
        except BaseException:
            self.close()
            raise

    def _hold(self, terms: Terms, engine: Engine, views: Views) -> None:
        self.settings = terms.settings
        self.model = terms.model
        self.tag = terms.tag
        self.observing = terms.observing
        self.interface = terms.interface
        self._started = terms.started
        self._chosen = terms.policy
        given = "a store of the client's" if self._schedule.memory is not None else ""
        self._memory = terms.memory or given
        self._engine = engine
        self._core = engine.core
        self._controller = engine.controller
        self._edits = engine.edits
        self._wire = engine.wire
        self._views = views

    @classmethod
    def resume(
        cls,
        journal: SQLiteJournal,
        *,
        budget: int | None = None,
        window: int | None = None,
        settings: Settings | None = None,
        path: str | Path | None = None,
        overflow: Overflow | None = None,
        profile: Profile | None = None,
        checks: Sequence[Check] = (),
        fallback: Policy | None = None,
        policy: Policy | str | None = None,
        policy_options: Mapping[str, str] | None = None,
        summarizer: Summarizer | str | None = None,
        memory: Memory | str | Path | None = None,
        clock: Callable[[], float] = time.time,
        approver: Approver | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_escalation: Callable[[RewriteBudgetViolation], None] | None = None,
        notice: str = "",
    ) -> Self:
        """Take a session up again where its journal leaves it: the same turns under the same numbers,
        and the next request begins with the very bytes of the last one.

        A call that was open when the process ended gets one result that says so; edits that were
        applied and not told of are told of; an edit of the context file that nobody read is kept for
        the record and not taken over. All of it is written down, so the next time finds nothing to
        heal.

        Args:
            journal: the session's journal, open to write; it brings the wire format and the meter, which
                must count as the one that the session began with.
            budget, window: for another limit; by default it stays.
            settings: other numbers; by default they stay. Nothing that the system prompt says of the
                context changes.
            path: another directory for the context file; the system prompt then names the new place,
                so the server reads everything anew.
            overflow: where its originals are, if not beside its journal.
            profile, checks, fallback, approver, on_event, on_escalation, clock: as for a new session.
            policy, policy_options, summarizer, memory: in place of what the session had. A policy that no
                name and options make must be given again, and so must a summarizer that is a model
                (else the built-in one summarizes) and a memory that is not named by its file.
            notice: a line for the model, which it reads with the next result.

        Raises:
            ContextFileError: the context file cannot be made at its place.
            JournalError: the journal cannot be read or written, or holds no session.
        """
        past = past_of(journal)
        old = Terms.of(past.values)
        schedule = Schedule.of(policy, policy_options, summarizer, memory, clock, old=old)
        means = Means(
            journal=journal,
            dialect=journal.dialect,
            meter=journal.meter,
            profile=profile and profile_for(journal.dialect, profile),
            checks=checks,
            fallback=fallback,
            schedule=schedule,
            approver=approver,
            overflow=overflow or overflow_for(journal),
            on_event=on_event,
            on_escalation=on_escalation,
        )
        session = cls.__new__(cls)
        session._bodies = closable(means.overflow) if overflow is None else None
        session._closed, session._mirror, session._schedule = False, None, schedule
        resumption = Resumption(
            journal, means, past, settings=settings, budget=budget, window=window
        )
        try:
            session._mirror = resumption.mirror(Path(path) if path else None)
            engine = resumption.engine(notice)
            views = Views(engine, resumption.beginning, (), resumption.past)
            session._hold(resumption.terms, engine, views)
        except BaseException:
            session.close()
            raise
        return session

    # -- the loop --------------------------------------------------------------------------------

    def request(self) -> dict[str, Any] | None:
        """What to send now: keyword arguments for the SDK, without `model`.

        Makes room first, if need be, so that the request fits. May be called again before an answer.

        The list is yours, but the messages in it are the session's own objects, the same from request
        to request: to add a cache marker, put a changed copy into the list.

        Returns:
            the request, or None when there is nothing to ask: the model has given its final answer,
            or the run was stopped (see `why`).

        Raises:
            BudgetError: what must be sent alone does not fit the limit any more.
            ContextFileError: the context file cannot be written.
            SessionStateError: the last reply's calls have no results yet, or there are no messages.
        """
        self._must_be_open()
        self._engine.must_be_settled()
        if self._views.blank:
            raise SessionStateError("there is nothing to ask yet; call session.append(...) first.")
        return None if self._engine.done else self._engine.request()

    def answer(self) -> Answer:
        """Wrap the model call in `with session.answer() as answer:` and call `answer(response)`."""
        return Answer(self._engine)

    def round(self) -> Round:
        """One window on the context file for all calls of the last reply; `with` or `async with`."""
        self._must_be_open()
        return Round(self._engine)

    def append(self, *messages: object) -> None:
        """Add messages of the client's, e.g. the user's next words, and take up the loop again.

        While a model call or a round is under way they wait, and follow its results: nothing said in
        between is lost. After a stop, another run begins.

        Raises:
            BudgetError: they can never fit beside what must be in every request; nothing is added.
            DialectError: a message is not of this wire format.
        """
        self._must_be_open()
        self._views.append(messages)

    def view(self, messages: Sequence[object], *, prompt_tokens: int = 0) -> list[Native]:
        """For frameworks that own the loop: the client's whole history in, what to send out.

        Known messages are matched by digest and stay as they have become; new ones are appended; a
        history that the client rewrote itself is a new base. Edits that commands made to the context
        file since the last call are taken over, and their receipts stand in the newest tool result.

        Args:
            messages: the client's history, or what `view` gave last with the new messages behind it.
            prompt_tokens: what the server counted for the request before, if it is known.

        Raises:
            BudgetError: what must be sent alone does not fit the limit.
            ContextFileError: the context file cannot be written.
            DialectError: a message is not of this wire format.
            SessionStateError: the run has stopped, or calls of `round` have no results yet.
        """
        self._must_be_open()
        return self._views.view(messages, prompt_tokens)

    def view_body(self, body: Mapping[str, Any], *, prompt_tokens: int = 0) -> dict[str, Any]:
        """For frameworks that own the loop: their whole request in, the request to send out.

        Like `view`, with everything beside the messages: the section on the context joins the system
        prompt wherever the wire format has it, and `edit_context` the tools where the session has it.
        All other fields go out as they come, also where they change from call to call; what the session
        was given as `tools` and `parameters` is not sent.

        Args:
            body: the request, as the framework would send it.
            prompt_tokens: what the server counted for the request before, if it is known.

        Returns:
            a new request. The messages in it are the session's own objects.

        Raises:
            BudgetError: what must be sent alone does not fit the limit.
            ContextFileError: the context file cannot be written.
            DialectError: it is no request of this wire format, or one of Responses that goes on from a
                history on the server which the session does not begin with.
            SessionStateError: the run has stopped, or calls of `round` have no results yet.
        """
        self._must_be_open()
        return self._views.view_body(body, prompt_tokens)

    def overflowed(self, error: BaseException) -> bool:
        """For frameworks that own the loop: whether a model call failed because the request was too
        large. Then the context was rolled back; call `view` again with the same messages.

        Raises:
            BudgetError: what must be sent alone is larger than what the server takes.
        """
        overflow = None if self.observing else overflow_of(error)
        if overflow is not None:
            self._engine.overflowed(overflow)
        return overflow is not None

    # -- editing ---------------------------------------------------------------------------------

    def edit_context(self, **arguments: Any) -> str:
        """Apply the arguments of one `edit_context` call, and answer with its receipt.

        For frameworks that run tools themselves; `round` does this on its own.
        """
        self._must_be_open()
        said = self._edits.by_tool(arguments)
        return self._views.receipt(said if isinstance(said, str) else self._edits.line(said))

    def context_tool(self, name: str, arguments: object) -> str:
        """Do what one call of a context tool asks for, or of a tool that the policy brings, and answer it.

        For frameworks that run tools themselves; `round` does this on its own. Call it before the call's
        own round is given to `view`.

        Args:
            name: the tool's name, such as `context_drop`, `read_overflow` or `memory_fetch`.
            arguments: the call's arguments, parsed. What is no mapping is answered, as a round does.

        Raises:
            SettingsError: the session has no such tool.
        """
        self._must_be_open()
        tools = self._engine.toolset(name)
        if tools is None or isinstance(tools, EditTool):
            raise SettingsError(
                f"this session has no context tool {name!r}; set it up with interface='context-tools' or "
                "'all', and name one of redraft.tools.CONTEXT_TOOLS, or with a policy that brings the tool."
            )
        if not isinstance(arguments, Mapping):
            return self._views.receipt(prompts.unreadable_result(self._engine.tag))
        said = tools.answer(ToolCall("", name, arguments, 0), plan=0, spans=())
        owed = said.judged if said.owed else None
        text = said.text if owed is None else self._edits.line(owed)
        return self._views.receipt(text) if said.own else text

    def undo_since(self, revision: int) -> Receipt:
        """Take back every revision after that one, as one revision: the context as it was then, with
        what was said since.

        Args:
            revision: the number of the last revision that stays; 0 for none.

        Returns:
            the receipt.

        Raises:
            UndoError: there is no such revision, or none after it, or the result would not fit the
                limit.
        """
        self._must_be_open()
        return undo_since(self._core, revision)

    def undo(self, revision: int) -> Receipt:
        """Take a revision back.

        Args:
            revision: its number, as its receipt gave it.

        Returns:
            the receipt.

        Raises:
            UndoError: there is no such revision, later ones must be undone first, or the result
                would not fit the limit.
        """
        return undo(self._core, revision)

    def pin(self, *numbers: int) -> None:
        """Pin turns by number: no edit and no rollback changes them. Raises `SettingsError`."""
        known = {turn.number for turn in self._core.live.turns}
        strangers = sorted(set(numbers) - known)
        if strangers:
            named = ", ".join(map(str, strangers))
            raise SettingsError(f"no turn has the number {named}; see `session.live.turns`.")
        board = self._core.board
        for number in numbers:
            text = next(turn.content.text for turn in self.live.turns if turn.number == number)
            board = board.add("user", [number], text)
        self._core.pin(board)

    def unpin(self, *numbers: int) -> None:
        """Let turns be edited again, whether a person or the model pinned them."""
        self._core.pin(self._core.board.remove("user", numbers).remove("model", numbers))

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, why: str) -> None:
        """Give the model one final turn, e.g. because a step budget is spent.

        Args:
            why: completes "this is your last turn, because ...".

        Raises:
            SessionStateError: a model call is under way, or its calls have no results yet.
        """
        self._engine.must_be_settled()
        if self._engine.answering:
            raise SessionStateError("a model call is under way; finish after its round.")
        if self.phase is Phase.RUNNING and not self._engine.done:
            self._controller.end(why)

    def tell(self, event: Event) -> None:
        """Record an event of the client's own beside the session's, and pass it on to `on_event`."""
        self._core.tell(event)

    def close(self) -> None:
        """Remove the context file, and close a memory that the session opened. The record stays."""
        self._closed = True
        self._schedule.close()
        if self._mirror is not None:
            self._mirror.close()
        if self._bodies is not None:
            self._bodies.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
