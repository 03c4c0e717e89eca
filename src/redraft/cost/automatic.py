"""Caches without breakpoints at a provider: the longest prefix seen, in steps, from a smallest size on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import inf

from redraft.cost.caches import Found, Reader, Step, Use
from redraft.cost.requests import Request
from redraft.cost.tree import Clock, Forest, Node

__all__ = ["AutomaticCache"]


class AutomaticCache:
    """Every prefix that was ever sent, served in whole steps. Writing costs nothing beside the tokens.

    Args:
        name: the cache's name.
        least: tokens that a prompt must share before any of it is served.
        step: tokens by which the served prefix grows.
        lifetime: seconds without use after which a prefix is gone.
    """

    def __init__(self, name: str, *, least: int, step: int, lifetime: float = inf) -> None:
        self.name = name
        self._least = least
        self._step = step
        self._lifetime = lifetime
        self._forest = Forest()
        self._clock = Clock()
        self._reader = Reader()

    def serve(self, request: Request) -> Use:
        """Account for one request: what the cache has of its start is read, the rest stored."""
        now = self._clock.read(request)
        step = self._reader.step(request)
        path = self._forest.path(step)
        read = self._served(_length(path, step, now - self._lifetime))
        ever = self._served(_length(path, step, -inf))
        for node in path:
            node.stored = True
            node.used = now
        slack = self._step - 1 if ever else self._least - 1
        found = Found(
            read, max(self._served(step.total) - read, 0), possible=ever, slack=max(slack, 0)
        )
        return self._reader.use(step, found)

    def _served(self, tokens: int) -> int:
        return 0 if tokens < self._least else tokens // self._step * self._step


def _length(path: Sequence[Node], step: Step, since: float) -> int:
    """Tokens of the path's start that were used since then. A node is used as late as any behind it, so
    the path is halved."""
    at = bisect_left(path, True, key=lambda node: not node.stored or node.used < since)
    return step.ends[at - 1] if at else 0
