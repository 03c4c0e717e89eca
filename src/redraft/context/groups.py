"""Groups: an assistant turn with tool calls and all its results, which stay or go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redraft.context.turn import Origin, Turn

__all__ = ["Group", "group_at", "groups", "is_final", "open_start", "unanswered"]


@dataclass(frozen=True, slots=True)
class Group:
    """A run of turns that is atomic.

    Attributes:
        start, end: positions in the live context, half open.
        turns: the turns themselves.
    """

    start: int
    end: int
    turns: tuple[Turn, ...]

    @property
    def head(self) -> Turn:
        """The first turn: the assistant's, where there are calls."""
        return self.turns[0]

    @property
    def open_calls(self) -> tuple[int, ...]:
        """Indexes of the head's calls that have no result."""
        answered = {turn.content.answers for turn in self.turns[1:]}
        return tuple(call.index for call in self.head.content.calls if call.id not in answered)


def groups(turns: Sequence[Turn], start: int = 0) -> Iterator[Group]:
    """The groups of `turns` from position `start` on, in order; a turn without calls is its own."""
    at = start
    while at < len(turns):
        end = _end(turns, at)
        yield Group(at, end, tuple(turns[at:end]))
        at = end


def group_at(turns: Sequence[Turn], position: int) -> Group:
    """The group that the turn at `position` belongs to."""
    start = position
    while start > 0 and turns[start].role == "tool":
        start -= 1
    end = _end(turns, start)
    if end <= position:  # a result that answers nothing near it
        return Group(position, position + 1, (turns[position],))
    return Group(start, end, tuple(turns[start:end]))


def _end(turns: Sequence[Turn], start: int) -> int:
    """Where the group that begins at `start` ends: results must answer one of its calls."""
    end = start + 1
    if not turns[start].content.calls:
        return end
    ids = {call.id for call in turns[start].content.calls}
    while end < len(turns) and turns[end].role == "tool" and turns[end].content.answers in ids:
        end += 1
    return end


def open_start(turns: Sequence[Turn]) -> int:
    """Where the open group at the end begins: calls that still wait for results.

    Returns:
        the position of its assistant turn, or `len(turns)` where nothing is open.
    """
    at = len(turns) - 1
    while at >= 0 and turns[at].role == "tool":
        at -= 1
    if at < 0 or not turns[at].content.calls:
        return len(turns)
    group = group_at(turns, at)
    return at if group.open_calls and group.end == len(turns) else len(turns)


def is_final(turn: Turn) -> bool:
    """Whether `turn` ends an exchange: the model's own assistant turn without tool calls."""
    return turn.role == "assistant" and not turn.content.calls and turn.origin is Origin.ORIGINAL


def unanswered(turns: Sequence[Turn], answered: int) -> frozenset[int]:
    """Numbers of the user turns that no final assistant turn has answered.

    Only the user's own words count: notes, summaries and notices with the user role do not.

    Args:
        turns: the live context's turns.
        answered: the number of the newest turn that ended an exchange, 0 for none. A number, not a
            search, so that an edit of an old answer does not reopen its question.
    """
    return frozenset(
        turn.number
        for turn in turns
        if turn.number > answered and turn.role == "user" and turn.origin is Origin.ORIGINAL
    )
