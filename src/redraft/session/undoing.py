"""Taking a revision back, and saying what stands in the way where that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redraft.context import (
    RECEIPT_CAP,
    Commit,
    Deltas,
    Move,
    Receipt,
    Status,
    Turn,
    invert,
    obstacles,
)
from redraft.errors import UndoError
from redraft.session.core import Core

__all__ = ["undo", "undo_since"]

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


def undo_since(core: Core, number: int) -> Receipt:
    """Take back all revisions after `number` at once, by one revision through the same door.

    Raises:
        UndoError: there is no such revision, or none after it, or the door refuses the result.
    """
    later = [other for other in core.commits if other > number]
    if not later or (number and number not in core.commits):
        what = f"no revision {number} to go back to" if later else f"no revision after {number}"
        raise UndoError(f"there is {what}; {_known(core)}.")
    moves = _net([core.commits[other] for other in later])
    both = replace(core.commits[later[-1]], moves=moves, deltas=_deltas(core, moves))
    receipt = core.propose(invert(core.live, both)).receipt
    if receipt.status is Status.REJECTED:
        why = _why(core, both, receipt)
        raise UndoError(f"the revisions after {number} cannot be undone now: {why}.")
    return receipt


def _net(commits: Sequence[Commit]) -> tuple[Move, ...]:
    """What several commits did together: each turn as it was before the first, and after the last."""
    first: dict[int, Turn | None] = {}
    last: dict[int, Turn | None] = {}
    for commit in commits:
        for move in commit.moves:
            turn = move.old or move.new
            assert turn is not None
            first.setdefault(turn.number, move.old)
            last[turn.number] = move.new
    return tuple(
        Move(old, last[number]) for number, old in first.items() if old is not last[number]
    )


def _deltas(core: Core, moves: Sequence[Move]) -> Deltas:
    freed = sum(move.old.tokens for move in moves if move.old)
    return Deltas(core.live.tokens, freed, sum(move.new.tokens for move in moves if move.new))


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
