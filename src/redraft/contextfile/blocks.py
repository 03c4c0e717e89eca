r"""The lines that give the context file its structure, and how text is kept from looking like them.

A line is structure if it begins, after blanks, with `[[CTX_` and is one of four known shapes. Any
line of text that begins like that, however many backslashes stand before it, gains one backslash
when it is rendered and loses one when it is parsed, so no text can pass for structure and each
comes back as it was. Lines end at LF, CRLF or CR and nowhere else.

Every function here takes time linear in its text, whatever the text: it may come from a hostile tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = [
    "BEYOND",
    "CallLine",
    "EndLine",
    "Item",
    "PartLine",
    "TurnLine",
    "candidates",
    "escape",
    "line_end",
    "structure",
    "trimmed",
    "unescape",
]

BEYOND = 10**18
"""Stands for every number of more than 18 digits: larger than any turn or part will ever have."""

_MARK = "[[CTX_"
_BLANKS = " \t"
_END_OF_LINE = re.compile(r"\r\n|\n|\r")
_NUMERAL = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class TurnLine:
    """`[[CTX_TURN 7 role=tool]]`: a block begins. `role` is in lower case, "" where none is given."""

    number: int
    role: str


@dataclass(frozen=True, slots=True)
class CallLine:
    """`[[CTX_CALL call_1 bash]]`: the lines that follow are a call's arguments."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class PartLine:
    """`[[CTX_PART 1 image png 1024x768]]`: the turn's first part stands here."""

    number: int


@dataclass(frozen=True, slots=True)
class EndLine:
    """`[[CTX_END]]`: the block before it is closed; what follows is outside of any block."""


Item = TurnLine | CallLine | PartLine | EndLine


def candidates(text: str) -> Iterator[tuple[int, int, int]]:
    r"""The lines of `text` that match `[ \t]*\\*\[\[CTX_`.

    Yields:
        (start, slash, mark): where the line starts, where its backslashes start, and where its
        `[[CTX_` starts; the last two are equal where there is no backslash.
    """
    done = 0
    mark = text.find(_MARK)
    while mark >= 0:
        # A second mark on one line is never at its start, so looking back stops at the last one:
        # a line of a million marks costs no more than any other.
        newline = max(text.rfind("\n", done, mark), text.rfind("\r", done, mark))
        if newline >= 0 or done == 0:
            start = newline + 1
            lead = text[start:mark]
            slash = mark - len(lead.lstrip(_BLANKS))
            if not text[slash:mark].strip("\\"):
                yield start, slash, mark
        done = mark + len(_MARK)
        mark = text.find(_MARK, done)


def escape(text: str) -> str:
    """`text` with one more backslash on each line that could pass for structure."""
    return "\\".join(_split(text, [(slash, slash) for _, slash, _ in candidates(text)]))


def unescape(text: str) -> str:
    """The inverse of `escape`; a line that has no backslash to lose stays as it is."""
    if "\\" + _MARK not in text:
        return text
    cuts = [(slash, slash + 1) for _, slash, mark in candidates(text) if slash < mark]
    return "".join(_split(text, cuts))


def _split(text: str, cuts: Iterable[tuple[int, int]]) -> Iterator[str]:
    done = 0
    for start, end in cuts:
        yield text[done:start]
        done = end
    yield text[done:]


def line_end(text: str, at: int) -> tuple[int, int]:
    """Where the line around `at` ends, and where the next one starts."""
    found = _END_OF_LINE.search(text, at)
    return found.span() if found else (len(text), len(text))


def trimmed(text: str) -> str:
    """`text` without the blank lines at its end and without its last line's ending."""
    bare = text.rstrip("\r\n" + _BLANKS)
    return text[: line_end(text, len(bare))[0]] if bare else ""


def structure(line: str) -> Item | None:
    """What a line is that begins with `[[CTX_`: one of the known shapes, or None for plain text.

    Args:
        line: the line from its `[[CTX_` on, without its ending; white space may trail.
    """
    bare = line.rstrip()
    inner = bare[2:-2]
    if not bare.endswith("]]") or "[" in inner or "]" in inner:
        return None
    word, *rest = inner.split()
    match word:
        case "CTX_TURN":
            return _turn(rest)
        case "CTX_CALL" if rest:
            return CallLine(rest[0], rest[1] if len(rest) > 1 else "")
        case "CTX_PART" if rest and _NUMERAL.fullmatch(rest[0]):
            return PartLine(_number(rest[0]))
        case "CTX_END" if not rest:
            return EndLine()
        case _:
            return None


def _turn(words: Iterable[str]) -> TurnLine | None:
    """A header's number and role, wherever they stand among its attributes."""
    number: int | None = None
    role: str | None = None
    for word in _outside_quotes(words):
        name, _, value = word.partition("=")
        if number is None and _NUMERAL.fullmatch(word):
            number = _number(word)
        elif role is None and name.lower() == "role":
            role = value.strip("\"'").lower()
    return None if number is None else TurnLine(number, role or "")


def _outside_quotes(words: Iterable[str]) -> Iterator[str]:
    """The words that are not inside a quoted value, so that `title="7 days"` holds no number."""
    quote = ""
    for word in words:
        if quote:
            quote = "" if word.endswith(quote) else quote
            continue
        yield word
        value = word.partition("=")[2]
        if value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0]):
            quote = value[0]


def _number(digits: str) -> int:
    """A numeral's value; `int` refuses thousands of digits, and no file may make us raise."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= 18 else BEYOND
