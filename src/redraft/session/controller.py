"""The budget at work: nudges, the urgent band, rollbacks, the final turn, and the hand-over.

Decisions come from `redraft.budget`; this is where they meet the live context.
"""

from __future__ import annotations

from collections.abc import Sequence

from redraft import budget as budgets
from redraft import prompts
from redraft.budget import Nudge, Nudges, Phase, Rollbacks, choose, commands, overflow, urgent_band
from redraft.context import Change, Effect, Gate, Insert, Live, Origin, Revision
from redraft.errors import BudgetError, ContextOverflowError
from redraft.events import HandedOver, NudgeGiven, PhaseChanged, RolledBack
from redraft.policies import ObservationMask, Policy
from redraft.session.core import Core, Judged
from redraft.session.needs import Needs
from redraft.session.queue import Queue
from redraft.session.scheduling import Scheduler
from redraft.settings import Settings

__all__ = ["LOSSES", "NOTICE_ROOM", "Controller"]

NOTICE_ROOM = 512
"""Raw tokens that the notice of a rollback may take: five commands of a line each."""

LOSSES = 2
"""Edits running with a full net of zero or less, after which the harness does the next compaction
(DESIGN.md section 4, the `conserve` gate)."""

_FULL = "your context is full and nothing more can be taken away"
_OVERFLOWS = "your context overflows and is not rolled back any more"


