"""`openai`: automatic caching, in steps of 128 tokens up to GPT-5.5 and at breakpoints from GPT-5.6 on."""

from __future__ import annotations

import re
from functools import partial

from redraft.cost.automatic import AutomaticCache
from redraft.cost.breakpoints import BreakpointCache, end_mark
from redraft.cost.caches import Cache

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


class OpenAICache(AutomaticCache):
    """OpenAI's automatic cache up to GPT-5.5: the longest prefix seen, in steps of 128 from 1,024 on.

    Writes cost nothing beside the tokens themselves. Requests are spread over machines by a hash of
    their start, so a real cache may miss where this one finds.

    Args:
        lifetime: seconds without use after which a prefix is gone.

    Source: developers.openai.com, guide on prompt caching, looked up in November 2026.
    """

    def __init__(self, lifetime: float = OPENAI_LIFETIME) -> None:
        super().__init__("openai", least=LEAST, step=STEP, lifetime=lifetime)


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
