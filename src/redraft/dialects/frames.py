"""Tool output that lost its call: text with a frame around it that says what it is."""

from __future__ import annotations

import re

__all__ = ["FRAME", "framed"]

FRAME = ("[tool output, kept as text]", "[end of tool output]")
"""The lines around it."""

_MARK = re.compile(r"(?<!\\)(?=\[(?:tool output, kept as text|end of tool output)\])")


def framed(text: str) -> str:
    """How a result without its call stands: as text that nobody takes for a user's words.

    A line of the frame inside of `text` gains a backslash, so that no output ends its own frame. What
    is framed already stays as it is.
    """
    first, last = FRAME
    if text.startswith(f"{first}\n") and text.endswith(f"\n{last}"):
        inner = text[len(first) : len(text) - len(last)]
        if not _MARK.search(inner):
            return text
    return "\n".join((first, _MARK.sub(r"\\", text), last))
