"""Taking a commit back: the same turns return, by another revision through the same door."""

from __future__ import annotations

from redraft.context.live import Live
from redraft.context.revision import Change, Commit, Gate, Insert, Revision
from redraft.errors import UndoError

__all__ = ["invert", "obstacles"]


def obstacles(live: Live, commit: Commit) -> frozenset[int]:
    """Numbers of turns that stand in the way of taking `commit` back.

    A turn that the commit made or changed must still be the very turn that it made, and one that it
    removed must not be back already. Later revisions that touched these turns must be undone first.
    """
    standing = {turn.number: turn for turn in live.turns}
    blocked: set[int] = set()
    for move in commit.moves:
        turn = move.new or move.old
        if turn is not None and standing.get(turn.number) is not move.new:
            blocked.add(turn.number)
    return frozenset(blocked)


def invert(live: Live, commit: Commit) -> Revision:
    """The revision that takes `commit` back: a `fit` revision by the person.

    A turn that returns goes back to its place, whatever became of its neighbours since.

    Args:
        live: the live context now.
        commit: what to take back.

    Raises:
        UndoError: there are `obstacles`.
    """
    blocked = obstacles(live, commit)
    if blocked:
        numbers = ", ".join(map(str, sorted(blocked)))
        raise UndoError(
            f"turns {numbers} have changed since; undo the later revisions that touched them first"
        )
    changes: list[Change] = []
    inserts: list[Insert] = []
    for move in commit.moves:
        if move.new is not None:
            changes.append(Change(move.new.number, move.new.digest, move.old))
        elif move.old is not None:
            inserts.append(Insert(0, move.old))
    return Revision("person", "undo", tuple(changes), tuple(inserts), Gate.FIT)
