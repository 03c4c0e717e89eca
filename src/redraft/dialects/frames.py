"""The words that a mend may put into a list, and the frame around tool output that lost its call.

Each says in brackets what it stands for, claims nothing that nobody knows, and is never in a user's
or a system's voice.
"""

from __future__ import annotations

import re

__all__ = [
    "BRIDGE",
    "CONTINUE",
    "FRAME",
    "INTERRUPTED",
    "NO_OUTPUT",
    "NO_WORDS",
    "OPENING",
    "PICTURE",
    "demoted",
    "framed",
]

INTERRUPTED = "[no result: the call was interrupted before it finished]"
"""The result of a call that has none; it claims nothing about side effects."""

OPENING = "[the conversation before this point was left out]"
"""The user's turn that a list must begin with, where it begins with the model's."""

BRIDGE = "[noted]"
"""The model's turn between tool results and a user's, where a template wants one."""

CONTINUE = "[continue]"
"""The user's turn that a list must end with, where it ends with the model's."""

NO_OUTPUT = "(no output)"
"""A result that is empty where it must not be."""

NO_WORDS = "(empty message)"
"""A user's message that is empty where it must not be."""

PICTURE = "[a picture that cannot be sent here]"
"""An image where none may stand."""

FRAME = ("[tool output, kept as text]", "[end of tool output]")
"""The lines around it."""

_MARK = re.compile(r"(?<!\\)(?=\[(?:tool output, kept as text|end of tool output)\])")


def demoted(text: str) -> str:
    """A system message where none may stand: the same words with less authority, never with more."""
    return f"[system message]\n{text}\n[end of system message]"


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
