"""`anthropic`: breakpoints with a look-back, lifetimes, and a smallest size by model."""

from __future__ import annotations

import re
from functools import partial

from redraft.cost.breakpoints import BreakpointCache, agent_marks
from redraft.cost.requests import MINUTES

__all__ = ["BREAKPOINTS", "LOOKBACK", "AnthropicCache", "minimum_of"]

BREAKPOINTS = 4
"""Breakpoints that one request may set."""
LOOKBACK = 20
"""Blocks among which an entry is looked for, the marked block being the first of them."""

# The first pattern that is found in the model's name.
_MINIMA = (
    (re.compile(r"(?:opus|fable|mythos)-5"), 512),
    (re.compile(r"opus-4[-.]7"), 2_048),
    (re.compile(r"(?:opus-4[-.][56])|(?:haiku-4[-.]5)"), 4_096),
    (re.compile(r"haiku-3|3[-.]5-haiku|3-haiku"), 2_048),
)


def minimum_of(model: str) -> int:
    """The smallest prefix in tokens that is cached for `model`; shorter ones silently are not.

    Args:
        model: the name in any spelling, e.g. `us.anthropic.claude-opus-4-6-v1:0`.

    Returns:
        512 for Opus, Fable and Mythos 5; 4,096 for Opus 4.5 and 4.6 and Haiku 4.5; 2,048 for Opus
        4.7 and older Haikus; else 1,024. Sources, looked up in November 2026: the prompt-caching
        page of platform.claude.com and LiteLLM's, which says 4,096 for Opus 4.7 on Bedrock.
    """
    name = model.lower()
    return next((tokens for pattern, tokens in _MINIMA if pattern.search(name)), 1_024)


class AnthropicCache(BreakpointCache):
    """Anthropic's prompt cache, as its documentation describes it.

    An entry is written at each breakpoint, and found again at a breakpoint or at one of the 19 blocks
    in front of it. So after an edit deep in the context only an earlier breakpoint helps: with the
    usual two, the frame is read and all else is written again. Reading renews an entry's lifetime.
    Writes cost more than fresh tokens (1.25 times for 5 minutes, twice for an hour), reads a tenth.

    Args:
        model: sets the smallest size that is cached; see `minimum_of`.
        automatic: whether a request without breakpoints gets them as agents set them, behind the
            frame and at its end. False leaves it uncached, as the server would.
        lifetime: seconds for breakpoints that are set this way: `MINUTES` or `HOUR`.
        messages: how many of the last messages get one; see `agent_marks`.
    """

    def __init__(
        self,
        model: str = "",
        *,
        automatic: bool = True,
        lifetime: float = MINUTES,
        messages: int = 1,
    ) -> None:
        super().__init__(
            "anthropic",
            minimum=minimum_of(model),
            most=BREAKPOINTS,
            lookback=LOOKBACK,
            place=partial(agent_marks, lifetime=lifetime, messages=messages) if automatic else None,
        )
