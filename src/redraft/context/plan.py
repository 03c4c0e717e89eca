"""The reach of an edit: everything from the first changed turn on is read again by the server.

A prefix cache serves a request up to its first changed token, so an edit costs the text behind it
and not its own size (DESIGN.md section 7). On formats that bind reasoning to its prefix, that
reasoning is void as well (section 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.context.turn import Turn

__all__ = ["Reach", "Stretch", "difference", "reach"]


@dataclass(frozen=True, slots=True)
class Reach:
    """What an edit disturbs.

    Attributes:
        first: the position of the first turn that differs; the length where none does.
        number: that turn's number in the new context, 0 where the change is at the very end.
        reread: raw tokens of the new context from there on: what is not served from a cache.
        reasoning: raw tokens of hidden reasoning in that region, void on binding formats.
    """

    first: int
    number: int
    reread: int
    reasoning: int


def reach(before: Sequence[Turn], after: Sequence[Turn]) -> Reach:
    """Compare two contexts turn by turn.

    Args:
        before, after: the turns of the two, in order.
    """
    first = _common(before, after)
    tail = after[first:]
    return Reach(
        first,
        tail[0].number if tail else 0,
        sum(turn.tokens for turn in tail),
        sum(turn.reasoning for turn in tail),
    )


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where two contexts differ: `[start, before)` of the one became `[start, after)` of the other."""

    start: int
    before: int
    after: int


def difference(before: Sequence[Turn], after: Sequence[Turn]) -> Stretch:
    """The smallest stretch outside of which two contexts hold the same turns."""
    start = _common(before, after)
    old, new = len(before), len(after)
    while old > start and new > start and before[old - 1] is after[new - 1]:
        old -= 1
        new -= 1
    return Stretch(start, old, new)


def _common(before: Sequence[Turn], after: Sequence[Turn]) -> int:
    at = 0
    for old, new in zip(before, after, strict=False):
        if old is not new:
            break
        at += 1
    return at
