"""Turns that share a message, put together again: whole ones as they came, the rest folded into one.

A turn whose seat is (0, 0) has no message of its own: a result just made, or one that was edited and
has left the message that it came in. It goes into one message with its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from redraft.dialects.base import Content, Native

__all__ = ["LOOSE", "Folder"]

LOOSE = (0, 0)
"""The seat of a turn that is folded into its neighbours' message."""


class Folder:
    """Lists the messages of turns.

    A message that is folded is made once and kept for as long as its turns stand together, so that
    the next request holds the very same object.

    Args:
        fold: makes one message of turns that stand next to each other.
    """

    def __init__(self, fold: Callable[[Sequence[Content]], Native]) -> None:
        self._fold = fold
        self._made: dict[tuple[int, ...], tuple[Sequence[Content], Native]] = {}

    def messages(self, contents: Sequence[Content]) -> list[Native]:
        """The messages of `contents`, in order.

        A message whose turns all stand together is the very object they came in. Of the others,
        results that follow each other, and the words that came with them, make one message: results
        first, since the formats that share messages demand it.
        """
        natives: list[Native] = []
        made: dict[tuple[int, ...], tuple[Sequence[Content], Native]] = {}
        for run in _runs(contents):
            if _is_whole(run) or (len(run) == 1 and run[0].seat == LOOSE):
                natives.extend(run[0].carriers)
                continue
            # The turns are kept beside what was made of them: their identities are the key.
            key = tuple(map(id, run))
            made[key] = self._made.get(key) or (run, self._fold(run))
            natives.append(made[key][1])
        self._made = made
        return natives


def _runs(contents: Sequence[Content]) -> Iterator[Sequence[Content]]:
    """Stretches that are one message each: whole ones, and the longest of what lies between."""
    at = 0
    while at < len(contents):
        end = _end_of_whole(contents, at)
        if end == at:
            end = at + 1
            while (
                end < len(contents)
                and _follows(contents[end - 1], contents[end])
                and _end_of_whole(contents, end) == end
            ):
                end += 1
        yield contents[at:end]
        at = end


def _end_of_whole(contents: Sequence[Content], at: int) -> int:
    """Where the message that begins at `at` ends; `at` itself where it is not all there."""
    run = contents[at : at + contents[at].seat[1]]
    return at + len(run) if run and _is_whole(run) else at


def _is_whole(run: Sequence[Content]) -> bool:
    count = run[0].seat[1]
    return count == len(run) and all(
        content.seat == (place, count) and content.carriers[0] is run[0].carriers[0]
        for place, content in enumerate(run)
    )


def _follows(one: Content, other: Content) -> bool:
    """Whether `other` may stand behind `one` in one message: words end it."""
    return one.role == "tool" and other.role in ("tool", "user")
