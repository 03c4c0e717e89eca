"""Calls that wait for a person: asked, decided, run later, and how the outcome reaches the model.

The result of such a call says that it waits. What comes of it takes that result's place while the model
has not read it; later it is a turn of its own, framed as tool output, so that nothing that was sent
changes (see `docs/design/approvals.md`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redraft import prompts
from redraft.context import Change, Origin, Revision, Turn
from redraft.dialects import Call
from redraft.dialects.frames import framed
from redraft.dialects.preserve import Approval, approval_line
from redraft.errors import ApprovalError, SessionStateError, SettingsError
from redraft.events import ApprovalAsked, ApprovalDecided, ApprovalSettled
from redraft.session.compose import fitting
from redraft.session.rounds import Outcome, Results, ToolCall
from redraft.session.window import Look
from redraft.store import Asked, Decided, SQLiteJournal
from redraft.store.unbroken import unbroken

if TYPE_CHECKING:
    from redraft.session.engine import Engine
    from redraft.session.past import Past

__all__ = ["SOURCE", "Approvals", "Approver", "Pending", "Rejection", "pending_of", "pending_text"]

SOURCE = "approval"
"""The source of the revision that puts an outcome into the place of the result that waited."""

_ASKED = 300
"""Characters of what is asked that the result shows."""

_ID = re.compile(r"[\w.:/+-]{1,200}")
_WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A person's no to a call, given at once.

    Attributes:
        why: the reason, for the model; "" for none.
    """

    why: str = ""


Approver = Callable[[ToolCall], Approval | Rejection | None]
"""Asked before each call: None to run it, an `Approval` to let it wait for one (with an empty id it gets
one of ours), a `Rejection` to refuse it at once."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits.

    Attributes:
        id: names the approval.
        asked: what is to be approved.
        call: the call, with the arguments that it had when it was made.
        round: the round in which it was made.
        granted: whether a person approved it, so that it only waits to be run.
    """

    id: str
    asked: str
    call: ToolCall
    round: int
    granted: bool = False


