"""The state of a session, and its verbs: `append` and `propose`, and what goes beside them.

Everything that changes the live context goes through here, so that the order is right once and for
all: the door decides, the journal records, the live context is swapped, the receipt is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from redraft.context import (
    Check,
    Commit,
    Effect,
    Live,
    Origin,
    Receipt,
    Refusal,
    Revision,
    Spend,
    Status,
    Turn,
    commit,
)
from redraft.dialects import Content, Frame
from redraft.errors import OverflowStoreError, RewriteBudgetViolation
from redraft.events import EditJudged, Escalated, Event, SpentOutside
from redraft.session.body_reading import cause_of
from redraft.session.books import Books
from redraft.store import (
    Appended,
    Committed,
    Decided,
    EditSpan,
    Journal,
    Overflow,
    Pinned,
    Refused,
    Rehomed,
    Released,
    Started,
    Told,
    VolatileOverflow,
    spills_of,
)
from redraft.store.unbroken import unbroken
from redraft.tokens import Calibration
from redraft.tools import PinBoard

__all__ = ["Core", "Judged"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one proposal.

    Attributes:
        receipt: the outcome in numbers.
        number: the revision's number; 0 where it did not commit.
    """

    receipt: Receipt
    number: int = 0

    @property
    def applied(self) -> bool:
        """Whether the live context changed."""
        return self.number > 0

    @property
    def growth(self) -> int:
        """Raw tokens by which the live context grew; negative where it shrank."""
        return self.receipt.after - self.receipt.before if self.applied else 0


