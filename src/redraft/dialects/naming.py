"""Ids of calls that a server takes: each its own, in the letters and the length that it wants.

What an id becomes depends on the ids before it alone, so that a list that grows keeps its beginning.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

__all__ = ["Maker", "Names", "digested", "lettered", "numbered"]

Maker = Callable[[str, int], str]
"""What the n-th use of an id becomes. The first use of a good one is the id itself."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST = re.compile(r"[a-zA-Z0-9]{9}")


class Names:
    """Ids that were given out, and how often each was asked for.

    Args:
        make: what the n-th use of an id becomes.
    """

    def __init__(self, make: Maker | None = None) -> None:
        self._make = make or numbered
        self._taken: set[str] = set()
        self._asked: dict[str, int] = {}

    def new(self, name: str) -> str:
        """An id for the next use of `name`; never the same twice."""
        number = self._asked.get(name, 0) + 1
        while (new := self._make(name, number)) in self._taken:
            number += 1
        self._asked[name] = number
        self._taken.add(new)
        return new


def numbered(name: str, number: int) -> str:
    """The id, and from its second use on a number behind it."""
    return name if name and number == 1 else f"{name or 'call'}_{number}"


def lettered(limit: int) -> Maker:
    """Ids of letters, digits, `_` and `-`, at most `limit` of them."""

    def make(name: str, number: int) -> str:
        plain = _FOREIGN.sub("_", name)
        if plain and number == 1 and len(plain) <= limit:
            return plain
        if len(plain) <= limit:
            end = f"_{number}"
        else:  # what is cut off tells one id from another
            end = f"_{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:12]}_{number}"
        return f"{(plain or 'call')[: limit - len(end)]}{end}"

    return make


def digested(name: str, number: int) -> str:
    """Nine letters and digits, as Mistral wants them."""
    if number == 1 and _DIGEST.fullmatch(name):
        return name
    return hashlib.sha256(f"{number} {name}".encode(errors="replace")).hexdigest()[:9]
