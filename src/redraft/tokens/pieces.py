"""Text as it is sent and in pieces short enough to count: every counter sees the same pieces.

tiktoken's splitter panics on a million white-space characters in a row, and up to version 0.12 its
merging is quadratic in the length of an unbroken run (measured in docs/design/tokens.md). Pieces
bound both. A cut changes no token where one of `cuts_clean`'s rules holds; text always offers such
a place, one character repeated does not, and there the count may be off by about one token a cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["PIECE_CHARS", "as_sent", "cuts_clean", "pieces"]

PIECE_CHARS = 1_920
"""The longest piece, in characters: a multiple of 3 (digits go by threes) and of 128 (the longest
token of spaces). Longer pieces count real text hardly faster, and with pieces of
16,000 tiktoken 0.8 takes 13 s for a million equal letters (see docs/design/tokens.md)."""

_REACH = 256  # how far back from the longest piece to look for a clean cut
_SURROGATE = re.compile("[\ud800-\udfff]")
# ASCII and CJK punctuation that no letter or digit joins. Not the apostrophe: "don't" is one piece.
_STOPS = frozenset('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~、。「」！，：；？')


def as_sent(text: str) -> str:
    """The text as UTF-8 can carry it: each surrogate code unit as U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def cuts_clean(before: str, after: str) -> bool:
    """Whether text may be cut between two characters without changing any o200k token.

    Args:
        before: the character before the cut.
        after: the character after it.

    Returns:
        True where no piece of the encoding's split pattern can hold both, and the split of either
        side does not depend on the other: before a space that follows a word, after the last line
        break before text, between word and punctuation, between letters and digits.
    """
    if after == " ":
        return not before.isspace()
    if before == "\n":
        return not after.isspace() and after != "/"
    if after in _STOPS:
        return before.isalpha() or before.isdecimal()
    return (before.isalpha() and after.isdecimal()) or (before.isdecimal() and after.isalpha())


def pieces(text: str, longest: int = PIECE_CHARS) -> Iterator[str]:
    """Cut text into pieces of at most `longest` characters, the same way every time.

    Args:
        text: any text.
        longest: the longest piece, in characters; at least 1.

    Yields:
        non-empty pieces that join to `text`.
    """
    start = 0
    while len(text) - start > longest:
        cut = _cut(text, start, start + longest)
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]


def _cut(text: str, start: int, end: int) -> int:
    for at in range(end, max(start, end - _REACH), -1):
        if cuts_clean(text[at - 1], text[at]):
            return at
    return end