class Core:
    """The live context with its journal, books and limit.

    Args:
        live: the context at the beginning.
        limit: the budget's limit, in tokens as shown.
        calibration: how raw tokens are shown.
        journal: where everything is recorded.
        checks: further tests for the door.
        observe: judge revisions and change nothing.
        whole_head: whether the pinned prefix is to hold the first user turn, also where it comes
            later than the system prompt.
        on_event: called with every event, in order.
        on_escalation: called when a rewrite cannot prove that it conserves.
        begun: whether the journal holds the beginning already.
        overflow: where the bodies go that a revision moves out and its stubs name.

    Attributes:
        round: the number of the round in progress, from 1; 0 before the first reply.
        books: the ledger.
        commits: revisions that passed, by number.
        generation: how often the context was changed otherwise than at its end.
        receipts: what became of every proposal, in order.
        asked: what was sent last, until its answer has joined the context: that is what reasoning in the
            answer is bound to.
        rejections: how many proposals were rejected, by their source.
        board: the pins with their owners.
    """

    def __init__(
        self,
        live: Live,
        *,
        limit: int,
        calibration: Calibration,
        journal: Journal,
        checks: Sequence[Check] = (),
        observe: bool = False,
        whole_head: bool = True,
        on_event: Callable[[Event], None] | None = None,
        on_escalation: Callable[[RewriteBudgetViolation], None] | None = None,
        begun: bool = False,
        overflow: Overflow | None = None,
    ) -> None:
        self.live = live
        self.limit = limit
        self.calibration = calibration
        self.journal = journal
        self.checks = tuple(checks)
        self.overflow: Overflow = VolatileOverflow() if overflow is None else overflow
        self.board = PinBoard()
        self.observe = observe
        self.round = 0
        self.books = Books(journal)
        self.commits: dict[int, Commit] = {}
        self.generation = 0
        self.receipts: list[Receipt] = []
        self.asked: Live | None = None
        self.rejections: Counter[str] = Counter()
        self._whole_head = whole_head
        self._numbers = 0
        self._on_event = on_event
        self._on_escalation = on_escalation
        if not begun:
            journal.record(_start(live))

    # -- figures ---------------------------------------------------------------------------------

    @property
    def raw_limit(self) -> int:
        """The limit in raw tokens, as the door takes it."""
        return self.calibration.raw_limit(self.limit)

    def shown(self, raw: int) -> int:
        """Raw tokens as the model is told of them."""
        return self.calibration.shown(raw)

    @property
    def used(self) -> int:
        """The live context's size, as shown."""
        return self.shown(self.live.tokens)

    @property
    def load(self) -> int:
        """Raw tokens of the live context or of what is still sent in its stead, whichever is larger."""
        return max(self.live.tokens, self.live.outgoing.tokens)

    def checkpoint(self) -> bool:
        """Whether a full recount agrees with the running sum (DESIGN.md section 4, rule 8)."""
        return self.live.recount() == self.live.tokens

    # -- verbs -----------------------------------------------------------------------------------

    def begin_round(self) -> None:
        """The next round begins, and with it a row of the ledger."""
        self.books.open(self.round + 1, self.live.tokens)
        self.round += 1

    def end_round(self) -> None:
        """The round is over; raises `LedgerError` where its row does not balance."""
        self.books.close(self.live.tokens)

    def append(
        self,
        contents: Iterable[Content],
        origin: Origin = Origin.ORIGINAL,
        *,
        measured: int = 0,
        plan: int = 0,
        paused: bool = False,
    ) -> tuple[Turn, ...]:
        """Add turns at the end.

        Args:
            contents: the turns.
            origin: where their words come from.
            measured: how many of their raw tokens are receipts, readouts and notices; the rest is
                intake.
            plan: raw tokens of the round's reply that turned out to be rationale and command of edits.
            paused: whether they are a reply that the server goes on with.

        Returns:
            the new turns.
        """
        before = self.live
        contents = tuple(contents)
        after = before.append(contents, origin, under=self.asked, paused=paused)
        if self._whole_head and before.head == len(before.turns):
            after = replace(after, head=_prefix(after.turns))
        turns = after.turns[len(before.turns) :]
        if not turns:
            return ()
        head = None if after.head == before.head else after.head
        with unbroken():
            self.journal.record(Appended(turns, measured, plan, head, _marks(after, turns), paused))
            self.live = after
            if any(turn.role == "assistant" for turn in turns):
                self.asked = None
            intake = after.tokens - before.tokens - measured
            self._enter(before, intake=intake, measurement=measured)
            self.books.charge_plan(plan)
        return turns

    def stand_in(self, contents: Sequence[Content]) -> None:
        """Add what the last request held that nobody had said, now that it is answered.

        Args:
            contents: the turns, as they were sent.
        """
        asked, cost = self.asked, sum(map(self.live.meter.content, contents))
        turns = self.append(contents, Origin.HARNESS, measured=cost)
        self.asked = asked and asked.joined(turns, {})

    def propose(
        self,
        revision: Revision,
        *,
        limit: int | None = None,
        spans: Sequence[EditSpan] = (),
        effect: Effect = Effect.WAIT,
    ) -> Judged:
        """Take a revision to the door, and do what it answers.

        Args:
            revision: the proposal.
            limit: another raw limit than the session's.
            spans: where in the calls that made it the edit stands, for the record.
            effect: when it takes effect. With `CLEAR`, which says how what was accepted already does, no
                check but the structural ones is asked, and there need be no change.
        """
        before, clears = self.live, effect is Effect.CLEAR
        if not (revision or clears):
            return self.judged(Receipt(Status.IGNORED, before.tokens, before.tokens), revision)
        limit = self.raw_limit if limit is None else limit
        answer = commit(before, revision, limit, () if clears else self.checks, effect=effect)
        if isinstance(answer, Refusal):
            self.journal.record(Refused(answer.receipt.rule, answer))
            if answer.violation is not None:
                self._escalate(revision, answer.violation)
            return self.judged(answer.receipt, revision)
        if self.observe:
            return self.judged(answer.receipt, revision)
        unkept = self._spill(revision)
        if unkept:
            return self._unkept(revision, limit, unkept)
        number = self._numbers + 1
        calls = tuple(sorted({span.place for span in spans}))
        with unbroken():
            queued = answer.live.older is not None
            self.journal.record(Committed(number, answer, calls, tuple(spans), queued))
            self._numbers = number
            self.live = answer.live
            self.commits[number] = answer
            self.generation += 1
            self._enter(before, freed=answer.deltas.freed, rewrite=answer.deltas.replacement)
        return self.judged(answer.receipt, revision, number, answer)

    def _spill(self, revision: Revision) -> str:
        """Keep the bodies that a revision moves out: a stub never names what is not there.

        Returns:
            why that cannot be; "" where it was done.
        """
        try:
            for spill in spills_of(revision, self.live):
                self.overflow.put(spill.body, spill.cites)
        except OverflowStoreError as error:
            return f"the overflow store cannot keep the originals ({cause_of(error)})"
        return ""

    def _unkept(self, revision: Revision, limit: int, why: str) -> Judged:
        """Refuse a revision whose originals cannot be kept. Nothing has changed."""
        tokens = self.live.tokens
        rule = f"{why}; make room on its disk, or do without stubs"
        receipt = Receipt(Status.REJECTED, tokens, tokens, rule, limit)
        self.journal.record(Refused(rule, Refusal(receipt, revision)))
        return self.judged(receipt, revision)

    def release(self) -> None:
        """Send from now on what was accepted, as it is."""
        if self.live.older is not None:
            with unbroken():
                self.journal.record(Released())
                self.live = replace(self.live, older=None)
                self.generation += 1

    def pin(self, board: PinBoard) -> None:
        """Say which turns are pinned, and by whom. No gate: nothing changes in size."""
        with unbroken():
            self.journal.record(Pinned(board.numbers, board))
            self.live, self.board = replace(self.live, pins=board.numbers), board

    def decide(self, decided: Decided) -> None:
        """Record what became of an approval; one that is settled holds nothing any more."""
        with unbroken():
            self.journal.record(decided)
            if decided.settles:
                self.live = self.live.settle(decided.id)

    def rehome(self, turns: Sequence[Turn], path: str, frame: Frame | None = None) -> None:
        """Put turns that name another place for the context file into the stead of the old ones.

        Args:
            turns: the turns, under the numbers and at the places of the old ones.
            path: the file's path.
            frame: the frame, where it names that place; None where it stays.
        """
        before = self.live
        new = {turn.number: turn for turn in turns}
        after = tuple(new.get(turn.number, turn) for turn in before.turns)
        came = sum(turn.tokens for turn in turns)
        freed = sum(turn.tokens for turn in before.turns if turn.number in new)
        live = replace(before, turns=after, tokens=before.tokens - freed + came)
        if turns:  # what stands in front of everything is another: nothing is left to wait for
            live = replace(live, older=None)
        cost = 0 if frame is None else live.meter.frame(frame)
        if frame is not None:
            live, freed = live.framed(frame, cost), freed + before.frame_tokens
        with unbroken():
            self.journal.record(Rehomed(tuple(turns), path, frame, cost))
            self.live = live
            if live.tokens != before.tokens:
                self._enter(before, intake=came + cost, freed=freed)

    def reframe(self, frame: Frame) -> None:
        """Send other fields beside the turns from here on."""
        self.rehome((), "", frame)

    def restart(self, live: Live) -> None:
        """Start over from a context that the client made."""
        before, live = self.live, _remembering(live, self.live)
        live = replace(live, settled=before.settled)
        with unbroken():
            self.journal.record(_start(live))
            self.live, self.asked, self.board = live, None, PinBoard()
            self.commits.clear()
            self.generation += 1
            self._enter(before, intake=live.tokens, freed=before.tokens)

    def recall(self, commits: Mapping[int, Commit], revisions: int, generation: int) -> None:
        """Remember the revisions of another process: those that can be undone by number, how many
        there were in all, and how often the context was changed."""
        self.commits = dict(commits)
        self._numbers = revisions
        self.generation = generation

    # -- what is told ----------------------------------------------------------------------------

    def judged(
        self,
        receipt: Receipt,
        revision: Revision,
        number: int = 0,
        answer: Commit | None = None,
    ) -> Judged:
        """Remember a receipt and tell whoever watches."""
        self.receipts.append(receipt)
        if receipt.status is Status.REJECTED:
            self.rejections[revision.source] += 1
        self.tell(
            EditJudged(
                round=self.round,
                number=number,
                author=revision.author,
                source=revision.source,
                status=str(receipt.status),
                before=self.shown(receipt.before),
                after=self.shown(receipt.after),
                rule=receipt.rule,
                reread=self.shown(answer.reach.reread) if answer else 0,
                net_raw=answer.deltas.net if answer else 0,
            )
        )
        return Judged(receipt, number)

    def tell(self, event: Event) -> None:
        """Record an event and pass it on."""
        self.journal.record(Told(event))
        self._pass_on(event)

    def spend(self, purpose: str, prompt: int, output: int, model: str = "") -> None:
        """Enter tokens that were spent outside of the window into the spend ledger.

        Args:
            purpose: what for.
            prompt, output: tokens read and written.
            model: the model that was asked; "" for the session's own.
        """
        event = SpentOutside(self.round, purpose, prompt, output, model)
        with unbroken():
            self.journal.record(Told(event))
            self.books.ledger.spend.append(Spend(purpose, prompt, output))
        self._pass_on(event)

    def _pass_on(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def _escalate(self, revision: Revision, violation: RewriteBudgetViolation) -> None:
        self.tell(Escalated(self.round, revision.source, str(violation)))
        if self._on_escalation is not None:
            self._on_escalation(violation)

    def _enter(self, before: Live, **causes: int) -> None:
        self.books.enter(self.round, before.tokens, self.live.tokens, **causes)


def _start(live: Live) -> Started:
    marks = _marks(live, live.turns)
    return Started(live.frame, live.turns, live.head, live.frame_tokens, marks)


def _marks(live: Live, turns: Sequence[Turn]) -> Mapping[int, str]:
    """What the reasoning in `turns` was made under."""
    return {turn.number: live.made[turn.number] for turn in turns if turn.number in live.made}


def _remembering(live: Live, before: Live) -> Live:
    """A context that the client made, with what is known of the turns in it that are as they were."""
    if not live.made:
        return live
    known = {
        turn.wire: before.made[turn.number] for turn in before.turns if turn.number in before.made
    }
    made = {turn.number: known[turn.wire] for turn in live.turns if turn.wire in known}
    return replace(live, made={**live.made, **made})


def _prefix(turns: Sequence[Turn]) -> int:
    """The system turns at the start and the first user turn, the task (DESIGN.md section 2)."""
    at = 0
    while at < len(turns) and turns[at].role == "system":
        at += 1
    return at + 1 if at < len(turns) and turns[at].role == "user" else at
