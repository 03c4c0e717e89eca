"""`openai`: automatic caching, in steps of 128 tokens up to GPT-5.5 and at breakpoints from GPT-5.6 on."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from math import inf

from redraft.cost.breakpoints import BreakpointCache, end_mark
from redraft.cost.caches import Cache, Found, Reader, Step, Use
from redraft.cost.requests import Request
from redraft.cost.tree import Clock, Forest, Node

__all__ = [
    "LEAST",
    "OPENAI_BREAKPOINT_LIFETIME",
    "OPENAI_LIFETIME",
    "STEP",
    "OpenAICache",
    "openai_cache",
]

LEAST = 1_024
"""Tokens that a prompt must share before any of it is served."""
STEP = 128
"""Tokens by which the served prefix grows beyond that."""
OPENAI_LIFETIME = 600.0
"""Seconds without use after which a prefix is taken for gone. The documentation says 5 to 10 minutes."""
OPENAI_BREAKPOINT_LIFETIME = 1_800.0
"""Seconds that an entry lives at least from GPT-5.6 on (`prompt_cache_options.ttl` is `30m`)."""

_LATER = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9](?!\d)|1\d(?!\d))")


class OpenAICache:
    """OpenAI's automatic cache up to GPT-5.5: the longest prefix seen, in steps of 128 from 1,024 on.

    Writes cost nothing beside the tokens themselves. Requests are spread over machines by a hash of
    their start, so a real cache may miss where this one finds.

    Args:
        lifetime: seconds without use after which a prefix is gone.

    Source: developers.openai.com, guide on prompt caching, looked up in November 2026.
    """

    name = "openai"

    def __init__(self, lifetime: float = OPENAI_LIFETIME) -> None:
        self._lifetime = lifetime
        self._forest = Forest()
        self._clock = Clock()
        self._reader = Reader()

    def serve(self, request: Request) -> Use:
        """Account for one request: what the cache has of its start is read, the rest stored."""
        now = self._clock.read(request)
        step = self._reader.step(request)
        path = self._forest.path(step)
        alive = self._length(path, step, now - self._lifetime)
        ever = self._length(path, step, -inf)
        read = _served(alive)
        for node in path:
            node.stored = True
            node.used = now
        slack = LEAST - 1 if not _served(ever) else STEP - 1
        found = Found(read, max(_served(step.total) - read, 0), possible=_served(ever), slack=slack)
        return self._reader.use(step, found)

    @staticmethod
    def _length(path: Sequence[Node], step: Step, since: float) -> int:
        """Tokens of the path's start that were used since then. A node is used as late as any behind
        it, so the path is halved."""
        at = bisect_left(path, True, key=lambda node: not node.stored or node.used < since)
        return step.ends[at - 1] if at else 0


def _served(tokens: int) -> int:
    return 0 if tokens < LEAST else tokens // STEP * STEP


def openai_cache(model: str = "", *, automatic: bool = True) -> Cache:
    """The cache of an OpenAI model, by its name.

    Args:
        model: from GPT-5.6 on, entries end at breakpoints (one at the end of the newest message, and
            up to three explicit ones), are found from any later breakpoint, live 30 minutes at least,
            and writing costs 1.25 times a fresh token.
        automatic: whether the breakpoint at the end is set; False for `mode: explicit`.
    """
    if not _LATER.search(model.lower()):
        return OpenAICache()
    place = partial(end_mark, lifetime=OPENAI_BREAKPOINT_LIFETIME) if automatic else None
    return BreakpointCache("openai", minimum=LEAST, most=4, lookback=None, place=place)
