"""Taking a commit back: the same turns return, by another revision through the same door."""

from __future__ import annotations

from collections.abc import Mapping

from redraft.context.live import Live
from redraft.context.revision import Change, Commit, Gate, Insert, Revision

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


def invert(live: Live, commit: Commit, anchors: Mapping[int, int] | None = None) -> Revision:
    """The revision that takes `commit` back: a `fit` revision by the person.

    Args:
        live: the live context now; `obstacles(live, commit)` must be empty.
        commit: what to take back.
        anchors: where turns that left since then had stood: number -> number before it. It places a
            returning turn whose neighbour is gone too.
    """
    standing = {turn.number for turn in live.turns}
    anchors = anchors or {}
    changes: list[Change] = []
    inserts: list[Insert] = []
    for move in commit.moves:
        if move.new is not None:
            changes.append(Change(move.new.number, move.new.digest, move.old))
        elif move.old is not None:
            inserts.append(Insert(_standing(move.anchor, standing, anchors), move.old))
    return Revision("person", "undo", tuple(changes), tuple(inserts), Gate.FIT)


def _standing(anchor: int, standing: set[int], anchors: Mapping[int, int]) -> int:
    while anchor and anchor not in standing:
        anchor = anchors.get(anchor, 0)
    return anchor
