"""A turn: the smallest unit of a conversation that has one role and one source."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from redraft.context.shown import digest
from redraft.dialects.base import Content

__all__ = ["Draft", "Origin", "Turn", "edited_origin"]


class Origin(StrEnum):
    """Where a turn's words come from. It only ever loses authority: an edit never regains it."""

    ORIGINAL = "original"
    """As the user, the model or the tool said it."""
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
    """

    content: Content
    origin: Origin
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A turn of the live context. Immutable, compared by identity.

    Attributes:
        number: never changes for the life of the session, also when the turn is edited.
        content: role, text, calls, parts and the carriers on the wire.
        origin: where its words come from.
        tokens: its cost in raw tokens (o200k, uncalibrated); turns add up.
        digest: names what is shown of it; a revision must quote it to touch the turn.
    """

    number: int
    content: Content
    origin: Origin
    tokens: int
    digest: str = field(default="")

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", digest(self.content))

    @property
    def role(self) -> str:
        """`system`, `user`, `assistant` or `tool`."""
        return self.content.role


_EDITED = {
    ("user", Origin.ORIGINAL): Origin.NOTE,
    ("user", Origin.HARNESS): Origin.NOTE,
    ("user", Origin.SUMMARY): Origin.NOTE,
    ("assistant", Origin.ORIGINAL): Origin.EDITED,
    ("assistant", Origin.SUMMARY): Origin.EDITED,
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
