"""The live context: what the next request will contain. Immutable; every change makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redraft.context.groups import is_final, is_unanswered, open_start
from redraft.context.turn import Draft, Origin, Turn
from redraft.dialects.base import Content, Dialect, Frame
from redraft.tokens import Meter

__all__ = ["Live"]


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """The turns in order, the frame around them, and what all of it costs.

    Attributes:
        dialect: how turns go on the wire.
        meter: how they are counted.
        frame: everything of a request that is not turns.
        turns: all turns, the pinned prefix first, in the order of their places.
        head: how many leading turns are the pinned prefix.
        tokens: raw tokens of the whole: the frame's and every turn's.
        next_number: the number that the next new turn gets.
        answered: the number of the newest turn that ended an exchange; 0 for none.
        pins: numbers of turns that a person or the model pinned; never changed by a revision.
        plans: numbers of turns that hold a policy's rationale; no policy may rewrite them.
        newest: the number of the newest turn that was appended and is no tool result. Only its calls
            can still get results: one that was interrupted does not open again when an edit removes
            what came after it.
        frame_tokens: raw tokens of the frame alone.
    """

    dialect: Dialect
    meter: Meter
    frame: Frame
    turns: tuple[Turn, ...]
    head: int
    tokens: int
    next_number: int
    answered: int = 0
    pins: frozenset[int] = frozenset()
    plans: frozenset[int] = frozenset()
    frame_tokens: int = 0
    newest: int = 0

    @classmethod
    def start(
        cls,
        dialect: Dialect,
        meter: Meter,
        frame: Frame,
        contents: Iterable[Content],
        *,
        head: int | None = None,
    ) -> Live:
        """A live context at its beginning.

        Args:
            dialect: the wire format of `contents`.
            meter: counts turns and the frame.
            frame: tools and parameters.
            contents: the request's turns, as `Dialect.split` gives them.
            head: how many leading turns are the pinned prefix. By default the system turns at the
                start and the first user turn, the task (DESIGN.md section 2).
        """
        contents = tuple(contents)
        head = _prefix(contents) if head is None else max(0, min(head, len(contents)))
        cost = meter.frame(frame)
        empty = cls(dialect, meter, frame, (), 0, cost, 1, frame_tokens=cost)
        return replace(empty.append(contents), head=head)

    def draft(self, content: Content, origin: Origin) -> Draft:
        """Price `content` as a turn of this context."""
        reasoning = self.meter.text(content.hidden) if content.hidden else 0
        return Draft(content, origin, self.meter.content(content), reasoning)

    def append(self, contents: Iterable[Content], origin: Origin = Origin.ORIGINAL) -> Live:
        """The same context with new turns at its end: the only change besides the door's."""
        drafts = [self.draft(content, origin) for content in contents]
        turns = tuple(Turn.of(draft, self.next_number + at) for at, draft in enumerate(drafts))
        finals = [turn.number for turn in turns if is_final(turn)]
        asking = [turn.number for turn in turns if turn.role != "tool"]
        return replace(
            self,
            turns=self.turns + turns,
            tokens=self.tokens + sum(turn.tokens for turn in turns),
            next_number=self.next_number + len(turns),
            answered=finals[-1] if finals else self.answered,
            newest=asking[-1] if asking else self.newest,
        )

    def pin(self, numbers: Iterable[int]) -> Live:
        """The same context with more turns pinned. Pins are not gated: nothing changes in size."""
        return replace(self, pins=self.pins | frozenset(numbers))

    def unpin(self, numbers: Iterable[int]) -> Live:
        """The same context with fewer turns pinned."""
        return replace(self, pins=self.pins - frozenset(numbers))

    def body(self) -> dict[str, Any]:
        """The request: untouched carriers are the very objects that came in."""
        return self.dialect.join(self.frame, [turn.content for turn in self.turns])

    def positions(self) -> Mapping[int, int]:
        """Where each turn stands, by number."""
        return {turn.number: at for at, turn in enumerate(self.turns)}

    @property
    def open_at(self) -> int:
        """Where the open group begins; `len(turns)` where no call waits for its result."""
        at = open_start(self.turns)
        waits = at < len(self.turns) and self.turns[at].number == self.newest
        return at if waits else len(self.turns)

    def holds(self, position: int) -> bool:
        """Whether no revision may change the turn at `position`.

        Held are the pinned prefix, system turns wherever they stand, pins, and the user's turns that
        have no answer yet.
        """
        turn = self.turns[position]
        return (
            position < self.head
            or turn.role == "system"
            or turn.number in self.pins
            or is_unanswered(turn, self.answered)
        )

    def protected(self) -> frozenset[int]:
        """Numbers of the turns that no revision may change; see `holds`."""
        held = (turn.number for at, turn in enumerate(self.turns) if self.holds(at))
        return self.pins.union(held)

    def editable(self) -> Sequence[Turn]:
        """The turns that the context file shows: all but pinned prefix, system turns and the open
        group (a plan may not touch itself)."""
        turns = self.turns[self.head : max(self.head, self.open_at)]
        return [turn for turn in turns if turn.role != "system"]

    def candidates(self) -> Sequence[Turn]:
        """The turns that a policy may rewrite: editable, not held, and no plan of its own making."""
        stop = max(self.head, self.open_at)
        return [
            self.turns[at]
            for at in range(self.head, stop)
            if not self.holds(at) and self.turns[at].number not in self.plans
        ]

    def recount(self) -> int:
        """Every token counted anew: a checkpoint, which must equal `tokens`."""
        return self.meter.frame(self.frame) + sum(
            self.meter.content(turn.content) for turn in self.turns
        )


def _prefix(contents: Sequence[Content]) -> int:
    at = 0
    while at < len(contents) and contents[at].role == "system":
        at += 1
    return at + 1 if at < len(contents) and contents[at].role == "user" else at
