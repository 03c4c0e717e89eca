"""A turn: the smallest unit of a conversation that has one role and one source."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from redraft.context.shown import digest, wire_digest
from redraft.dialects.base import Content

__all__ = ["Draft", "Origin", "Turn", "edited_origin", "place_before"]


class Origin(StrEnum):
    """Where a turn's words come from. It only ever loses authority: an edit never regains it."""

    ORIGINAL = "original"
    """As the user, the model or the tool said it. No revision makes such a turn; it may restore one."""
    EDITED = "edited"
    """The model rewrote its own words, or a tool's result in place."""
    NOTE = "note"
    """The model wrote it into its context; never the user's words, whatever its role."""
    SUMMARY = "summary"
    """A policy wrote it from other turns."""
    HARNESS = "harness"
    """redraft wrote it: a stub, a notice."""
    TOOL = "tool"
    """A tool's output that lost its call and now stands as framed text."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A turn that is proposed and has no number yet.

    Attributes:
        content: what it will hold.
        origin: where its words come from.
        tokens: its cost in raw tokens (o200k, uncalibrated).
        reasoning: the part of `tokens` that is hidden reasoning.
    """

    content: Content
    origin: Origin
    tokens: int
    reasoning: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A turn of the live context. Immutable, compared by identity.

    Attributes:
        number: never changes for the life of the session, also when the turn is edited.
        content: role, text, calls, parts and the carriers on the wire.
        origin: where its words come from.
        tokens: its cost in raw tokens (o200k, uncalibrated); turns add up.
        digest: names what is shown of it; a revision must quote it to touch the turn.
        reasoning: the part of `tokens` that is hidden reasoning.
        place: where it belongs among all turns of the session, also among those that left. Places
            sort as tuples, never change, and no two are equal; a turn that comes back needs no more
            than this to find its neighbours. By default that of a turn appended under `number`.
    """

    number: int
    content: Content
    origin: Origin
    tokens: int
    digest: str = ""
    reasoning: int = 0
    place: tuple[int, ...] = ()
    _wire: bytes = field(default=b"", init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", digest(self.content))
        if not self.place:
            object.__setattr__(self, "place", (self.number, 0))

    @classmethod
    def of(cls, draft: Draft, number: int, place: tuple[int, ...] = ()) -> Turn:
        """The turn that `draft` becomes under a number."""
        return cls(
            number,
            draft.content,
            draft.origin,
            draft.tokens,
            reasoning=draft.reasoning,
            place=place,
        )

    @property
    def role(self) -> str:
        """`system`, `user`, `assistant` or `tool`."""
        return self.content.role

    @property
    def wire(self) -> bytes:
        """16 bytes that name what is sent of the turn, hidden reasoning included. Made when first asked
        for: most wire formats never need it."""
        if not self._wire:
            object.__setattr__(self, "_wire", wire_digest(self.content))
        return self._wire


def place_before(turn: Turn | None, number: int) -> tuple[int, ...]:
    """The place of a new turn right in front of `turn`.

    It lies behind every place given out so far that is smaller than that of `turn`, those of turns
    that left included. For with P + (0,) for the place of `turn`, those have a smaller prefix or
    begin with P + (-1, m) for an older number m, and numbers only grow.

    Args:
        turn: the turn that follows; None at the end of the context.
        number: the new turn's number, larger than any before.
    """
    return (number, 0) if turn is None else (*turn.place[:-1], -1, number, 0)


_EDITED = {
    ("user", Origin.ORIGINAL): Origin.NOTE,
    ("user", Origin.HARNESS): Origin.NOTE,
    ("user", Origin.SUMMARY): Origin.NOTE,
    ("assistant", Origin.ORIGINAL): Origin.EDITED,
    ("assistant", Origin.SUMMARY): Origin.NOTE,
    ("assistant", Origin.HARNESS): Origin.NOTE,
}


def edited_origin(turn: Turn) -> Origin:
    """The origin of `turn` once its words are changed by the model.

    A user turn becomes a note: it no longer counts as the user's words. Flattened tool output stays
    tool output, and a tool's result stays a result, so no edit launders what a tool said.
    """
    if turn.role == "tool":
        return Origin.EDITED
    return _EDITED.get((turn.role, turn.origin), turn.origin)
