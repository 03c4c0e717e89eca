"""The ledger while it is written: one open row a round, rows of their own between rounds."""

from __future__ import annotations

from redraft.context import Ledger, Row
from redraft.store import Account, Journal

__all__ = ["Books"]


class Books:
    """Attributes every change of the live context to a cause, and closes rows that must balance.

    Args:
        journal: where closed rows are recorded.

    Attributes:
        ledger: the closed rows.
    """

    def __init__(self, journal: Journal) -> None:
        self.ledger = Ledger()
        self._journal = journal
        self._row: Row | None = None

    def open(self, round_number: int, tokens: int) -> None:
        """Begin a round's row; raises `LedgerError` where the one before was left open and does not
        balance."""
        self.close(tokens)
        self._row = Row(round_number, tokens)

    def take_up(self, row: Row) -> None:
        """Go on with a row that another process left open."""
        self._row = row

    def enter(
        self,
        round_number: int,
        before: int,
        after: int,
        *,
        intake: int = 0,
        freed: int = 0,
        rewrite: int = 0,
        measurement: int = 0,
    ) -> None:
        """Attribute a change to the open row, or to a row of its own between rounds.

        Args:
            round_number: the round's number.
            before, after: raw tokens of the live context around the change.
            intake, freed, rewrite, measurement: the causes, as in `redraft.context.Row`.
        """
        row = self._row or Row(round_number, before)
        row = row.add(intake=intake, freed=freed, rewrite=rewrite, measurement=measurement)
        if self._row is None:
            self._close(row, after)
        else:
            self._row = row

    def charge_plan(self, tokens: int) -> None:
        """Move raw tokens that were counted as intake to the cost of an edit."""
        if self._row is not None and tokens:
            self._row = self._row.add(intake=-tokens, rewrite=tokens)

    def close(self, tokens: int) -> None:
        """End the open row, if there is one; raises `LedgerError` where its causes do not add up."""
        row, self._row = self._row, None
        if row is not None:
            self._close(row, tokens)

    def _close(self, row: Row, after: int) -> None:
        row = row.close(after)
        self.ledger.rows.append(row)
        self._journal.record(Account(row))
