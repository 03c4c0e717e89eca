"""What stands in a call in place of an edit's command, once the edit was applied."""

from __future__ import annotations

from redraft.prompts.tags import opening

__all__ = ["elided_notice"]


def elided_notice(number: int, tag: str) -> str:
    """The command of an edit in one line. It says what was, so that it stays true whatever becomes of
    the edit later.

    Args:
        number: the edit's number, as its receipt gave it.
        tag: the session's tag.
    """
    return f"{opening(tag)} edit {number} was applied; what it wrote went into the context"
