"""A counter that remembers what it counted, without keeping any long text alive."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from redraft.tokens.counter import Counter

__all__ = ["RememberingCounter"]

_SHORT = 128  # characters; a longer text is remembered by its digest


class RememberingCounter:
    """Counts each text once. Texts past a few words are remembered by digest, not kept.

    Hashing is some 50 times faster than counting, so the frame's tool schemas and a whole-context
    recount cost next to nothing the second time. Safe to use from many threads.

    Args:
        counter: who counts.
        size: how many counts are remembered; the least recently used go first.
    """

    def __init__(self, counter: Counter, size: int = 4_096) -> None:
        self._counter = counter
        self._size = size
        self._counts: OrderedDict[str | bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        key = text if len(text) <= _SHORT else _digest(text)
        with self._lock:
            if key in self._counts:
                self._counts.move_to_end(key)
                return self._counts[key]
        tokens = self._counter.count(text)
        with self._lock:
            self._counts[key] = tokens
            while len(self._counts) > self._size:
                self._counts.popitem(last=False)
        return tokens


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
