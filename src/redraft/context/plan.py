"""The reach of an edit: everything from the first changed turn on is read again by the server.

A prefix cache serves a request up to its first changed token, so an edit costs the text behind it
and not its own size (DESIGN.md section 7). On formats that bind reasoning to its prefix, that
reasoning is void as well (section 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.context.turn import Turn

__all__ = ["Reach", "reach"]


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


def reach(before: Sequence[Turn], after: Sequence[Turn], count_text: object = None) -> Reach:
    """Compare two contexts turn by turn.

    Args:
        before, after: the turns of the two, in order.
        count_text: `Meter.text`, used on hidden reasoning; None counts none.
    """
    first = 0
    for old, new in zip(before, after, strict=False):
        if old is not new:
            break
        first += 1
    tail = after[first:]
    hidden = [turn.content.hidden for turn in tail if turn.content.hidden]
    reasoning = sum(count_text(text) for text in hidden) if callable(count_text) else 0
    return Reach(
        first,
        tail[0].number if tail else 0,
        sum(turn.tokens for turn in tail),
        reasoning,
    )
