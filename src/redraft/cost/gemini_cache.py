"""`gemini`: implicit caching of Gemini 2.5 and later: the longest prefix seen, from a smallest size on."""

from __future__ import annotations

import re

from redraft.cost.automatic import AutomaticCache

__all__ = ["GEMINI_LIFETIME", "GeminiCache", "gemini_minimum"]

GEMINI_LIFETIME = 86_400.0
"""Seconds that a prefix may live without use; the documentation promises no least time."""

_EARLIER = re.compile(r"gemini-2")


def gemini_minimum(model: str) -> int:
    """The smallest prefix in tokens that is cached for `model`.

    Args:
        model: the name in any spelling.

    Returns:
        2,048 for Gemini 2.5 and before, 4,096 for later ones. Source: ai.google.dev, page on context
        caching, looked up in November 2026 (a year before it said 1,024 and 4,096 for 2.5 Flash and
        Pro).
    """
    return 2_048 if _EARLIER.search(model.lower()) else 4_096


class GeminiCache(AutomaticCache):
    """Gemini's implicit cache. Hits are not promised: a real cache may miss where this one finds.

    Args:
        model: sets the smallest size; see `gemini_minimum`.
        lifetime: seconds without use after which a prefix is gone.
    """

    def __init__(self, model: str = "", lifetime: float = GEMINI_LIFETIME) -> None:
        super().__init__("gemini", least=gemini_minimum(model), step=1, lifetime=lifetime)