class Approvals:
    """The approvals of one session.

    Args:
        engine: the session's parts.
        approver: what is asked before each call; None where every call may run.
    """

    def __init__(self, engine: Engine, approver: Approver | None = None) -> None:
        self._engine = engine
        self._approver = approver
        self._asked: dict[str, Asked] = {}
        self._states: dict[str, str] = {}
        self._owed: list[tuple[Asked, Decided]] = []

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The calls that wait to be decided on or to be run, oldest first."""
        return _pending(self._asked, self._states)

    # -- asking ----------------------------------------------------------------------------------

    def judge(self, results: Results, call: ToolCall) -> None:
        """Give a call that may not be run its result; one that has a result is not asked about again."""
        if call.place in results.outcomes:
            return
        answer: object = self._approver(call) if self._approver is not None else None
        match answer:
            case None:
                pass
            case Rejection(why=why):
                text = prompts.rejected_result("", call.name, why, self._engine.tag)
                results.outcomes[call.place] = Outcome(text, 1, own=True)
            case Approval():
                self.ask(results, call, answer)
            case _:  # False, say, must not let a call pass
                raise SettingsError(
                    f"the approver answered {answer!r}; return None to run the call, an Approval to let "
                    "it wait, or a Rejection."
                )

    def ask(
        self, results: Results, call: ToolCall, approval: Approval, output: str = ""
    ) -> Approval:
        """Let a call wait.

        Args:
            results: what is known of the round in progress.
            call: one of its calls.
            approval: with an empty id, it gets one of ours.
            output: what its result is to say meanwhile.

        Returns:
            the approval.

        Raises:
            SettingsError: the id cannot be used.
        """
        core, tag = self._engine.core, self._engine.tag
        name = approval.id or f"a{core.round}.{call.place + 1}"
        if not _ID.fullmatch(name):
            raise SettingsError(
                f"the approval's id {name[:80]!r} cannot be used; use letters, digits and . : / + - _, "
                "at most 200."
            )
        if name in self._asked:
            raise SettingsError(
                f"the approval's id {name!r} is in use; give each call one of its own."
            )
        asked = prompts.one_line(approval.asked or _shown(call), _ASKED)
        text = output or prompts.pending_result(tag)
        entry = Asked(core.round, call.place, name, asked, call.id, call.name, call.arguments, text)
        with unbroken():
            core.journal.record(entry)
            self._asked[name], self._states[name] = entry, _WAITING
            results.outcomes[call.place] = self.waiting(entry)
        core.tell(ApprovalAsked(core.round, name, call.name, asked))
        return Approval(name, asked)

    def waiting(self, asked: Asked) -> Outcome:
        """The result of a call that waits."""
        own = asked.text == prompts.pending_result(self._engine.tag)
        return Outcome(asked.text, own=own, approval=Approval(asked.id, asked.asked))

    # -- deciding --------------------------------------------------------------------------------

    def approve(self, name: str) -> None:
        """A person grants it: the call may be run. Raises `ApprovalError`."""
        self._must_wait(name, _WAITING)
        self._decide(Decided(name, "granted"))
        core = self._engine.core
        core.tell(ApprovalDecided(core.round, name, "granted"))

    def reject(self, name: str, why: str) -> None:
        """A person refuses it, before it was run: the model is told. Raises `ApprovalError`."""
        self._must_wait(name, _WAITING, "granted")
        self._decide(Decided(name, "rejected", why))
        core = self._engine.core
        core.tell(ApprovalDecided(core.round, name, "rejected", prompts.one_line(why)))
        self._engine.settled()

    def begin(self, name: str) -> tuple[ToolCall, Outcome | None]:
        """Run an approved call; one that was not decided on is granted by that.

        Returns:
            (call, outcome): the outcome where the call is for a tool of redraft's own.

        Raises:
            ApprovalError: no such call waits.
            SessionStateError: a model call or a round is under way.
        """
        engine = self._engine
        self._must_wait(name, _WAITING, "granted")
        engine.must_be_settled()
        if engine.answering:
            raise SessionStateError("a model call is under way; replay the call after its round.")
        if self._states[name] == _WAITING:
            self.approve(name)
        engine.edits.late()
        engine.edits.show()
        self._decide(Decided(name, "begun"))
        call = _call(self._asked[name])
        toolset = engine.toolset(call.name)
        if toolset is None:
            return call, None
        said = toolset.answer(call, plan=0, spans=())
        receipt = engine.edits.line(said.judged) if said.judged and said.owed else ""
        return call, Outcome("\n".join(filter(None, (said.text, receipt))), own=True)

    def finish(self, name: str, outcome: Outcome) -> None:
        """The call that `begin` gave has its result."""
        asked, engine = self._asked[name], self._engine
        code, late = outcome.exit_code, outcome.timed_out
        self._decide(Decided(name, "done", outcome.text, code, late))
        if engine.toolset(asked.tool) is None and engine.results is None and not engine.answering:
            named = engine.edits.names_file(_wire_call(asked))
            engine.edits.by_file(Look(named=named, exit_code=code, killed=late))
        engine.settled()

    def lost(self, *, interrupted: bool) -> Outcome:
        """What is told of a call that was begun and has no result."""
        say = prompts.interrupted_result if interrupted else prompts.missing_result
        return Outcome(say(self._engine.tag), 1, interrupted, own=True)

    def _must_wait(self, name: str, *states: str) -> None:
        state = self._states.get(name)
        if state in states:
            return
        known = ", ".join(f"{one.id} ({one.asked})" for one in self.pending) or "none"
        what = f"is {state} already" if state else "is not known"
        raise ApprovalError(f"the approval {name!r} {what}; these wait: {known}.")

    def _decide(self, decided: Decided) -> None:
        with unbroken():
            self._engine.core.decide(decided)
            self._states[decided.id] = decided.state
            if decided.settles:
                self._owed.append((self._asked[decided.id], decided))

    # -- telling the model -----------------------------------------------------------------------

    def deliver(self) -> None:
        """Put the outcomes into the context that it lacks."""
        while self._owed:
            asked, decided = self._owed[0]
            with unbroken():
                in_place = self._put_in_place(asked, decided)
                if not in_place:
                    self._append(asked, decided)
                del self._owed[0]
                self._engine.take_up()
            core = self._engine.core
            core.tell(ApprovalSettled(core.round, asked.id, in_place))

    def _text(self, asked: Asked, decided: Decided) -> tuple[str, bool]:
        """The outcome, and whether its words are ours."""
        tag = self._engine.tag
        if decided.state == "rejected":
            return prompts.rejected_result(asked.id, asked.tool, decided.text, tag), True
        own = self._engine.toolset(asked.tool) is not None
        lost = (prompts.interrupted_result(tag), prompts.missing_result(tag))
        return decided.text, own or decided.text in lost

    def _put_in_place(self, asked: Asked, decided: Decided) -> bool:
        """Let the outcome take the place of the line that says that the call waits, where the model has
        not read that line yet."""
        core, turn = self._engine.core, self._unread(asked)
        if turn is None:
            return False
        text, own = self._text(asked, decided)
        head = prompts.granted_line(asked.id, asked.tool, self._engine.tag)
        head = "" if decided.state == "rejected" else head
        room = core.raw_limit - core.live.tokens - core.live.meter.text(head)
        text = fitting(self._engine.controller, text, room, own=own)
        before, _, after = turn.content.text.rpartition(_line(asked))
        if before.strip() == prompts.pending_result(self._engine.tag):
            before = ""
        new = before + "\n".join(filter(None, (head, text.rstrip("\r\n")))) + after
        content = core.live.dialect.write(turn.content, new, (), turn.content.parts)
        change = Change(turn.number, turn.digest, core.live.draft(content, Origin.TOOL))
        revision = Revision("harness", SOURCE, (change,))
        plan = core.live.plan(revision, core.raw_limit, core.checks)
        return plan.passes and not plan.waits and core.propose(revision).applied

    def _unread(self, asked: Asked) -> Turn | None:
        """The result that says that the call waits, as long as no request that holds it went out."""
        core = self._engine.core
        if core.observe or core.asked is not None or core.live.older is not None:
            return None
        for turn in reversed(core.live.turns):
            if turn.role == "assistant":
                return None
            if turn.role == "tool" and turn.content.answers == asked.answers:
                own = turn.origin is Origin.ORIGINAL
                if own and _line(asked) in turn.content.text.splitlines():
                    return turn
        return None

    def _append(self, asked: Asked, decided: Decided) -> None:
        """A turn of its own, framed as what it is: output of a tool, no words of the user."""
        text, own = self._text(asked, decided)
        head = prompts.granted_line(asked.id, asked.tool, self._engine.tag, asked.answers)

        def dressed(output: str) -> str:
            return output if decided.state == "rejected" else f"{head}\n{framed(output)}"

        note = self._engine.core.live.dialect.note("user", text)
        own_places = (0,) if own else ()
        self._engine.append_dressed([note], own_places, around={0: dressed}, origin=Origin.TOOL)

    # -- another process -------------------------------------------------------------------------

    def recall(self, past: Past) -> None:
        """Remember what the record says."""
        self._asked, self._states = dict(past.asked), dict(past.decisions)
        self._owed = list(past.unsettled)

    def heal(self) -> None:
        """A call that was being run when the process ended has the result that says so. It may have had
        its effect, so it is not run again."""
        for name, state in list(self._states.items()):
            if state == "begun":
                lost = self.lost(interrupted=True)
                self._decide(Decided(name, "done", lost.text, lost.exit_code, lost.timed_out))


def pending_of(journal: SQLiteJournal) -> tuple[Pending, ...]:
    """The calls that wait in a session that is only looked at.

    Raises:
        JournalError: the journal cannot be read.
    """
    asked: dict[str, Asked] = {}
    states: dict[str, str] = {}
    for entry in journal.entries():
        if isinstance(entry, Asked):
            asked[entry.id], states[entry.id] = entry, _WAITING
        elif isinstance(entry, Decided):
            states[entry.id] = entry.state
    return _pending(asked, states)


def _pending(asked: Mapping[str, Asked], states: Mapping[str, str]) -> tuple[Pending, ...]:
    return tuple(
        Pending(name, one.asked, _call(one), one.round, states[name] == "granted")
        for name, one in asked.items()
        if states[name] in (_WAITING, "granted")
    )


def pending_text(outcome: Outcome, output: str) -> str:
    """A result with the line of the approval that it waits for."""
    line = approval_line(outcome.approval) if outcome.approval is not None else ""
    return "\n".join(filter(None, (output.rstrip("\r\n"), line)))


def _call(asked: Asked) -> ToolCall:
    return ToolCall(asked.answers, asked.tool, asked.arguments, asked.place)


def _wire_call(asked: Asked) -> Call:
    arguments = json.dumps(asked.arguments, ensure_ascii=False, default=str)
    return Call(asked.answers, asked.tool, arguments, asked.place)


def _line(asked: Asked) -> str:
    return approval_line(Approval(asked.id, asked.asked))


def _shown(call: ToolCall) -> str:
    """A call in a few words, where nobody says what is asked."""
    command = call.arguments.get("command")
    words = command if isinstance(command, str) else json.dumps(dict(call.arguments), default=str)
    return f"{call.name}: {words}"
