"""Taking a revision back, and saying what stands in the way where that cannot be."""

from __future__ import annotations

from redraft.context import RECEIPT_CAP, Commit, Receipt, Status, invert, obstacles
from redraft.errors import UndoError
from redraft.session.core import Core

__all__ = ["undo"]

_NAMED = 10


def undo(core: Core, number: int) -> Receipt:
    """Take revision `number` back by another revision, a person's, through the same door.

    Raises:
        UndoError: there is no such revision, later ones must be undone first, or the door refuses
            the result, e.g. because it would not fit the limit.
    """
    commit = core.commits.get(number)
    if commit is None:
        raise UndoError(f"there is no revision {number} to undo; {_known(core)}.")
    blocked = obstacles(core.live, commit)
    if blocked:
        later = _later(core, number, blocked)
        raise UndoError(
            f"revision {number} touched turns that later revisions changed; undo those first, the "
            f"newest first: {', '.join(map(str, later))}."
        )
    receipt = core.propose(invert(core.live, commit)).receipt
    if receipt.status is Status.REJECTED:
        raise UndoError(f"revision {number} cannot be undone now: {_why(core, commit, receipt)}.")
    return receipt


def _known(core: Core) -> str:
    numbers = list(core.commits)
    if not numbers:
        return "none has been applied so far"
    newest = ", ".join(map(str, numbers[-_NAMED:]))
    return f"the newest are {newest}" if len(numbers) > _NAMED else f"there are {newest}"


def _later(core: Core, number: int, blocked: frozenset[int]) -> list[int]:
    """Later revisions that touched turns in `blocked`, newest first."""
    return [
        other
        for other, commit in reversed(core.commits.items())
        if other > number and blocked & _touched(commit)
    ]


def _touched(commit: Commit) -> set[int]:
    return {turn.number for move in commit.moves for turn in (move.old, move.new) if turn}


def _why(core: Core, commit: Commit, receipt: Receipt) -> str:
    back = core.shown(commit.deltas.freed - commit.deltas.replacement)
    missing = core.shown(max(receipt.proposed + RECEIPT_CAP - receipt.limit, 0))
    if not receipt.proposed or not missing:
        return receipt.rule
    return (
        f"it brings back {back:,} tokens, and the context holds {core.used:,} of {core.limit:,}; "
        f"free {missing:,} first"
    )
