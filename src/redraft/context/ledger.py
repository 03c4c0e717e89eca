"""Token accounting by cause: exact, in raw integer tokens.

From the request that produced an edit to its results,
`after = before + intake - freed + rewrite_cost + measurement_cost` (DESIGN.md section 4, rule 8). A
row that does not balance is a fault of redraft, found at once and not after a spiral.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redraft.errors import LedgerError

if TYPE_CHECKING:
    from redraft.context.gates import RewritePlan

__all__ = ["Deltas", "Ledger", "Row", "Spend"]


@dataclass(frozen=True, slots=True)
class Deltas:
    """What one revision frees and costs.

    Attributes:
        before: raw tokens of the live context before it.
        freed: tokens of the turns that leave or are replaced.
        replacement: tokens of what comes in their place, notes included.
        plan: tokens of rationale and command, already in the context.
        measurement: tokens that the receipt may take.
    """

    before: int
    freed: int
    replacement: int
    plan: int = 0
    measurement: int = 0

    @property
    def after(self) -> int:
        """Raw tokens of the live context after it, without the receipt to come."""
        return self.before - self.freed + self.replacement

    @property
    def net(self) -> int:
        """Tokens freed once everything is paid, the plan included."""
        return self.freed - self.replacement - self.plan - self.measurement

    @property
    def marginal_net(self) -> int:
        """The same without the plan: what committing changes, the plan being spent either way."""
        return self.net + self.plan

    def as_plan(self, *, include_plan: bool = True, touched: bool = False) -> RewritePlan:
        """The same figures in the terms of the conservation gate."""
        from redraft.context.gates import RewritePlan

        cost = self.replacement + (self.plan if include_plan else 0)
        return RewritePlan(self.freed, cost, self.measurement, touched)


@dataclass(frozen=True, slots=True)
class Row:
    """One round, from the request to its results.

    Attributes:
        round: the round's number.
        before, after: raw tokens of the live context at its two ends.
        intake: new task content: the model's words and the tools' output.
        freed: what left.
        rewrite_cost: replacement text, rationale and command of edits.
        measurement_cost: receipts, readouts and notices.
    """

    round: int
    before: int
    intake: int = 0
    freed: int = 0
    rewrite_cost: int = 0
    measurement_cost: int = 0
    after: int | None = None

    @property
    def expected(self) -> int:
        """Where the causes lead."""
        return self.before + self.intake - self.freed + self.rewrite_cost + self.measurement_cost

    def add(
        self, *, intake: int = 0, freed: int = 0, rewrite: int = 0, measurement: int = 0
    ) -> Row:
        """The row with more tokens attributed."""
        return replace(
            self,
            intake=self.intake + intake,
            freed=self.freed + freed,
            rewrite_cost=self.rewrite_cost + rewrite,
            measurement_cost=self.measurement_cost + measurement,
        )

    def close(self, after: int) -> Row:
        """The row at its end; raises `LedgerError` where the causes do not add up to `after`."""
        if self.expected != after:
            raise LedgerError(
                f"round {self.round}: causes add up to {self.expected} tokens, the context holds "
                f"{after}; this is a fault in redraft, please report it with the row: {self}"
            )
        return replace(self, after=after)


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens spent outside the window, e.g. by a summarizer's call.

    Attributes:
        purpose: what for.
        prompt, output: tokens in and out.
    """

    purpose: str
    prompt: int
    output: int


@dataclass(slots=True)
class Ledger:
    """The rows of a session, and what was spent outside its window."""

    rows: list[Row] = field(default_factory=list)
    spend: list[Spend] = field(default_factory=list)

    def total(self) -> Row:
        """All rows as one.

        Raises:
            LedgerError: a row does not begin where the one before it ended.
        """
        if not self.rows:
            return Row(0, 0, after=0)
        total = Row(0, self.rows[0].before)
        for row in self.rows:
            if row.before != total.expected:
                raise LedgerError(
                    f"round {row.round} begins with {row.before} tokens, the one before it ended with "
                    f"{total.expected}; this is a fault in redraft, please report it with the rows"
                )
            total = total.add(
                intake=row.intake,
                freed=row.freed,
                rewrite=row.rewrite_cost,
                measurement=row.measurement_cost,
            )
        return replace(total, after=self.rows[-1].after)
