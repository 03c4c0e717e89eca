"""Reasoning that is bound to what stood before it when it was made.

Some servers check that nothing in front of a piece of reasoning has changed since the model made it:
`system`, `tools`, every earlier message. Each turn that came with reasoning has a mark of what it was made
under; where the mark of what stands before it now is another, the reasoning is void. That is the server's
own test, so edits, undos and a changed system prompt all have the right effect without being told apart.
Source: the guides on preserved thinking (Anthropic) and on keeping the prefix unchanged (OpenAI).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from redraft.context.revision import Move
from redraft.context.turn import Origin, Turn
from redraft.dialects.base import Dialect, Frame

if TYPE_CHECKING:
    from redraft.context.live import Live

__all__ = [
    "Effect",
    "Unbound",
    "exchange_at",
    "is_bound",
    "made_under",
    "reasons",
    "unbound",
    "void",
    "waits",
]


class Effect(StrEnum):
    """When a revision takes effect, and what becomes of reasoning in the open exchange."""

    WAIT = "wait"
    """The open exchange stays as it is: a revision that disturbs its reasoning is queued."""
    NOW = "now"
    """It takes effect at once and leaves reasoning of the open exchange where it is, void or not: the
    request must ask the server to drop it."""
    CLEAR = "clear"
    """It takes effect at once, and all void reasoning goes but that of the round in progress."""


def is_bound(live: Live) -> bool:
    """Whether a change in front of this model's reasoning voids it."""
    return live.binding in ("bound", "dropped")


def reasons(dialect: Dialect, turn: Turn) -> bool:
    """Whether a turn holds reasoning that could be taken out of it."""
    content = turn.content
    return content.role == "assistant" and dialect.without_reasoning(content) is not content


class _Trail:
    """The mark of what was walked over so far."""

    def __init__(self, frame: Frame) -> None:
        self._sha = hashlib.blake2b(digest_size=16)
        for text in frame.counted:
            data = text.encode("utf-8", "surrogatepass")
            self._sha.update(len(data).to_bytes(8, "big") + data)

    def over(self, turn: Turn) -> None:
        self._sha.update(turn.wire)

    @property
    def mark(self) -> str:
        return self._sha.hexdigest()


def made_under(live: Live, turns: Sequence[Turn], *, asked: bool = False) -> Mapping[int, str]:
    """The marks of turns that follow a context: what those with reasoning were made under.

    Args:
        live: what was sent when they were made.
        turns: the new turns, in order.
        asked: whether `live` was a request, and the first words of the model's among `turns` its answer.
            What came in between was in no request. What answers requests of somebody else's, further
            on, was made under nobody knows what.

    Returns:
        number -> mark, for the turns that hold reasoning.
    """
    thoughtful = {turn.number for turn in turns if reasons(live.dialect, turn)}
    if not thoughtful:
        return {}
    trail = _Trail(live.frame)
    for turn in live.turns:
        trail.over(turn)
    marks: dict[int, str] = {}
    spoke = over = False
    for turn in turns:
        speaks = turn.role == "assistant"
        over = over or (asked and spoke and not speaks)
        spoke = spoke or speaks
        if turn.number in thoughtful:
            marks[turn.number] = "" if over else trail.mark
        if spoke or not asked:
            trail.over(turn)
    return marks


def exchange_at(live: Live) -> int:
    """Where the open exchange begins: at the first assistant turn behind the last final answer.

    Returns:
        its position; `len(live.turns)` where no tool call is under way.
    """
    turns = live.turns
    answered: tuple[int, ...] = (live.answered, 0)
    start = bisect_right(turns, answered, key=lambda turn: turn.place)
    spoken = [at for at in range(start, len(turns)) if turns[at].role == "assistant"]
    return spoken[0] if any(turns[at].content.calls for at in spoken) else len(turns)


@dataclass(frozen=True, slots=True)
class Unbound:
    """A context without the reasoning that a change voids.

    Attributes:
        live: the context.
        moves: the change, turn by turn, with turns that it brings without their reasoning.
        strips: further turns that lose their reasoning, or go where they held nothing else.
        lost: raw tokens of reasoning that is void, whether it is gone or still in the open exchange.
        left: numbers of turns whose reasoning is void and stays, since their exchange is open.
    """

    live: Live
    moves: tuple[Move, ...]
    strips: tuple[Move, ...] = ()
    lost: int = 0
    left: frozenset[int] = frozenset()

    @property
    def stripped(self) -> int:
        """Raw tokens that go with `strips`."""
        return sum(_size(move.old) - _size(move.new) for move in self.strips)


