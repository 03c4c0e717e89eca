"""A text in pieces that may be kept or left out, none of which may be cut.

A JSON value, a fenced block and a line that holds structure are one piece each, so nothing that is made of
pieces ever ends inside a token or a string of a payload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Unit", "units"]

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=\S)")
_STRUCTURE = re.compile(r"[{}\[\]<>]|\":")
_LONG = 200
"""Characters from which a line of prose is split into sentences."""
_ATTEMPTS = 100
"""Lines at which a JSON value may fail to be read; past them the text is taken to hold none."""

_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece.

    Attributes:
        text: its words, never empty.
        structured: whether it is a payload or holds one: kept whole or not at all.
    """

    text: str
    structured: bool = False


def units(text: str) -> Iterator[Unit]:
    """The pieces of a text in order; blank lines are left out."""
    at, failed = 0, 0
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end]
        fence = _FENCE.match(line)
        if fence:
            end = _fence_end(text, end, fence[1])
            yield Unit(text[at:end].rstrip(), structured=True)
        elif line.lstrip()[:1] in ("{", "[") and failed < _ATTEMPTS:
            stop = _json_end(text, at + len(line) - len(line.lstrip()))
            failed += stop is None
            end = end if stop is None else _line_end(text, stop)
            yield Unit(text[at:end].strip(), structured=True)
        else:
            yield from _line(line.strip())
        at = end + 1


def _line(line: str) -> Iterator[Unit]:
    if _STRUCTURE.search(line):
        yield Unit(line, structured=True)
    elif len(line) > _LONG:
        yield from (Unit(piece) for piece in _SENTENCE.split(line))
    elif line:
        yield Unit(line)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _fence_end(text: str, at: int, mark: str) -> int:
    """Where the fence closes; a fence that stays open goes to the end."""
    while at < len(text):
        end = _line_end(text, at + 1)
        if text[at + 1 : end].strip() == mark:
            return end
        at = end
    return len(text)


def _json_end(text: str, at: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None
