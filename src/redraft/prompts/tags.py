"""The tag that marks redraft's own words in a session, and how nobody else gets to use it."""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random, SystemRandom

__all__ = ["defuse", "new_tag", "one_line", "opening"]

_DIGITS = 4

# White space within a line, and characters that take up no room on the screen.
_GAP = "[^\\S\r\n]"
_UNSEEN = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_STRUCTURE = re.compile(r"\[+(?=CTX_)", re.IGNORECASE)


def new_tag(random: Random | None = None) -> str:
    """A tag for one session: four hexadecimal digits.

    Short, since it stands in every notice. It need not be secret: `defuse` breaks it wherever
    anybody else writes it. Its chance only keeps one session's old notices apart from another's.

    Args:
        random: where chance comes from; by default the operating system.
    """
    return f"{(random or SystemRandom()).getrandbits(4 * _DIGITS):0{_DIGITS}x}"


def opening(tag: str) -> str:
    """What every receipt, readout and notice begins with."""
    return f"[redraft:{tag}]"


def defuse(text: str, tag: str) -> str:
    """Foreign text in which nothing can pass for one of our notices.

    `[redraft:<tag>` becomes `[quoted redraft:<tag>`, in any case, with any white space inside a line
    and any invisible characters between its letters. Applying it twice changes nothing more.

    Args:
        text: a tool's output, a command, or whatever else we did not write.
        tag: the session's tag.

    Returns:
        the text; the very object where there was nothing to do.
    """
    found = _imitation(tag)
    return found.sub(r"[quoted \1", text) if found.search(text) else text


@lru_cache(maxsize=64)
def _imitation(tag: str) -> re.Pattern[str]:
    between = f"(?:{_GAP}|{_UNSEEN})*"
    letters = between.join(re.escape(letter) for letter in f"redraft:{tag}")
    return re.compile(rf"\[{between}({letters})", re.IGNORECASE)


def one_line(text: str, most: int = 400) -> str:
    """Foreign words fit to stand inside one of our lines: no line break, nothing invisible, no marks
    of the context file and no opening of a notice, whatever its tag.

    Args:
        text: the words.
        most: characters to keep at most; a cut shows as an ellipsis.
    """
    start = text[: 4 * most]
    seen = "".join(char if char.isprintable() else " " for char in start)
    line = " ".join(_STRUCTURE.sub("", seen).split())
    line = re.sub(r"\[(?=\s*redraft\s*:)", "(", line, flags=re.IGNORECASE)
    return line if len(line) <= most and len(start) == len(text) else f"{line[: most - 1]}…"
