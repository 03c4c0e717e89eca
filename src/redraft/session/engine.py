"""What happens inside a session: requests go out, answers come in, rounds open and close."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from redraft import prompts
from redraft.budget import FreeRounds, Phase
from redraft.context import Origin, Receipt, Status
from redraft.dialects import Content
from redraft.errors import ContextFileError, ContextOverflowError, SessionStateError
from redraft.events import ContextOp, ReplyRead, RequestMade, RoundEnded, op_of
from redraft.session.approvals import Approvals, Approver, pending_text
from redraft.session.calling import unfit_result
from redraft.session.compose import NOTHING, Around, compose, wrapped
from redraft.session.controller import Controller
from redraft.session.core import Core, Judged
from redraft.session.edits import Edits, plan_tokens
from redraft.session.rounds import Outcome, Results, parse_calls
from redraft.session.stating import stated
from redraft.session.toolsets import EditTool, Toolset
from redraft.session.window import Look
from redraft.session.wire import Wire
from redraft.store import Answered, Handed, Held, Output, Sent, Stated

__all__ = ["Engine"]

UNRECORDED = "it could not be recorded"


class Engine:
    """The moving parts of a session, in their order.

    Args:
        core: the live context, journal and ledger.
        controller: the budget.
        edits: the model's edits.
        wire: what is sent.
        tag: what marks redraft's own words.
        toolsets: tools of redraft's own beside `edit_context`.
        approver: what is asked before each call; None where every call may run.

    Attributes:
        approvals: the calls that wait for a person.
        results: the calls of the last reply that still want results; None where there are none.
        done: whether the model has given its final answer.
        asked: whether a request is out that was not answered.
        answering: whether a model call is being made.
        sent_raw: raw tokens of the last request.
    """

    def __init__(
        self,
        core: Core,
        controller: Controller,
        edits: Edits,
        wire: Wire,
        *,
        tag: str,
        toolsets: Sequence[Toolset] = (),
        approver: Approver | None = None,
    ) -> None:
        self.core = core
        self.controller = controller
        self.edits = edits
        self.wire = wire
        self.tag = tag
        self.toolsets: tuple[Toolset, ...] = (EditTool(edits), *toolsets)
        self.approvals = Approvals(self, approver)
        self.results: Results | None = None
        self.done = False
        self.asked = False
        self.answering = False
        self.sent_raw = 0
        self._held: list[Content] = []
        self._kept_back = False
        self._stated: Stated | None = None
        self._newest: tuple[str, ...] = ()
        self._cut_off = False
        self._free_rounds = FreeRounds()
        # The core's generation when the last request was sent, and when the last answered one was.
        self._sent_generation = self._known_generation = core.generation

    def must_be_settled(self) -> None:
        """Raise `SessionStateError` where calls wait for their results."""
        if self.results is not None:
            raise SessionStateError(
                "the last reply has tool calls; hand in their results with "
                "`with session.round() as round:` first."
            )

    def state(self) -> None:
        """Record how the budget stands, where that has changed. It becomes durable with what comes
        next: the request, the reply, the results."""
        now = stated(self)
        if self._stated is None or replace(now, round=self._stated.round) != self._stated:
            self.core.journal.record(now)
            self._stated = now

    def recall(
        self, *, done: bool, held: Sequence[Content], known: int, newest: Sequence[str] = ()
    ) -> None:
        """Remember what another process did.

        Args:
            done: whether the model has given its final answer.
            held: what the client said while a call was under way.
            known: the core's generation when the last answered request was sent.
            newest: ids of the calls of the last reply that had some.
        """
        self.done = done
        self._newest = tuple(newest)
        self._held, self._kept_back = list(held), bool(held)
        self._sent_generation = self._known_generation = known
        self.edits.recall()

    # -- the request -----------------------------------------------------------------------------

    def request(self, *, control: bool = True, headers: bool = True) -> dict[str, Any] | None:
        """The next request; None once the run has stopped. Makes room, and shows the file.

        Args:
            control: whether the client sends the whole request, so that it can ask the server to drop
                void reasoning.
            headers: whether the request may hold the headers that it needs, as the SDK takes them.
        """
        self.edits.late()
        if not self.core.observe:
            self.edits.elide(self.wire.turns)
            if self.controller.phase is Phase.RUNNING:
                self.controller.notices += self.controller.scheduler.act()
            self.controller.make_room(control=control)
            self.edits.elide(self.wire.turns)  # behind a compaction, what had to wait is free
        if self.controller.phase is Phase.STOPPED:
            return None
        if control and not self.core.observe:  # else the request's tools are the client's to send
            for toolset in self.toolsets:
                toolset.before()
        self.edits.show()
        return self._send(headers=headers)

    def _send(self, *, headers: bool) -> dict[str, Any]:
        core, wire = self.core, self.wire
        live = core.asked = core.live.outgoing
        body = wire.body(live)
        added = self.controller.queue.asking(headers=headers)
        raw = self.sent_raw = live.tokens
        self._sent_generation = core.generation
        self.asked = True
        self.state()
        core.journal.record(Sent(core.round + 1, len(live.turns), raw, wire.mended, added))
        core.tell(
            RequestMade(
                core.round + 1,
                tokens=core.shown(raw),
                limit=core.limit,
                raw=raw,
                reused_raw=wire.reused,
                reread_raw=wire.reread,
            )
        )
        return {**body, **added} if added else body

    # -- the answer ------------------------------------------------------------------------------

    def take_answer(self, response: object) -> None:
        """Read a response and append the assistant turn; raises `DialectError`."""
        core = self.core
        turns, newest = ((), ()) if core.observe else (core.live.turns, self._newest)
        taken = {call.id for turn in turns for call in turn.content.calls}
        reply = core.live.dialect.read(response, taken.union(newest))
        usage = reply.usage
        self.stand_in([reply.content])
        core.journal.record(Answered(core.round + 1, usage, reply.paused))
        dropping = bool(self.controller.queue.added)  # then the server counts what it leaves
        self.answered(usage.prompt if usage and usage.comparable and not dropping else 0)
        core.begin_round()
        self.state()
        core.append([reply.content], paused=reply.paused)
        self.asked = False
        self._cut_off = not (reply.complete or reply.paused)
        calls = reply.content.calls
        self._newest = tuple(call.id for call in calls) or self._newest
        self.results = (
            Results(reply.content, broken=reply.broken, behind=reply.behind) if calls else None
        )
        if calls and reply.forged:
            self.controller.notices.append(prompts.forged_notice(self.tag))
        core.tell(
            ReplyRead(
                core.round,
                len(calls),
                reply.complete,
                usage.prompt if usage else 0,
                usage.cached if usage else 0,
                usage.output if usage else 0,
            )
        )
        if not calls:
            core.end_round()
            if not reply.paused:  # else the server goes on with it where it is asked again
                self.done = True
                self.controller.answered(calls=False)
                self.controller.queue.settle(urgent=False, ended=True)
            self._rest()

    def stand_in(self, contents: Sequence[Content]) -> None:
        """Where the model has answered a request, what that held beside the context becomes part of it,
        since the model speaks behind it: what stood in for results that were missing, and words behind
        words of its own. A result that comes later is told where it comes.

        Args:
            contents: the answer, and what came around it.
        """
        core, asked = self.core, self.core.asked
        at = next((at for at, one in enumerate(contents) if one.role == "assistant"), None)
        if asked is None or at is None or core.observe:
            return
        since = [turn.content for turn in core.live.turns if turn.number >= asked.next_number]
        sent = self.wire.stood_in(asked, [*since, *contents[:at]], sent=not since)
        if sent:
            core.stand_in(sent)
            self.wire.stands_for(core.asked or asked)

    def answered(self, prompt: int) -> None:
        """The last request was answered; learn from the prompt tokens that the server counted, unless
        an edit came between it and the answered one before."""
        fresh = self._sent_generation != self._known_generation
        self._known_generation = self._sent_generation
        core = self.core
        core.calibration = core.calibration.observe(prompt, self.sent_raw, fresh_edit=fresh)

    def overflowed(self, error: ContextOverflowError) -> None:
        """The server refused the request as too large; raises `BudgetError` where that is final."""
        self.asked = False
        try:
            self.controller.overflowed(error)
        finally:
            self.state()

    # -- the client's own words ------------------------------------------------------------------

    def append(self, contents: Sequence[Content]) -> None:
        """Add turns of the client's; while a model call or a round is under way they wait, so that
        they neither part a call from its result nor pass for answered.

        Raises:
            BudgetError: they can never fit beside what must be in every request.
        """
        meter = self.core.live.meter
        words = [content for content in (*self._held, *contents) if content.role == "user"]
        if not self.core.observe:
            self.controller.check_room(sum(map(meter.content, words)))
        self._held.extend(contents)
        self.release()
        if self._held:  # said is said, also where the process ends before the round does
            self.core.journal.record(Held(tuple(self._held)))
            self._kept_back = True

    def release(self) -> None:
        """Append what was held back, once nothing is under way any more: what became of approvals, then
        the client's words."""
        if self.answering or self.results is not None:
            return
        self.approvals.deliver()
        if not self._held:
            return
        if self._kept_back:
            self.core.journal.record(Held(()))
            self._kept_back = False
        self.append_dressed(self._held)
        self._held = []
        self.take_up()

    def take_up(self) -> None:
        """There is more for the model to read: the loop goes on, after an answer or a stop as well."""
        self.done = False
        self.controller.resume()

    def settled(self) -> None:
        """An approval was settled: the model is told, as soon as nothing is under way."""
        self.release()
        if self.results is None and not self.answering:
            self.state()
            self._rest()

    # -- the round -------------------------------------------------------------------------------

    def begin(self) -> Results | None:
        """Open the round of the last reply: answer what is ours to answer, show the file."""
        results = self.results
        if results is None:
            return None
        if results.open:
            raise SessionStateError("this round is open already; leave its `with` block first.")
        if results.calls is None:
            self._sort_calls(results)
        self._answer_own(results)
        self.edits.late()
        self.edits.show()
        results.open = True
        return results

    def _sort_calls(self, results: Results) -> None:
        """Which calls somebody else must run; those that nobody can run have their result at once."""
        good, bad = parse_calls(results.head.calls, cut_off=self._cut_off)
        dialect, tag = self.core.live.dialect, self.tag
        lost = {
            at: unfit_result(dialect, results.call(at), tag, cut_off=self._cut_off)
            for at in {*results.broken, *(call.index for call in bad)}
        }
        lost |= dict.fromkeys(results.behind, prompts.forged_result(tag))
        results.outcomes |= {at: Outcome(text, 1, own=True) for at, text in lost.items()}
        good = [call for call in good if call.place not in lost]
        if self.controller.phase is not Phase.RUNNING:
            text = prompts.not_run_result(self.tag)
            results.outcomes |= {call.place: Outcome(text, 1, own=True) for call in good}
            good = []
        for call in good:
            self.approvals.judge(results, call)
        good = [call for call in good if call.place not in results.outcomes]
        results.own = [call for call in good if self.toolset(call.name)]
        results.calls = [call for call in good if not self.toolset(call.name)]
        self._tell_undone(results)

    def _tell_undone(self, results: Results) -> None:
        """Tell of calls of our own tools that are not done: nobody can read them, or nobody may."""
        for call in results.head.calls:
            outcome, op = results.outcomes.get(call.index), op_of(call.name)
            if outcome is not None and outcome.approval is None and op and self.toolset(call.name):
                self.core.tell(ContextOp(self.core.round, op, ok=False))

    def toolset(self, name: str) -> Toolset | None:
        """Whose tool this is, where it is one of ours."""
        return next((own for own in self.toolsets if name in own.names), None)

    def _answer_own(self, results: Results) -> None:
        """Answer each call of a tool of ours that has no answer yet."""
        for call in results.own:
            toolset = self.toolset(call.name)
            if toolset is None or call.place in results.outcomes:
                continue
            aimed = (*results.aimed, call.place) if toolset.aims(call) else results.aimed
            plan = self._plan(results, aimed) if aimed != results.aimed else 0
            spans = self.edits.spans(results.call(call.place))
            said = toolset.answer(call, plan=plan, spans=spans)
            results.aimed = aimed
            results.plan += plan
            if said.judged is not None:
                results.judged.append(said.judged)
                if said.owed:
                    self.edits.waiting.append(said.judged)
            edited = said.judged is not None and said.judged.applied
            results.outcomes[call.place] = Outcome(said.text, own=said.own, edited=edited)
            if said.text:  # what was done for it is in force, so its words must not be lost either
                handed = Handed(self.core.round, call.place, said.text, own=said.own)
                self.core.journal.record(handed)

    def handed_in(self, results: Results, place: int) -> None:
        """A call has its result. While others still run it is recorded by itself: where the process
        ends before they do, it need not be run again."""
        if any(call.place not in results.outcomes for call in results.calls or ()):
            outcome = results.outcomes[place]
            self.core.journal.record(
                Handed(self.core.round, place, outcome.text, outcome.exit_code, outcome.timed_out)
            )

    def end(self, results: Results, *, interrupted: bool) -> tuple[bool, int]:
        """Close the round: read the file, append the results, balance the ledger.

        Returns:
            (free, cost): whether its only effect was an applied edit, and the steps it costs.
        """
        core = self.core
        results.open = False
        for call in results.calls or ():
            say = prompts.interrupted_result if interrupted else prompts.missing_result
            missing = Outcome(say(self.tag), 1, interrupted, own=True)
            results.outcomes.setdefault(call.place, missing)
        if not results.read:
            results.read = True
            self._read_file(results)
        self._append_results(results)
        core.end_round()
        self.results = None
        self.controller.answered(calls=True)
        self._free_rounds, cost = self._free_rounds.step(results.free, results.shrank)
        self.state()
        core.tell(RoundEnded(core.round, core.used, core.limit, cost))
        self.release()
        self._rest()
        return results.free, cost

    def _rest(self) -> None:
        """Between rounds the file shows the context too, for what writes late and for people. Where
        it cannot be written, the next request says so."""
        with suppress(ContextFileError):
            self.edits.show()

    def _plan(self, results: Results, aimed: Collection[int]) -> int:
        """What the calls in `aimed` cost beyond what was charged already: the first edit pays for
        the turn's words, each for its own call."""
        return max(plan_tokens(self.core.live.meter, results.head, aimed) - results.plan, 0)

    def _read_file(self, results: Results) -> None:
        outcomes = results.outcomes
        run = {call.place for call in results.calls or () if not outcomes[call.place].approval}
        calls = [call for call in results.head.calls if call.index in run]
        named = [call.index for call in calls if self.edits.names_file(call)]
        suspects = named or sorted(run)
        aimed = (*results.aimed, *named) if named else ()
        look = Look(
            named=bool(named),
            exit_code=next(filter(None, (results.outcomes[at].exit_code for at in suspects)), 0),
            killed=any(results.outcomes[at].timed_out for at in run),
            plan_tokens=self._plan(results, aimed),
            spans=tuple(
                span for call in calls if call.index in suspects for span in self.edits.spans(call)
            ),
        )
        generation = self.core.generation
        try:
            judged = self.edits.by_file(look)
        except Exception:
            self._lost(generation)
            raise
        if judged is not None:
            results.judged.append(judged)
            results.plan += look.plan_tokens

    def _lost(self, generation: int) -> None:
        """The journal or a watcher failed over an edit; say what became of it all the same."""
        core, tokens = self.core, self.core.live.tokens
        if core.generation != generation:
            self.edits.waiting.append(Judged(core.receipts[-1], max(core.commits)))
        else:
            receipt = Receipt(Status.REJECTED, tokens, tokens, UNRECORDED, core.raw_limit)
            self.edits.waiting.append(Judged(receipt))

    def _append_results(self, results: Results) -> None:
        dialect, calls = self.core.live.dialect, results.head.calls
        outcomes = [results.outcomes[call.index] for call in calls]
        contents = [
            dialect.result(call, outcome.text)
            for call, outcome in zip(calls, outcomes, strict=True)
        ]
        own = [at for at, outcome in enumerate(outcomes) if outcome.own]
        around: Around = {
            at: partial(pending_text, outcome)
            for at, outcome in enumerate(outcomes)
            if outcome.approval is not None
        }
        self.append_dressed(contents, own, plan=results.plan, around=around)

    def append_dressed(
        self,
        contents: Sequence[Content],
        own: Collection[int] = (),
        *,
        plan: int = 0,
        around: Around = NOTHING,
        origin: Origin = Origin.ORIGINAL,
    ) -> None:
        """Append turns, with what the model is to be told in the results among them.

        Args:
            contents: the turns.
            own: places of results that redraft wrote.
            plan: raw tokens of the round's reply that were rationale and command of edits.
            around: what stands around an output, by its place; such a turn counts as a result.
            origin: where the words come from.
        """
        core, edits, controller = self.core, self.edits, self.controller
        if core.observe:
            edits.waiting.clear()
            core.append(wrapped(core.live.dialect, contents, around), origin, plan=plan)
            return
        lines = [*map(edits.line, edits.waiting), *controller.notices]
        done = compose(controller, contents, lines, own, around)
        for answers, text in done.changed:
            core.journal.record(Output(core.round, answers, text))
        self.state()
        core.append(done.contents, origin, measured=done.measured, plan=plan)
        if done.told:
            edits.waiting.clear()
            controller.notices.clear()
