"""What is proposed to the door, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from redraft.context.turn import Draft, Turn

if TYPE_CHECKING:
    from redraft.context.ledger import Deltas
    from redraft.context.live import Live
    from redraft.context.plan import Reach
    from redraft.errors import RewriteBudgetViolation

__all__ = [
    "RECEIPT_CAP",
    "Author",
    "Change",
    "Commit",
    "Gate",
    "Insert",
    "Move",
    "Receipt",
    "Refusal",
    "Revision",
    "Status",
]

RECEIPT_CAP = 64
"""Tokens that a receipt may take at most; the gate prices every receipt at this (DESIGN.md 2, 4)."""

Author = Literal["model", "policy", "harness", "person"]


class Gate(StrEnum):
    """The rule on size that a revision must pass, weakest first."""

    FIT = "fit"
    """May grow if the result fits the limit; the receipt warns."""
    SHRINK = "shrink"
    """May not grow."""
    CONSERVE = "conserve"
    """Must free more than it costs, rationale and receipt included, proven before it commits."""


class Status(StrEnum):
    """What became of a revision, or of a command that aimed at the context file."""

    APPLIED = "applied"
    GREW = "grew"
    OVER = "over"
    QUEUED = "queued"
    REJECTED = "rejected"
    FAILED = "failed"
    IGNORED = "ignored"
    NO_MATCH = "no-match"


@dataclass(frozen=True, slots=True)
class Change:
    """One turn becomes another, or goes.

    Attributes:
        number: the turn.
        digest: the digest of the turn that the author saw; the door compares before it swaps.
        new: what it becomes. A `Turn` restores that very turn (undo); None removes it.
    """

    number: int
    digest: str
    new: Draft | Turn | None


@dataclass(frozen=True, slots=True)
class Insert:
    """A turn is added.

    Attributes:
        after: the number of the turn that it follows; 0 for the start of the editable region. Of no
            meaning for a `Turn`, which goes back to its place.
        new: the turn. A `Turn` comes back with its number (undo).
        plan: whether it is a policy's own rationale, which no policy may ever rewrite.
    """

    after: int
    new: Draft | Turn
    plan: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One proposed change of the live context, whoever proposes it.

    Attributes:
        author: who proposes.
        source: by what means: `file`, `edit_context`, `rollback`, `undo`, a policy's name.
        changes: turns that are replaced or removed.
        inserts: turns that are added, in order.
        gate: the rule on size.
        plan_tokens: raw tokens of rationale and command that this revision cost already.
        marginal: judge `conserve` on the replacement alone and only record the plan (a model's edit
            near the limit, where the plan is spent whatever the door answers).
        notes: what the proposer has to say on the receipt, e.g. arguments that were not JSON.
    """

    author: Author
    source: str
    changes: tuple[Change, ...] = ()
    inserts: tuple[Insert, ...] = ()
    gate: Gate = Gate.FIT
    plan_tokens: int = 0
    marginal: bool = False
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is proposed at all."""
        return bool(self.changes or self.inserts)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a proposal, in numbers; `redraft.prompts` puts it into one line.

    Attributes:
        status: the outcome.
        before, after: raw tokens of the live context around it (equal where nothing changed).
        rule: which rule refused, or what the proposer should know.
        limit: the raw limit that it was held against.
        notes: further short remarks, e.g. that protected turns were kept.
        proposed: raw tokens of the context that a gate or a check refused; 0 where none did.
    """

    status: Status
    before: int
    after: int
    rule: str = ""
    limit: int = 0
    notes: tuple[str, ...] = ()
    proposed: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """One turn's step in a commit, enough to take it back.

    Attributes:
        old: the turn before, None where it is new.
        new: the turn after, None where it left.
        anchor: for a turn that left, the number of the nearest earlier turn that stayed; 0 for none.
    """

    old: Turn | None
    new: Turn | None
    anchor: int = 0


@dataclass(frozen=True, slots=True)
class Commit:
    """A revision that passed: journal it, then swap the live context, then show the receipt.

    Attributes:
        live: the new live context.
        receipt: what to tell the author.
        revision: the revision as it was settled (groups whole, protected turns kept).
        moves: what changed, turn by turn.
        deltas: what it freed and cost.
        reach: what it disturbs on the wire.
    """

    live: Live
    receipt: Receipt
    revision: Revision
    moves: tuple[Move, ...]
    deltas: Deltas
    reach: Reach

    @property
    def originals(self) -> Sequence[Turn]:
        """The turns that left or were replaced: durable before the swap."""
        return [move.old for move in self.moves if move.old is not None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A revision that did not pass; the live context is untouched.

    Attributes:
        receipt: what to tell the author.
        revision: what was proposed.
        violation: set where the conservation gate refused; escalate it.
    """

    receipt: Receipt
    revision: Revision
    violation: RewriteBudgetViolation | None = field(default=None)
