"""Groups: an assistant turn with tool calls and all its results, which stay or go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redraft.context.turn import Origin, Turn
from redraft.dialects.base import Call

__all__ = ["Group", "group_at", "groups", "is_final", "is_unanswered", "open_start", "unanswered"]


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
    def pairs(self) -> Mapping[int, int]:
        """Which call each result answers: the result's number -> the call's index.

        Providers repeat ids within one turn too, so the n-th result with an id answers the n-th call
        with it; results beyond that (first pending, then final) answer the last one.
        """
        indexes = _indexes(self.head.content.calls)
        seen: dict[str, int] = {}
        pairs: dict[int, int] = {}
        for turn in self.turns[1:]:
            name = turn.content.answers or ""
            at = seen.get(name, 0)
            seen[name] = at + 1
            pairs[turn.number] = indexes[name][min(at, len(indexes[name]) - 1)]
        return pairs

    @property
    def open_calls(self) -> tuple[int, ...]:
        """Indexes of the head's calls that have no result."""
        calls = self.head.content.calls
        if not calls:
            return ()
        answered = set(self.pairs.values())
        return tuple(call.index for call in calls if call.index not in answered)


def _indexes(calls: Sequence[Call]) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = {}
    for call in calls:
        indexes.setdefault(call.id, []).append(call.index)
    return indexes


def groups(turns: Sequence[Turn], start: int = 0, end: int | None = None) -> Iterator[Group]:
    """The groups of `turns` in order; a turn without calls is its own.

    Args:
        turns: the live context's turns.
        start: the position of the first group.
        end: no group begins at or behind it; the end of `turns` where it is None.
    """
    at, stop = start, len(turns) if end is None else end
    while at < stop:
        following = _end(turns, at)
        yield Group(at, following, tuple(turns[at:following]))
        at = following


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
    """Where a group at the end begins whose calls lack results. Whether they still wait is more than
    the turns can say; see `Live.open_at`.

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


def is_unanswered(turn: Turn, answered: int) -> bool:
    """Whether `turn` is the user's own words, and newer than the last answer.

    Args:
        turn: any turn; notes, summaries and notices with the user role are not the user's words.
        answered: the number of the newest turn that ended an exchange, 0 for none. A number, not a
            search, so that an edit of an old answer does not reopen its question.
    """
    return turn.number > answered and turn.role == "user" and turn.origin is Origin.ORIGINAL


def unanswered(turns: Sequence[Turn], answered: int) -> frozenset[int]:
    """Numbers of the user turns that no final assistant turn has answered; see `is_unanswered`."""
    return frozenset(turn.number for turn in turns if is_unanswered(turn, answered))
