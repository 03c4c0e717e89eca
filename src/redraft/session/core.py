"""The state of a session, and its two verbs: `append` and `propose`.

Everything that changes the live context goes through here, so that the order is right once and for
all: the door decides, the journal records, the live context is swapped, the receipt is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from redraft.context import (
    Check,
    Commit,
    Ledger,
    Live,
    Origin,
    Receipt,
    Refusal,
    Revision,
    Row,
    Status,
    Turn,
    commit,
)
from redraft.dialects import Content
from redraft.errors import RewriteBudgetViolation
from redraft.events import EditJudged, Escalated, Event
from redraft.store import Account, Appended, Committed, Journal, Refused, Told
from redraft.tokens import Calibration

__all__ = ["Core", "Judged"]

_APPLIED = (Status.APPLIED, Status.GREW, Status.OVER)


class Judged:
    """What became of one proposal.

    Attributes:
        receipt: the outcome in numbers.
        number: the revision's number; 0 where it did not commit.
    """

    __slots__ = ("number", "receipt")

    def __init__(self, receipt: Receipt, number: int = 0) -> None:
        self.receipt = receipt
        self.number = number

    @property
    def applied(self) -> bool:
        """Whether the live context changed."""
        return self.receipt.status in _APPLIED


class Core:
    """The live context with its journal, ledger and limit.

    Args:
        live: the context at the beginning.
        limit: the budget's limit, in tokens as shown.
        calibration: how raw tokens are shown.
        journal: where everything is recorded.
        checks: further tests for the door.
        observe: judge revisions and change nothing.
        on_event: called with every event, in order.
        on_escalation: called when a rewrite cannot prove that it conserves.

    Attributes:
        round: the number of the round in progress, from 1; 0 before the first request.
        ledger: closed rows.
        commits: revisions that passed, by number.
        anchors: for each turn that left, the number of the turn that it stood behind.
        fresh_edit: whether the context was edited since the last request that was answered.
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
        on_event: Callable[[Event], None] | None = None,
        on_escalation: Callable[[RewriteBudgetViolation], None] | None = None,
    ) -> None:
        self.live = live
        self.limit = limit
        self.calibration = calibration
        self.journal = journal
        self.checks = tuple(checks)
        self.observe = observe
        self.round = 0
        self.ledger = Ledger()
        self.commits: dict[int, Commit] = {}
        self.anchors: dict[int, int] = {}
        self.fresh_edit = False
        self.receipts: list[Receipt] = []
        self._row: Row | None = None
        self._numbers = 0
        self._on_event = on_event
        self._on_escalation = on_escalation
        journal.record(Appended(live.turns))

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

    # -- verbs -----------------------------------------------------------------------------------

    def append(
        self, contents: Iterable[Content], origin: Origin = Origin.ORIGINAL, *, measured: int = 0
    ) -> tuple[Turn, ...]:
        """Add turns at the end.

        Args:
            contents: the turns.
            origin: where their words come from.
            measured: how many of their raw tokens are receipts, readouts and notices; the rest is
                intake.

        Returns:
            the new turns.
        """
        before = self.live
        after = before.append(contents, origin)
        turns = after.turns[len(before.turns) :]
        self.journal.record(Appended(turns))
        self.live = after
        grown = after.tokens - before.tokens
        self._account(before, intake=grown - measured, measurement=measured)
        return turns

    def propose(self, revision: Revision, *, limit: int | None = None) -> Judged:
        """Take a revision to the door, and do what it answers.

        Args:
            revision: the proposal.
            limit: another raw limit than the session's.
        """
        if not revision:
            tokens = self.live.tokens
            return self.judged(Receipt(Status.IGNORED, tokens, tokens), revision)
        before = self.live
        limit = self.raw_limit if limit is None else limit
        answer = commit(before, revision, limit, self.checks)
        if isinstance(answer, Refusal):
            self.journal.record(Refused(answer.receipt.rule, answer))
            if answer.violation is not None:
                self._escalate(revision, answer.violation)
            return self.judged(answer.receipt, revision)
        if self.observe:
            return self.judged(answer.receipt, revision)
        self._numbers += 1
        number = self._numbers
        self.journal.record(Committed(number, answer))
        self.live = answer.live
        self.commits[number] = answer
        self.anchors.update(
            {move.old.number: move.anchor for move in answer.moves if move.old and not move.new}
        )
        self.fresh_edit = True
        deltas = answer.deltas
        self._account(before, freed=deltas.freed, rewrite=deltas.replacement)
        return self.judged(answer.receipt, revision, number, answer)

    def judged(
        self,
        receipt: Receipt,
        revision: Revision,
        number: int = 0,
        answer: Commit | None = None,
    ) -> Judged:
        """Remember a receipt and tell whoever watches."""
        self.receipts.append(receipt)
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
        if self._on_event is not None:
            self._on_event(event)

    def _escalate(self, revision: Revision, violation: RewriteBudgetViolation) -> None:
        self.tell(Escalated(self.round, revision.source, str(violation)))
        if self._on_escalation is not None:
            self._on_escalation(violation)

    # -- the ledger ------------------------------------------------------------------------------

    def open_row(self) -> None:
        """Begin a round's row; the one before must be closed."""
        self._row = Row(self.round, self.live.tokens)

    def charge_plan(self, tokens: int) -> None:
        """Move raw tokens that were counted as intake to the cost of an edit."""
        if self._row is not None:
            self._row = self._row.add(intake=-tokens, rewrite=tokens)

    def close_row(self) -> None:
        """End the round's row; raises `LedgerError` where its causes do not add up."""
        if self._row is not None:
            self._close(self._row)
            self._row = None

    def _account(
        self,
        before: Live,
        *,
        intake: int = 0,
        freed: int = 0,
        rewrite: int = 0,
        measurement: int = 0,
    ) -> None:
        """Attribute a change to the round's row, or to a row of its own between rounds."""
        row = self._row or Row(self.round, before.tokens)
        row = row.add(intake=intake, freed=freed, rewrite=rewrite, measurement=measurement)
        if self._row is None:
            self._close(row)
        else:
            self._row = row

    def _close(self, row: Row) -> None:
        row = row.close(self.live.tokens)
        self.ledger.rows.append(row)
        self.journal.record(Account(row))

    def checkpoint(self) -> bool:
        """Whether a full recount agrees with the running sum (DESIGN.md section 4, rule 8)."""
        return self.live.recount() == self.live.tokens

    def rebase(self, live: Live) -> None:
        """Start over from a context that the client rewrote itself."""
        self.journal.record(Appended(live.turns))
        before, self.live = self.live, live
        self.commits.clear()
        self.anchors.clear()
        self._account(before, intake=live.tokens, freed=before.tokens)
