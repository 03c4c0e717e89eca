"""A live context again from the record of what changed it: turns that joined, and moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redraft.context.live import Live
from redraft.context.revision import Move
from redraft.context.turn import Turn

__all__ = ["with_appended", "with_moves"]


def with_appended(
    live: Live,
    turns: Sequence[Turn],
    made: Mapping[int, str] | None = None,
    *,
    paused: bool = False,
) -> Live:
    """The live context after turns that were appended once already, the very same turns.

    Args:
        live: the live context before them.
        turns: in order, with the numbers that they were given then.
        made: the marks of those that came with reasoning (`Live.made`).
        paused: whether they are a reply that the server goes on with.
    """
    return live.joined(turns, made or {}, paused=paused)


def with_moves(
    live: Live, moves: Sequence[Move], plans: frozenset[int], *, queued: bool = False
) -> Live:
    """The live context after a commit, from its moves: their turns' places say where they belong.

    Args:
        live: the live context before it.
        moves: what the commit changed.
        plans: the turns that are a policy's plans after it.
        queued: whether what was sent before goes on being sent.
    """
    gone = {move.old.number for move in moves if move.old is not None}
    new = [move.new for move in moves if move.new is not None]
    kept = [turn for turn in live.turns if turn.number not in gone]
    freed = sum(move.old.tokens for move in moves if move.old is not None)
    return replace(
        live,
        turns=tuple(sorted([*kept, *new], key=lambda turn: turn.place)),
        tokens=live.tokens - freed + sum(turn.tokens for turn in new),
        next_number=max([live.next_number, *(turn.number + 1 for turn in new)]),
        plans=plans,
        older=live.outgoing if queued else None,
    )
