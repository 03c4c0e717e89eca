"""`radix`: a cache over everything seen, in blocks, as serving engines keep it.

Engines cut the prompt into blocks (16 tokens by default in vLLM; SGLang's radix tree counts single
tokens) and reuse every full block of the longest path that is stored. A block belongs to the segment
in which it ends, so the blocks of a path add up to those of its prompt.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence

from redraft.cost.caches import Found, Reader, Step, Use
from redraft.cost.requests import Cause, Request
from redraft.cost.tree import Forest, Node

__all__ = ["BLOCK", "Radix"]

BLOCK = 16
"""Tokens of a cache block (vLLM's default block size)."""


class Radix:
    """A prefix cache over all requests, the least recently used paths leaving first.

    Args:
        block: tokens of a block; only full blocks are stored and served.
        capacity: tokens it can hold; None for no end.

    Raises:
        ValueError: a size is out of range.
    """

    name = "radix"

    def __init__(self, block: int = BLOCK, capacity: int | None = None) -> None:
        if block < 1:
            raise ValueError(f"a block of {block} tokens holds nothing; give 1 or more")
        if capacity is not None and capacity < 0:
            raise ValueError(f"a capacity of {capacity} tokens is none; give 0 or more, or None")
        self._block = block
        self._capacity = None if capacity is None else capacity // block
        self._forest = Forest()
        self._recent: OrderedDict[Node, None] = OrderedDict()
        self._held = 0
        self._reader = Reader()

    @property
    def held(self) -> int:
        """Tokens that are stored now."""
        return self._held * self._block

    def serve(self, request: Request) -> Use:
        """Account for one request: the longest stored path is read, the rest stored."""
        step = self._reader.step(request)
        path = self._forest.path(step)
        known = _length(path, step, _is_stored)
        ever = _length(path, step, _was_stored)
        read = self._whole(known)
        self._store(path, step)
        found = Found(
            read,
            self._whole(step.total) - read,
            possible=self._whole(ever),
            gone=Cause.CAPACITY,
            slack=self._block - 1,
        )
        return self._reader.use(step, found)

    def _whole(self, tokens: int) -> int:
        return tokens // self._block * self._block

    def _store(self, path: Sequence[Node], step: Step) -> None:
        new = len(path)
        while new and not path[new - 1].stored:
            new -= 1
        start = step.ends[new - 1] if new else 0
        for node, end in zip(path[new:], step.ends[new:], strict=True):
            node.blocks = end // self._block - start // self._block
            node.stored = True
            node.used = 1.0  # it was stored once, whatever becomes of it
            self._held += node.blocks
            start = end
        if self._capacity is not None:
            self._touch(path, self._capacity)

    def _touch(self, path: Sequence[Node], capacity: int) -> None:
        # From the leaf up, so that the oldest of all is always a leaf of what is stored.
        for node in reversed(path):
            self._recent[node] = None
            self._recent.move_to_end(node)
        while self._held > capacity:
            oldest, _ = self._recent.popitem(last=False)
            oldest.stored = False
            self._held -= oldest.blocks


def _length(path: Sequence[Node], step: Step, holds: Callable[[Node], bool]) -> int:
    """Tokens of the path's start for which something holds.

    What holds for a node holds for all in front of it, since leaves leave first; so it is halved.
    """
    at = bisect_left(path, True, key=lambda node: not holds(node))
    return step.ends[at - 1] if at else 0


def _is_stored(node: Node) -> bool:
    return node.stored


def _was_stored(node: Node) -> bool:
    return node.used > 0
