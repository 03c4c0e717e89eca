"""`read_overflow` in a session: a part of a body that left the context, or why it cannot be had."""

from __future__ import annotations

from redraft.errors import OverflowDamagedError, OverflowMissingError, OverflowStoreError
from redraft.store import Overflow
from redraft.tools import ReadIntent, cut, find_in, found_text, slice_text

__all__ = ["body_text", "cause_of", "why_unreadable"]


def body_text(overflow: Overflow, intent: ReadIntent) -> tuple[str, str]:
    """What a call of `read_overflow` asks for.

    Args:
        overflow: the session's overflow store.
        intent: the call.

    Returns:
        (id, text): the body's whole id, and the part. The text is a tool's words.

    Raises:
        OverflowStoreError: it cannot be read.
    """
    name = overflow.named(intent.id)
    body = overflow.read(name)
    if intent.find:
        return name, found_text(find_in(name, body, intent.find, start=intent.start))
    return name, slice_text(cut(name, body, intent.start, intent.length))


def why_unreadable(error: OverflowStoreError) -> str:
    """Why a body cannot be read, and what to do, without a path of the machine's."""
    if isinstance(error, (OverflowMissingError, OverflowDamagedError)):
        return str(error)
    return (
        f"the overflow store cannot be read now ({cause_of(error)}). Try once more later, or get the "
        "contents again from where they came."
    )


def cause_of(error: OverflowStoreError) -> str:
    """What was wrong, without a path of the machine's."""
    cause = error.__cause__
    if isinstance(cause, OSError):
        return cause.strerror or "an error of the system"
    return str(cause) if cause is not None else error.strerror or "it is damaged"
