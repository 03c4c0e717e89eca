"""What happens inside a session: answers come in, rounds open and close, results go back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redraft import prompts
from redraft.budget import FreeRounds, Phase
from redraft.context import Gate, Status
from redraft.dialects import Call, Content
from redraft.errors import ContextOverflowError
from redraft.events import ReplyRead, RoundEnded
from redraft.session.compose import compose
from redraft.session.controller import Controller
from redraft.session.core import Core, Judged
from redraft.session.rounds import Outcome, ToolCall, parse_calls
from redraft.session.window import FileWindow, Look
from redraft.store import Answered
from redraft.tools import Outline, intend

__all__ = ["Engine", "Results"]

_MANY_GREW = 3


@dataclass(slots=True)
class Results:
    """A round's outcomes while they come in.

    Attributes:
        pending: the calls of the reply, in order.
        calls: those that somebody else must run.
        outcomes: what each call gave, by its place.
        judged: what became of edits so far.
    """

    pending: tuple[Call, ...]
    calls: list[ToolCall]
    outcomes: dict[int, Outcome]
    judged: list[Judged]


class Engine:
    """The moving parts of a session.

    Args:
        core: the live context, journal and ledger.
        controller: the budget.
        window: the context file, if there is one.
        gate: the rule on size for the model's edits.
        tag: what marks redraft's own words.
        has_tool: whether the model has the tool `edit_context`.

    Attributes:
        pending: calls of the last reply that still want their results.
        done: whether the model has given its final answer.
        sent_raw: raw tokens of the request that is out.
    """

    def __init__(
        self,
        core: Core,
        controller: Controller,
        window: FileWindow | None,
        *,
        gate: Gate,
        tag: str,
        has_tool: bool,
    ) -> None:
        self.core = core
        self.controller = controller
        self.window = window
        self.gate = gate
        self.tag = tag
        self.has_tool = has_tool
        self.pending: tuple[Call, ...] = ()
        self.done = False
        self.sent_raw = 0
        self._cut_off = False
        self._grew = 0
        self._free_rounds = FreeRounds()

    # -- the answer ------------------------------------------------------------------------------

    def take_answer(self, response: object) -> None:
        """Read a response and append the assistant turn; raises `DialectError`."""
        core = self.core
        reply = core.live.dialect.read(response)
        usage = reply.usage
        core.journal.record(Answered(core.round + 1, usage))
        if usage is not None:
            core.calibration = core.calibration.observe(
                usage.prompt, self.sent_raw, fresh_edit=core.fresh_edit
            )
        core.fresh_edit = False
        core.round += 1
        core.open_row()
        core.append([reply.content])
        self._cut_off = not reply.complete
        self.pending = reply.content.calls
        core.tell(
            ReplyRead(
                core.round,
                len(self.pending),
                reply.complete,
                usage.prompt if usage else 0,
                usage.cached if usage else 0,
                usage.output if usage else 0,
            )
        )
        if not self.pending:
            self.done = True
            core.close_row()
            if self.controller.phase is Phase.FINAL:
                self.controller.stop("the model has given its final answer")

    def overflowed(self, error: ContextOverflowError) -> None:
        """The server refused the request as too large; raises `BudgetError` where that is final."""
        self.controller.overflowed(error)

    # -- the round -------------------------------------------------------------------------------

    def begin(self) -> Results:
        """Open the round of the last reply: answer what is ours to answer, show the file."""
        results = Results(self.pending, [], {}, [])
        if not self.pending:
            return results
        good, bad = parse_calls(self.pending)
        for call in bad:
            say = prompts.cut_off_result if self._cut_off else prompts.unreadable_result
            results.outcomes[call.index] = Outcome(say(self.tag), 1, own=True)
        for asked in good:
            if self.controller.phase is not Phase.RUNNING:
                text = prompts.not_run_result(self.tag)
                results.outcomes[asked.place] = Outcome(text, 1, own=True)
            elif self.has_tool and asked.name == "edit_context":
                results.outcomes[asked.place] = self._edit_call(asked, results)
            else:
                results.calls.append(asked)
        if self.window is not None:
            late = self.window.show()
            if late is not None:
                self.controller.edited(late)
                results.judged.append(late)
        return results

    def end(self, results: Results, *, interrupted: bool) -> tuple[bool, int]:
        """Close the round: read the file, append the results, balance the ledger.

        Returns:
            (free, cost): whether its only effect was an applied edit, and the steps it costs.
        """
        if not results.pending:
            return False, 0
        core = self.core
        before = core.live.tokens
        for call in results.calls:
            if call.place not in results.outcomes:
                text = prompts.interrupted_result(self.tag)
                results.outcomes[call.place] = Outcome(text, 1, timed_out=interrupted, own=True)
        edits = self._edit_calls(results)
        if self.window is not None:
            judged = self.window.read(self._look(results, edits))
            if judged is not None:
                self._note(judged, results)
        if results.judged:
            core.charge_plan(self._plan_tokens(edits))
        shrank = core.live.tokens < before
        self._append(results)
        core.close_row()
        self.pending = ()
        if self.controller.phase is Phase.FINAL:
            self.controller.stop("the final turn was spent on tool calls")
        free = self._was_free(results)
        self._free_rounds, cost = self._free_rounds.step(free, shrank)
        core.tell(RoundEnded(core.round, core.used, core.limit, cost))
        return free, cost

    def _append(self, results: Results) -> None:
        core = self.core
        texts = [
            core.live.dialect.result(call, results.outcomes[call.index].text)
            for call in results.pending
        ]
        if core.observe:
            core.append(texts)
            return
        done = compose(core, self.controller, texts, self.lines(results.judged), self.tag)
        core.append(done.contents, measured=done.measured)

    def _look(self, results: Results, edits: Sequence[int]) -> Look:
        outcomes = [results.outcomes[call.place] for call in results.calls]
        codes = [outcome.exit_code for outcome in outcomes if outcome.exit_code]
        return Look(
            named=bool(edits),
            exit_code=codes[0] if codes else 0,
            killed=any(outcome.timed_out for outcome in outcomes),
            plan_tokens=self._plan_tokens(edits),
            marginal=self.controller.urgent(),
        )

    def _edit_calls(self, results: Results) -> list[int]:
        """Places of the calls that aim at the context."""
        window = self.window
        return [
            call.index
            for call in results.pending
            if (window is not None and window.names(call.arguments))
            or (self.has_tool and call.name == "edit_context")
        ]

    def _plan_tokens(self, edits: Sequence[int]) -> int:
        """Raw tokens of the assistant turn that are rationale and command of an edit: all of it,
        less the calls that did something else, where at least one is known to be the edit."""
        turn = next(turn for turn in reversed(self.core.live.turns) if turn.role == "assistant")
        if not edits:
            return turn.tokens
        calls = tuple(call for call in turn.content.calls if call.index in edits)
        return self.core.live.meter.content(replace(turn.content, calls=calls))

    def _was_free(self, results: Results) -> bool:
        applied = any(judged.applied for judged in results.judged)
        silent = all(
            not outcome.text.strip() and outcome.exit_code == 0 and not outcome.timed_out
            for outcome in (results.outcomes[call.place] for call in results.calls)
        )
        foreign = [o for o in results.outcomes.values() if o.own and o.exit_code]
        return applied and silent and not foreign

    # -- edits by tool ---------------------------------------------------------------------------

    def _edit_call(self, call: ToolCall, results: Results) -> Outcome:
        plan = self._plan_tokens([call.place])
        text, judged = self.edit(call.arguments, plan_tokens=plan)
        if judged is not None:
            results.judged.append(judged)
            return Outcome("", own=True)
        return Outcome(text, own=True)

    def edit(
        self, arguments: Mapping[str, Any], *, plan_tokens: int = 0
    ) -> tuple[str, Judged | None]:
        """Apply the arguments of `edit_context`: its receipt, or an outline or complaint in text."""
        intent = intend(self.core.live, arguments, self.gate)
        if isinstance(intent, Outline):
            return intent.text, None
        marginal = self.gate is Gate.CONSERVE and self.controller.urgent()
        revision = replace(intent, plan_tokens=plan_tokens, marginal=marginal)
        judged = self.core.propose(revision)
        self.controller.edited(judged)
        return self.lines([judged])[0], judged

    def _note(self, judged: Judged, results: Results) -> None:
        self.controller.edited(judged)
        results.judged.append(judged)

    def lines(self, judged: Sequence[Judged]) -> list[str]:
        """Receipts as the model reads them."""
        return [self._line(item) for item in judged]

    def _line(self, judged: Judged) -> str:
        self._grew = self._grew + 1 if judged.receipt.status is Status.GREW else self._grew
        return prompts.receipt_line(
            judged.receipt,
            self.tag,
            self.core.shown,
            number=judged.number or None,
            frequent=self._grew >= _MANY_GREW,
            count=self._count,
        )

    @property
    def _count(self) -> Callable[[str], int]:
        return self.core.live.meter.text

    # -- for clients that own the loop -----------------------------------------------------------

    def take_in(self, contents: Sequence[Content]) -> None:
        """Append what a client's own round brought: the reply, its results, the user's next words."""
        core = self.core
        core.round += 1
        core.open_row()
        named = self.window is not None and any(
            self.window.names(call.arguments) for content in contents for call in content.calls
        )
        judged = self.window.read(Look(named=named)) if self.window is not None else None
        if judged is not None:
            self.controller.edited(judged)
        lines = self.lines([judged]) if judged is not None else []
        newest = max((at for at, c in enumerate(contents) if c.role == "tool"), default=-1)
        first = newest
        while first > 0 and contents[first - 1].role == "tool":
            first -= 1
        if newest < 0 or core.observe:
            core.append(contents)
        else:
            core.append(contents[:first])
            done = compose(core, self.controller, contents[first : newest + 1], lines, self.tag)
            core.append(done.contents, measured=done.measured)
            core.append(contents[newest + 1 :])
        core.close_row()
