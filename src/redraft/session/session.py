"""`Session`: what a person with their own loop holds. A few lines around the model call do the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

from redraft import budget as budgets
from redraft import prompts
from redraft.budget import Phase
from redraft.context import Check, Gate, Ledger, Live, Move, Receipt, Status, invert, obstacles
from redraft.contextfile.mirror import Mirror
from redraft.dialects import OPENAI_CHAT, Dialect, Native, OpenAIChat, Profile
from redraft.errors import (
    RewriteBudgetViolation,
    SessionStateError,
    SettingsError,
    UndoError,
)
from redraft.events import Event, RequestMade
from redraft.policies import Policy
from redraft.session.answers import Answer
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.engine import Engine
from redraft.session.rounds import Round
from redraft.session.views import ClientView
from redraft.session.window import FileWindow
from redraft.session.wire import Wire
from redraft.settings import Settings
from redraft.store import Journal, Sent, VolatileJournal
from redraft.tokens import Calibration, Meter, family_factor
from redraft.tools import EDIT_CONTEXT

__all__ = ["Interface", "Session"]

Interface = Literal["file", "tool", "both", "none"]
"""How the model edits its context: the file, the `edit_context` tool, both, or not at all."""


class Session:
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
    is no networking.

    Args:
        messages: the conversation so far, in the wire format of `dialect`.
        tools: tool schemas, sent with every request; they do not change during the session.
        model: the model's name: its window and how its tokens compare with ours.
        budget: tokens that a prompt may take; by default the model's window.
        window: the model's window in tokens, where the name does not say it.
        interface: how the model edits its context: `file`, `tool` (`edit_context`, for agents
            without a shell), `both`, or `none`; by default `settings.interface`, the file.
        mode: `observe` judges every edit and yields the receipts, but changes nothing.
        gate: the rule on size for the model's edits; by default `settings.gate`.
        settings: all other numbers.
        path: the directory for the context file; by default a private temporary one.
        name: the agent's name, part of the context file's name.
        steer: a sentence of strategy for the model.
        parameters: further request fields, sent as they are.
        head: how many leading turns are pinned; by default the system prompts and the first user
            turn.
        dialect: the wire format.
        profile: the rules that a sent list must keep.
        meter: how tokens are counted.
        journal: where everything is recorded; by default in memory.
        checks: further tests for the door.
        fallback: the policy that compacts when the model's own edits lose tokens.
        on_event: called with every event.
        on_escalation: called when a rewrite cannot prove that it conserves.
        tag: what marks redraft's own words; by default four random hexadecimal digits.

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
        profile: Profile = OPENAI_CHAT,
        meter: Meter | None = None,
        journal: Journal | None = None,
        checks: Sequence[Check] = (),
        fallback: Policy | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_escalation: Callable[[RewriteBudgetViolation], None] | None = None,
        tag: str | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.model = model
        self.tag = tag or prompts.new_tag()
        self.observing = _one_of("mode", mode, ("edit", "observe")) == "observe"
        self.interface = _one_of(
            "interface", interface or self.settings.interface, ("file", "tool", "both", "none")
        )
        self._dialect = dialect or OpenAIChat()
        self._meter = meter or Meter()
        self._steer = steer or self.settings.steer
        self._head = self.settings.pinned if head is None else head
        self._fields = _fields(tools, parameters, own_tool=self._has_tool)
        self._mirror = self._file(path, name)
        try:
            self._core = Core(
                self._begin(messages),
                limit=_limit(model, budget, window, self.settings),
                calibration=Calibration(family_factor(model)),
                journal=journal or VolatileJournal(),
                checks=checks,
                observe=self.observing,
                on_event=on_event,
                on_escalation=on_escalation,
            )
            self._controller = Controller(self._core, self.settings, self.tag, fallback)
            budgets.check_room(self._core.limit, self._controller.needed())
            own_gate = _gate(gate or self.settings.gate)
        except BaseException:
            self.close()
            raise
        self._engine = Engine(
            self._core,
            self._controller,
            FileWindow(self._core, self._mirror, own_gate) if self._mirror else None,
            gate=own_gate,
            tag=self.tag,
            has_tool=self._has_tool,
        )
        self._wire = Wire(profile)
        self._client = ClientView(messages)

    @property
    def _has_tool(self) -> bool:
        return self.interface in ("tool", "both") and not self.observing

    def _file(self, path: str | Path | None, name: str) -> Mirror | None:
        if self.interface not in ("file", "both"):
            return None
        attributes = self.settings.file_attributes
        return Mirror(Path(path) if path else None, name=name, attributes=attributes)

    def _begin(self, messages: Sequence[object]) -> Live:
        """A live context from messages, with the section about it in the system prompt."""
        frame, contents = self._dialect.split({"messages": messages, **self._fields})
        if not self.observing and self.interface != "none":
            section = prompts.system_section(
                str(self._mirror.path) if self._mirror else "",
                interface=cast("Literal['file', 'tool', 'both']", self.interface),
                tag=self.tag,
                steer=self._steer,
            )
            frame, contents = self._dialect.instruct(frame, contents, section)
        return Live.start(self._dialect, self._meter, frame, contents, head=self._head)

    # -- the loop --------------------------------------------------------------------------------

    def request(self) -> dict[str, Any] | None:
        """What to send now: keyword arguments for the SDK, without `model`.

        Makes room first, if need be, so that the request fits. May be called again before an answer.

        Returns:
            the request, or None when there is nothing to ask: the model has given its final answer,
            or the run was stopped.

        Raises:
            SessionStateError: the last reply's calls have no results yet.
        """
        if self._engine.pending:
            raise SessionStateError(
                "the last reply has tool calls; hand in their results with `session.round()` first."
            )
        if self._engine.done:
            return None
        if not self.observing:
            self._controller.make_room()
        if self.phase is Phase.STOPPED:
            return None
        body = self._wire.body(self._core.live)
        core = self._core
        raw = self._engine.sent_raw = core.live.tokens
        core.journal.record(Sent(core.round + 1, len(core.live.turns), raw))
        core.tell(
            RequestMade(
                core.round + 1,
                tokens=core.used,
                limit=core.limit,
                raw=raw,
                reused_raw=self._wire.reused,
                reread_raw=self._wire.reread,
            )
        )
        return body

    def answer(self) -> Answer:
        """Wrap the model call in `with session.answer() as answer:` and call `answer(response)`."""
        return Answer(self._engine)

    def round(self) -> Round:
        """One window on the context file for all calls of the last reply; `with` or `async with`."""
        return Round(self._engine)

    def append(self, *messages: object) -> None:
        """Add messages of the client's, e.g. the user's next words, and take up the loop again.

        Raises:
            DialectError: a message is not of this wire format.
            SessionStateError: calls of the last reply have no results yet.
        """
        if self._engine.pending:
            raise SessionStateError(
                "the last reply's calls need their results first; see `session.round()`."
            )
        _, contents = self._dialect.split({"messages": messages})
        self._core.append(contents)
        self._engine.done = False

    def view(self, messages: Sequence[object]) -> list[Native]:
        """For frameworks that own the loop: the client's whole history in, what to send out.

        Known messages are matched by digest and stay as they have become; new ones are appended; a
        history that the client rewrote itself is a new base. Edits that commands made to the context
        file since the last call are taken over, and their receipts stand in the newest tool result.
        """
        new = self._client.new(messages)
        if new is None:
            self._core.rebase(self._begin(messages))
        elif new:
            self._engine.take_in(self._dialect.split({"messages": new})[1])
        if not self.observing:
            self._controller.make_room()
        if self._engine.window is not None:
            self._engine.window.show()
        sent: list[Native] = self._wire.body(self._core.live)["messages"]
        return sent

    # -- editing ---------------------------------------------------------------------------------

    def edit_context(self, **arguments: Any) -> str:
        """Apply the arguments of one `edit_context` call, and answer with its receipt.

        For frameworks that run tools themselves; `round` does this on its own.
        """
        return self._engine.edit(arguments)[0]

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
        commit = self._core.commits.get(revision)
        if commit is None:
            known = ", ".join(map(str, self._core.commits)) or "none"
            raise UndoError(f"there is no revision {revision} to undo; there are: {known}.")
        blocked = obstacles(self._core.live, commit)
        if blocked:
            later = [
                number
                for number, other in self._core.commits.items()
                if number > revision and blocked & {_number(move) for move in other.moves}
            ]
            names = ", ".join(map(str, later)) or "none"
            raise UndoError(
                f"revision {revision} touched turns that later revisions changed; undo those first: "
                f"{names}."
            )
        judged = self._core.propose(invert(self._core.live, commit, self._core.anchors))
        if judged.receipt.status is Status.REJECTED:
            freed = self._core.shown(commit.deltas.freed - commit.deltas.replacement)
            raise UndoError(
                f"undoing revision {revision} brings back {freed:,} tokens; the context holds "
                f"{self.tokens:,} of {self.limit:,}. Free {freed + self.tokens - self.limit:,} first."
            )
        return judged.receipt

    def pin(self, *numbers: int) -> None:
        """Pin turns by number: no edit changes them. Unknown numbers raise `SettingsError`."""
        known = {turn.number for turn in self._core.live.turns}
        if not known.issuperset(numbers):
            raise SettingsError(f"no such turn: {sorted(set(numbers) - known)}.")
        self._core.live = self._core.live.pin(numbers)

    def unpin(self, *numbers: int) -> None:
        """Let turns be edited again."""
        self._core.live = self._core.live.unpin(numbers)

    # -- what can be looked at -------------------------------------------------------------------

    @property
    def messages(self) -> list[Native]:
        """The live context as messages: what the next request would contain."""
        messages: list[Native] = self._core.live.body()["messages"]
        return messages

    @property
    def live(self) -> Live:
        """The live context itself: immutable, with every turn's number, origin and size."""
        return self._core.live

    @property
    def tokens(self) -> int:
        """The live context's size, as the server would count it."""
        return self._core.used

    @property
    def limit(self) -> int:
        """Tokens that the live context may hold."""
        return self._core.limit

    @property
    def phase(self) -> Phase:
        """`running`, `final` (one last turn) or `stopped`."""
        return self._controller.phase

    @property
    def receipts(self) -> list[Receipt]:
        """What became of every proposal so far, in order."""
        return list(self._core.receipts)

    @property
    def ledger(self) -> Ledger:
        """The ledger: one closed row a round."""
        return self._core.ledger

    @property
    def journal(self) -> Journal:
        """Where everything is recorded."""
        return self._core.journal

    @property
    def context_file(self) -> Path | None:
        """Where the context file lies, if the session has one."""
        return self._mirror.path if self._mirror else None

    @property
    def env(self) -> Mapping[str, str]:
        """What the model's commands must have in their environment."""
        return self._mirror.env if self._mirror else {}

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, why: str) -> None:
        """Give the model one final turn, e.g. because a step budget is spent."""
        if self.phase is Phase.RUNNING:
            self._controller.end(why)

    def close(self) -> None:
        """Remove the context file. The session's record stays readable."""
        if self._mirror is not None:
            self._mirror.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _fields(
    tools: Sequence[Native] | None, parameters: Mapping[str, Any] | None, *, own_tool: bool
) -> dict[str, Any]:
    """The request's other fields. `edit_context` joins the tools at the start and stays."""
    fields = dict(parameters or {})
    if "messages" in fields or "tools" in fields:
        raise SettingsError("`parameters` may not hold `messages` or `tools`; pass them by name.")
    schemas = [*(tools or ()), *([EDIT_CONTEXT] if own_tool else [])]
    if schemas:
        fields = {"tools": schemas, **fields}
    return fields


def _limit(model: str, budget: int | None, window: int | None, settings: Settings) -> int:
    known = window or settings.window or budgets.window_of(model) or budgets.DEFAULT_WINDOW
    wanted = budget if budget is not None else settings.budget
    return budgets.limit(
        known if wanted is None else wanted, known, settings.output_reserve, settings.margin
    )


def _gate(name: Gate | str) -> Gate:
    return Gate(_one_of("gate", str(name), tuple(Gate)))


def _one_of(setting: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise SettingsError(f"{setting}={value!r} is not one of {', '.join(allowed)}.")
    return value


def _number(move: Move) -> int:
    turn = move.new or move.old
    return turn.number if turn else 0