class Controller:
    """Keeps a session's context within its limit.

    Args:
        core: the session's state.
        settings: margins and maxima.
        tag: the session's tag, for notices.
        fallback: who compacts when the model's edits cost more than they free.
        scheduler: who asks policies, and fulfils what they need.
        control: whether the server can be asked to drop void reasoning.
        nudging: whether the model is told how full its context is; it is no use where it cannot edit.

    Attributes:
        queue: the revisions that wait for the end of an exchange.
        phase: whether the run goes on, has its last turn, or has stopped.
        why: why it does not go on; "" while it does.
        rollbacks: how often the context was rolled back.
        notices: what the model is to be told in the newest result, beside the nudge.
    """

    def __init__(
        self,
        core: Core,
        settings: Settings,
        tag: str,
        fallback: Policy | None = None,
        *,
        scheduler: Scheduler | None = None,
        control: bool = False,
        nudging: bool = True,
    ) -> None:
        self.core = core
        self._nudging = nudging
        self.scheduler = scheduler or Scheduler(core, Needs(core, tag), tag)
        self.queue = Queue(core, control=control)
        self.settings = settings
        self.tag = tag
        self.phase = Phase.RUNNING
        self.why = ""
        self.rollbacks = Rollbacks()
        self.notices: list[str] = []
        self._outputs: list[int] = []
        self._nudges = Nudges(tiers=settings.nudge_tiers)
        self._fallback = fallback or ObservationMask()
        self._losses = 0
        self._notice = 0

    # -- before a request ------------------------------------------------------------------------

    def make_room(self, *, control: bool = True) -> None:
        """Bring the context under its limit: by a policy where the model's edits lose tokens, then by
        what is queued, then by rollbacks, then by giving the model its final turn.

        Args:
            control: whether the client can ask the server to drop void reasoning.

        Raises:
            BudgetError: what must be sent alone does not fit.
        """
        if self._losses >= LOSSES and self.phase is Phase.RUNNING:
            self._hand_over()
        self.queue.settle(urgent=self.urgent(), control=control)
        while self._excess() > 0 and self.phase is not Phase.STOPPED:
            self.check_room()
            if self.phase is Phase.RUNNING:
                self._roll_back()
            elif not self._cut(self._excess()):
                self.stop(_FULL)
            self.queue.settle(urgent=True, control=control)

    def check_room(self, more: int = 0) -> None:
        """Raise `BudgetError` where what must be in every request, and `more` raw tokens, is larger
        than the limit."""
        budgets.check_room(self.core.limit, self._needed(more))

    def _needed(self, more: int = 0) -> dict[str, int]:
        """What must be in every request, by name, in tokens as shown."""
        live, shown = self.core.live, self.core.shown
        held = live.protected()
        pinned = sum(turn.tokens for turn in live.turns[: live.head])
        rest = sum(turn.tokens for turn in live.turns[live.head :] if turn.number in held)
        return {
            "tools and parameters": shown(live.frame_tokens),
            "system prompt and task": shown(pinned),
            "pinned and unanswered turns": shown(rest + more),
        }

    def overflowed(self, error: ContextOverflowError) -> None:
        """The server says that the request was too large, whatever we counted.

        The limit comes down to what the server can take, so that the next request is smaller; then
        the context is rolled back.

        Raises:
            BudgetError: what must be sent alone is larger than that.
        """
        core = self.core
        queued = core.live.older is not None
        core.limit = min(core.limit, max(self._ceiling(error), 1))
        try:
            self.check_room()
        except BudgetError as small:
            raise BudgetError(f"the server takes less than was thought: {small}") from error
        if queued and core.live.tokens <= core.raw_limit:
            return  # what is queued takes effect before the next request, and frees enough
        if self.phase is Phase.FINAL:
            self.stop("the final request did not fit either")
        elif self.phase is Phase.RUNNING:
            self._roll_back()

    def _ceiling(self, error: ContextOverflowError) -> int:
        """What the server can take, in our own count, less the margin, or less a quarter of it where
        the server's window is so small that a whole margin would leave no room."""
        sent, margin = self.core.shown(self.core.live.outgoing.tokens), self.settings.margin
        if error.requested and error.window and error.requested > error.window:
            taken = sent * error.window // error.requested
            return taken - min(margin, taken // 4)
        # Nothing is known but that this was too much. (Where the prompt alone would have fitted, the
        # output beside it did not.) One margin less is a guess, so what must be sent may go on.
        return max(sent - margin, min(sum(self._needed().values()), sent - 1))

    def _excess(self) -> int:
        """Raw tokens by which the context, or what is sent in its stead, is over its limit."""
        return self.core.load - self.core.raw_limit

    def _roll_back(self) -> None:
        core = self.core

        def needed(depth: int) -> int:
            target = core.calibration.raw_limit(max(core.limit - depth, 0))
            return core.live.tokens - target + NOTICE_ROOM

        decided = overflow(
            core.live,
            self.rollbacks,
            self.phase,
            core.limit,
            needed,
            margin=self.settings.margin,
            maximum=self.settings.rollback_max,
        )
        if decided.choice is None:
            spent = self.rollbacks.count >= self.settings.rollback_max
            self.end(_OVERFLOWS if spent else _FULL)
            return
        before = core.used
        numbers = decided.choice.numbers
        free = core.limit - core.shown(core.live.tokens - decided.choice.freed)
        revision = self._rollback(core.live, numbers, free)
        judged = core.propose(revision, limit=core.live.tokens, effect=Effect.NOW)
        if not judged.applied:
            self.end(_FULL)
            return
        self.rollbacks = decided.rollbacks
        self._notice = core.live.next_number - 1
        core.tell(RolledBack(core.round, self.rollbacks.count, numbers, before, core.used))

    def _rollback(self, live: Live, numbers: Sequence[int], free: int) -> Revision:
        """Groups go, and the notice of the rollback before this one, and a new notice comes."""
        kept = [turn for turn in live.turns if turn.number not in numbers]
        old = [turn for turn in kept if turn.number == self._notice]
        # A notice that the model wrote its own words into is the model's.
        spent = [turn.number for turn in old if turn.origin is Origin.HARNESS]
        named = commands(live, numbers)
        text = prompts.rollback_notice(len(numbers), named, free, self.tag)
        note = live.draft(live.dialect.note("user", text), Origin.HARNESS)
        insert = Insert(kept[-1].number if kept else 0, note)
        return _drop(live, "rollback", {*numbers, *spent}, insert)

    # -- the end of a run ------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """Go to the final turn, or from there (or where there can be none) to the stop."""
        final = self.settings.final_turn and self.phase is Phase.RUNNING and not self.core.observe
        note = self.core.live.dialect.note("user", prompts.final_notice(why, self.tag))
        cost = self.core.live.meter.content(note)
        if not final or not self._cut(self._excess() + cost):
            self.stop(why)
            return
        self._enter(Phase.FINAL, why)
        self.core.append([note], Origin.HARNESS, measured=cost)

    def stop(self, why: str) -> None:
        """Stop at once."""
        if self.phase is not Phase.STOPPED:
            self._enter(Phase.STOPPED, why)

    def answered(self, *, calls: bool) -> None:
        """The model has replied; in the final turn that is the end, whatever it says."""
        if self.phase is Phase.FINAL:
            used = "was spent on tool calls" if calls else "gave the answer"
            self.stop(f"the final turn {used}")

    def resume(self) -> None:
        """The user has more to say after the stop: another run begins."""
        if self.phase is Phase.STOPPED:
            self.rollbacks = Rollbacks()
            self._enter(Phase.RUNNING, "")

    def _enter(self, phase: Phase, why: str) -> None:
        self.phase, self.why = phase, why
        self.core.tell(PhaseChanged(self.core.round, str(phase), why))

    def _cut(self, needed: int) -> bool:
        """Let the newest groups go until `needed` raw tokens have; whether that could be done."""
        if needed <= 0:
            return True
        live = self.core.live
        choice = choose(live, needed)
        if not choice.enough:
            return False
        revision = _drop(live, "final-turn", choice.numbers)
        return self.core.propose(revision, limit=live.tokens, effect=Effect.NOW).applied

    # -- after a round ---------------------------------------------------------------------------

    def urgent(self) -> bool:
        """Whether the context stands in the urgent band."""
        core = self.core
        return core.limit - core.shown(core.load) < urgent_band(core.limit, self._outputs)

    def saw(self, output_tokens: int) -> None:
        """Remember how large a tool's output was, in raw tokens."""
        self._outputs = [*self._outputs, self.core.shown(output_tokens)][-3:]

    def nudge(self, raw: int) -> Nudge | None:
        """What to say about the fill once the context holds `raw` tokens, if anything."""
        if not self._nudging:
            return None
        used = self.core.shown(raw)
        self._nudges, nudge = self._nudges.step(used, self.core.limit, self._outputs)
        if nudge is not None:
            self.core.tell(NudgeGiven(self.core.round, str(nudge), used))
        return nudge

    def edited(self, judged: Judged) -> None:
        """Take note of a model's edit that was applied."""
        commit = self.core.commits.get(judged.number)
        if commit is None:
            return
        self.rollbacks = self.rollbacks.applied_edit()
        if commit.revision.gate is not Gate.CONSERVE:
            return
        self._losses = self._losses + 1 if commit.deltas.net <= 0 else 0
        if self._losses == LOSSES:
            self.notices.append(prompts.handover_notice(self.tag))

    def _hand_over(self) -> None:
        """Let the fallback do the next compaction, as soon as it sees one to do."""
        decided = self.scheduler.needs.decided(self._fallback)
        if decided.revision is None:
            return
        self._losses = 0
        self.core.tell(HandedOver(self.core.round, self._fallback.name))
        self._fallback = self.scheduler.instead(self._fallback, decided)


def _drop(live: Live, source: str, numbers: Sequence[int] | set[int], *inserts: Insert) -> Revision:
    """The harness's revision that removes turns."""
    gone = set(numbers)
    changes = [Change(turn.number, turn.digest, None) for turn in live.turns if turn.number in gone]
    return Revision("harness", source, tuple(changes), inserts, Gate.FIT)
