"""The budget at work: nudges, the urgent band, rollbacks, the final turn, and the hand-over.

Decisions come from `redraft.budget`; this is where they meet the live context.
"""

from __future__ import annotations

from collections.abc import Sequence

from redraft import prompts
from redraft.budget import Nudge, Nudges, Phase, Rollbacks, commands, overflow, urgent_band
from redraft.context import (
    RECEIPT_CAP,
    Change,
    Gate,
    Insert,
    Live,
    Origin,
    Revision,
    unanswered,
)
from redraft.errors import BudgetError, ContextOverflowError
from redraft.events import HandedOver, NudgeGiven, PhaseChanged, RolledBack
from redraft.policies import ObservationMask, Policy, View
from redraft.session.core import Core, Judged
from redraft.settings import Settings

__all__ = ["LINES_ROOM", "NOTICE_ROOM", "Controller"]

NOTICE_ROOM = 512
"""Raw tokens that the notice of a rollback may take: five commands of a line each."""

LINES_ROOM = 256
"""Raw tokens kept beside an output for the receipt, a nudge, the readout and the reply's framing."""

_LOSSES = 2
"""Edits in a row with a full net of zero or less, after which the harness does the next compaction
(DESIGN.md section 4, the `conserve` gate)."""


class Controller:
    """Keeps a session's context within its limit.

    Args:
        core: the session's state.
        settings: margins and maxima.
        tag: the session's tag, for notices.
        fallback: who compacts when the model's edits cost more than they free.

    Attributes:
        phase: whether the run goes on, has its last turn, or has stopped.
        outputs: tokens of the tool outputs so far, the last few.
    """

    def __init__(
        self, core: Core, settings: Settings, tag: str, fallback: Policy | None = None
    ) -> None:
        self.core = core
        self.settings = settings
        self.tag = tag
        self.phase = Phase.RUNNING
        self.rollbacks = Rollbacks()
        self.outputs: list[int] = []
        self._nudges = Nudges(tiers=settings.nudge_tiers)
        self._fallback = fallback or ObservationMask()
        self._losses = 0
        self._notice = 0

    # -- before a request ------------------------------------------------------------------------

    def make_room(self) -> None:
        """Bring the context under its limit: by a policy where the model's edits lose tokens, then
        by rollbacks, then by giving the model its final turn."""
        if self._losses >= _LOSSES:
            self._hand_over()
        while self.phase is Phase.RUNNING and self.core.live.tokens > self.core.raw_limit:
            self._roll_back()

    def overflowed(self, error: ContextOverflowError) -> None:
        """The server says that the request was too large, whatever we counted.

        The limit comes down to what the server can take, so that the next request is smaller; then
        the context is rolled back.
        """
        sent = self.core.used
        if error.requested and error.window and error.requested > error.window:
            ceiling = sent * error.window // error.requested - self.settings.margin
        else:
            ceiling = sent - 1
        self.core.limit = max(min(self.core.limit, ceiling), 1)
        needed = sum(
            turn.tokens
            for turn in self.core.live.turns
            if turn.number in self.core.live.protected()
        )
        if self.core.shown(needed + self.core.live.frame_tokens) > self.core.limit:
            raise BudgetError(
                f"the server takes about {self.core.limit:,} tokens, and what must be sent alone is "
                "larger; use a model with a larger window, or shorten the task or the tools"
            ) from error
        if self.phase is Phase.FINAL:
            self.end("the final request did not fit either")
        else:
            self._roll_back()

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
            self.end("your context is full and nothing more can be taken away")
            return
        before = core.used
        numbers = decided.choice.numbers
        free = core.limit - core.shown(core.live.tokens - decided.choice.freed)
        revision = self._drop(core.live, numbers, free)
        judged = core.propose(revision, limit=core.live.tokens)
        if not judged.applied:
            self.end("your context is full and nothing more can be taken away")
            return
        self.rollbacks = decided.rollbacks
        self._notice = core.live.next_number - 1
        core.tell(RolledBack(core.round, self.rollbacks.count, numbers, before, core.used))

    def _drop(self, live: Live, numbers: Sequence[int], free: int) -> Revision:
        """The revision of a rollback: groups and the notice before this one go, a new notice comes."""
        gone = {*numbers, self._notice}
        dropped = [turn for turn in live.turns if turn.number in gone]
        kept = [turn for turn in live.turns if turn.number not in gone]
        named = commands(live, numbers)
        text = prompts.rollback_notice(len(numbers), named, free, self.tag)
        note = live.draft(live.dialect.note("user", text), Origin.HARNESS)
        return Revision(
            "harness",
            "rollback",
            tuple(Change(turn.number, turn.digest, None) for turn in dropped),
            (Insert(kept[-1].number if kept else 0, note),),
            Gate.FIT,
        )

    def end(self, why: str) -> None:
        """Go to the final turn, or from there (or where there is to be none) to the stop."""
        self.phase = self.phase.ended() if self.settings.final_turn else Phase.STOPPED
        self.core.tell(PhaseChanged(self.core.round, str(self.phase), why))
        if self.phase is Phase.FINAL:
            note = self.core.live.dialect.note("user", prompts.final_notice(why, self.tag))
            cost = self.core.live.meter.content(note)
            self.core.append([note], Origin.HARNESS, measured=cost)

    def stop(self, why: str) -> None:
        """Stop at once."""
        if self.phase is not Phase.STOPPED:
            self.phase = Phase.STOPPED
            self.core.tell(PhaseChanged(self.core.round, str(self.phase), why))

    # -- after a round ---------------------------------------------------------------------------

    def urgent(self) -> bool:
        """Whether the context stands in the urgent band."""
        core = self.core
        return core.limit - core.used < urgent_band(core.limit, self.outputs)

    def room(self) -> int:
        """Raw tokens that new results may take, with a receipt and a notice beside them."""
        return max(self.core.raw_limit - self.core.live.tokens - LINES_ROOM, RECEIPT_CAP)

    def saw(self, output_tokens: int) -> None:
        """Remember how large a tool's output was, in raw tokens."""
        self.outputs = [*self.outputs, self.core.shown(output_tokens)][-3:]

    def nudge(self, raw: int) -> Nudge | None:
        """What to say about the fill once the context holds `raw` tokens, if anything."""
        used = self.core.shown(raw)
        self._nudges, nudge = self._nudges.step(used, self.core.limit, self.outputs)
        if nudge is not None:
            self.core.tell(NudgeGiven(self.core.round, str(nudge), used))
        return nudge

    def edited(self, judged: Judged) -> None:
        """Take note of a model's edit that was applied."""
        if not judged.applied:
            return
        self.rollbacks = self.rollbacks.applied_edit()
        commit = self.core.commits.get(judged.number)
        if commit is not None and commit.revision.gate is Gate.CONSERVE:
            self._losses = self._losses + 1 if commit.deltas.net <= 0 else 0

    def _hand_over(self) -> None:
        self._losses = 0
        core = self.core
        decision = self._fallback.decide(View(core.live, core.raw_limit))
        core.tell(HandedOver(core.round, self._fallback.name))
        if isinstance(decision, Revision):
            core.propose(decision)

    # -- at the start ----------------------------------------------------------------------------

    def needed(self) -> dict[str, int]:
        """What every request must hold, by name, in tokens as shown."""
        live = self.core.live
        open_questions = unanswered(live.turns, live.answered)
        pinned = sum(turn.tokens for turn in live.turns[: live.head])
        rest = sum(turn.tokens for turn in live.turns[live.head :] if turn.number in open_questions)
        return {
            "tools and parameters": self.core.shown(live.frame_tokens),
            "pinned": self.core.shown(pinned),
            "unanswered user turns": self.core.shown(rest),
        }