def void(live: Live) -> frozenset[int]:
    """Numbers of the turns whose reasoning is void: made under something else than stands before it."""
    if not is_bound(live):
        return frozenset()
    return _walk(live, len(live.turns), strip=False).left


def unbound(live: Live, moves: Iterable[Move], effect: Effect) -> Unbound:
    """Take void reasoning out of a context, as whole blocks.

    Args:
        live: the context after a change.
        moves: the change.
        effect: what becomes of the open exchange. Where the server drops reasoning without a word
            nothing has to wait, and only the round in progress is left alone.
    """
    moves = tuple(moves)
    if not is_bound(live):
        return Unbound(live, moves)
    clear = effect is Effect.CLEAR or live.binding == "dropped"
    found = _walk(live, live.open_at if clear else exchange_at(live), strip=True)
    if not found.bare:
        return Unbound(live, moves, lost=found.lost, left=found.left)
    return _without(live, moves, found)


@dataclass(slots=True)
class _Walk:
    """Which turns lose their reasoning (None: and with it all they hold), which keep void reasoning."""

    bare: dict[int, Turn | None]
    left: frozenset[int]
    lost: int


def _walk(live: Live, stop: int, *, strip: bool) -> _Walk:
    """Compare each mark with what stands before the turn, once what is void in front of it is gone."""
    trail = _Trail(live.frame)
    found = _Walk({}, frozenset(), 0)
    left: list[int] = []
    for at, turn in enumerate(live.turns):
        made = live.made.get(turn.number)
        if made is not None and (made != trail.mark or turn.origin is not Origin.ORIGINAL):
            bare = _bare(live, turn)
            if bare is not turn:
                found.lost += turn.reasoning
                if strip and at < stop:
                    found.bare[at] = bare
                    if bare is None:
                        continue
                    turn = bare
                else:
                    left.append(turn.number)
        trail.over(turn)
    found.left = frozenset(left)
    return found


def _bare(live: Live, turn: Turn) -> Turn | None:
    """The turn without its reasoning; None where nothing is left, the turn itself where none goes."""
    content = live.dialect.without_reasoning(turn.content)
    if content is turn.content:
        return turn
    if not (content.text.strip() or content.calls or content.parts):
        return None
    return Turn.of(live.draft(content, turn.origin), turn.number, turn.place)


def _without(live: Live, moves: Sequence[Move], found: _Walk) -> Unbound:
    """The context and its moves without what the walk found."""
    places = {move.new.number: at for at, move in enumerate(moves) if move.new is not None}
    merged = list(moves)
    strips: list[Move] = []
    turns: list[Turn] = []
    anchor = 0
    for at, turn in enumerate(live.turns):
        new = found.bare.get(at, turn)
        if new is not turn:
            place = places.get(turn.number)
            move = Move(turn if place is None else moves[place].old, new, 0 if new else anchor)
            if new is not None and move.old is not None and move.old.wire == new.wire:
                new = move.old  # it was like this before: no change at all
                move = Move(new, new)
            if place is None:
                strips.append(move)
            else:
                merged[place] = move
        if new is not None:
            turns.append(new)
            anchor = new.number
    tokens = live.tokens + sum(map(_size, turns)) - sum(map(_size, live.turns))
    return Unbound(
        replace(live, turns=tuple(turns), tokens=tokens),
        tuple(move for move in merged if move.old is not move.new),
        tuple(strips),
        found.lost,
        found.left,
    )


def _size(turn: Turn | None) -> int:
    return turn.tokens if turn is not None else 0


def waits(sent: Live, after: Live, left: frozenset[int]) -> bool:
    """Whether a change must wait until the open exchange has ended: it would void, alter or remove
    reasoning in it.

    Args:
        sent: what is being sent, without the change.
        after: the context with the change.
        left: numbers of turns of `after` whose reasoning is void; see `Unbound`.
    """
    if sent.binding != "bound":
        return False
    start = exchange_at(sent)
    if start == len(sent.turns):
        return False
    standing = set(map(id, after.turns))
    spent = void(sent)
    return any(
        turn.number in sent.made
        and (turn.number in left or id(turn) not in standing)
        and turn.number not in spent
        and reasons(sent.dialect, turn)
        for turn in sent.turns[start:]
    )
