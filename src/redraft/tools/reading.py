"""Parts of a body of the overflow store, by range or by what stands in it. Pure: the store has the body."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["MOST_HITS", "Found", "Hit", "Slice", "cut", "find_in", "found_text", "slice_text"]

MOST_HITS = 20
"""Places that one search shows at most."""

_AROUND = 120
"""Characters that are shown on each side of a hit."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a body.

    Attributes:
        id: the body's id.
        start, end: its characters, half open.
        total: the body's characters.
        text: the part.
    """

    id: str
    start: int
    end: int
    total: int
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a text stands: its first character, and what is around it."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    Attributes:
        id: the body's id.
        find: what was looked for.
        total: the body's characters.
        hits: the first places, from `start` on.
        start: the first character that was looked at.
        next: where the place behind them begins; 0 where there is none.
    """

    id: str
    find: str
    total: int
    hits: tuple[Hit, ...]
    start: int = 0
    next: int = 0


def cut(name: str, body: str, start: int, length: int) -> Slice:
    """A range of a body; what lies outside of it is left out.

    Args:
        name: the body's id.
        body: all of it.
        start: the first character, from 0.
        length: how many characters at most.
    """
    first = min(max(start, 0), len(body))
    text = body[first : first + max(length, 0)]
    return Slice(name, first, first + len(text), len(body), text)


def find_in(name: str, body: str, find: str, most: int = MOST_HITS, start: int = 0) -> Found:
    """Where a text stands in a body, in any case of its letters; no place where it is empty.

    Args:
        name: the body's id.
        body: all of it.
        find: the text.
        most: places that are shown at most.
        start: the first character to look at, from 0.
    """
    hits: list[Hit] = []
    pattern = re.compile(re.escape(find), re.IGNORECASE)
    for found in pattern.finditer(body, start) if find else ():
        if len(hits) == most:
            return Found(name, find, len(body), tuple(hits), start, found.start())
        first = max(found.start() - _AROUND, 0)
        hits.append(Hit(found.start(), body[first : found.end() + _AROUND]))
    return Found(name, find, len(body), tuple(hits), start)


def slice_text(part: Slice) -> str:
    """A part as `read_overflow` answers it: a line on which part it is, then the part."""
    rest = f"; go on with start={part.end}" if part.end < part.total else ""
    head = f"[body {part.id[:12]}, characters {part.start}-{part.end} of {part.total}{rest}]"
    return f"{head}\n{part.text}"


def found_text(found: Found) -> str:
    """A search as `read_overflow` answers it: one line a place."""
    since = f" from start={found.start} on" if found.start else ""
    if not found.hits:
        nowhere = f"the text stands nowhere in it{since}"
        return f"[body {found.id[:12]}, {found.total} characters: {nowhere}]"
    more = f"; there are more, go on with start={found.next}" if found.next else ""
    places = "1 place" if len(found.hits) == 1 else f"{len(found.hits)} places"
    lines = [f"[body {found.id[:12]}, {found.total} characters, {places}{since}{more}]"]
    lines += [f"start={hit.at}: {' '.join(hit.text.split())}" for hit in found.hits]
    return "\n".join(lines)
