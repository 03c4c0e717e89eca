"""What a call of a context tool asks for, once its arguments are known to be right.

Intents hold no part of the conversation: what a handle names is looked up when the intent is applied,
against the context as it is by then.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DropIntent",
    "Intent",
    "NoteIntent",
    "PinIntent",
    "ReadIntent",
    "StatusIntent",
    "UnpinIntent",
]


@dataclass(frozen=True, slots=True)
class StatusIntent:
    """List the largest results, the pins and what was spilled; `top` of each at most."""

    top: int = 8


@dataclass(frozen=True, slots=True)
class PinIntent:
    """Keep these results, or the one message that holds the snippet, as they are."""

    handles: tuple[str, ...] = ()
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class UnpinIntent:
    """Take back the model's pins: those named, or every one."""

    handles: tuple[str, ...] = ()
    snippet: str = ""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class DropIntent:
    """Replace each result by its stub; the bodies go to the overflow store."""

    handles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteIntent:
    """Replace results by one note in the first one's place."""

    handles: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class ReadIntent:
    """Read a body of the overflow store.

    Attributes:
        id: the body's id, or its first digits.
        start: the first character to show, or to look at.
        length: how many characters to show at most.
        find: a text to look for instead; "" for none.
    """

    id: str
    start: int = 0
    length: int = 4_000
    find: str = ""


Intent = StatusIntent | PinIntent | UnpinIntent | DropIntent | NoteIntent | ReadIntent
