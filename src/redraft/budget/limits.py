"""How large a prompt may become, and whether what must be sent fits at all."""

from __future__ import annotations

import re
from collections.abc import Mapping

from redraft.errors import BudgetError

__all__ = ["DEFAULT_WINDOW", "MARGIN", "check_room", "limit", "window_of"]

MARGIN = 2048
"""Tokens kept free below the hard edge: what a receipt, a readout, a notice and the error of a token
count may take together (DESIGN.md section 6)."""

DEFAULT_WINDOW = 128_000
"""The window to assume where `window_of` knows nothing: the smallest among current general models."""

# The first pattern that matches the start of a bare model name wins; special cases stand first.
_WINDOWS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), window)
    for pattern, window in (
        (r"gpt-6-(?:astra|sol|luna)", 922_000),
        (r"gpt-5\.4(?!-(?:mini|nano))", 922_000),
        (r"gpt-5", 272_000),
        (r"gpt-4\.1", 1_047_576),
        (r"gpt-4o", 128_000),
        (r"gpt-oss", 128_000),
        (r"o3|o4-mini", 200_000),
        (r"claude-(?:opus|sonnet)-4[-.]6", 1_000_000),
        (r"claude-(?:opus|sonnet|haiku|fable)-5", 1_000_000),
        (r"claude", 200_000),
        (r"gemini-(?!.*(?:image|tts|live|embedding))", 1_048_576),
        (r"qwen3(?:\.[56]|-coder|-next|.*-2507)", 262_144),
        (r"qwen3", 32_768),
        (r"(?:meta-)?llama-?v?3[.p-][1-3](?!\d)", 128_000),
        (r"(?:meta-)?llama-?v?3", 8_192),
        (r"deepseek-v4", 1_000_000),
        (r"deepseek", 128_000),
        (r"mistral-(?:large|medium|nemo)|devstral", 128_000),
        (r"mistral|mixtral", 32_768),
    )
)
_VENDOR = re.compile(r"(?:[a-z_-]+\.)+(?=[a-z])|ft:")


def limit(budget: int, window: int, output_reserve: int, margin: int = MARGIN) -> int:
    """The tokens that a context may hold: `min(budget, window - output_reserve) - margin`.

    Args:
        budget: what the user is ready to spend on a prompt, in tokens.
        window: the model's window in tokens.
        output_reserve: tokens of the window that are kept for the answer.
        margin: tokens that stay free below that.

    Returns:
        tokens as shown to the model; zero or less where there is no room, which `check_room`
        reports. Source: DESIGN.md section 6.
    """
    return min(budget, window - output_reserve) - margin


def window_of(model: str) -> int | None:
    """The most tokens that a prompt to `model` may have, from a small table by family.

    Where a provider caps the prompt below the window, the cap counts: GPT-5 has a window of 400,000,
    of which 128,000 are output, so 272,000 are left (1,050,000 and 922,000 for GPT-5.4 and GPT-6).

    Args:
        model: a name as it is sent to a server. Provider prefixes (`openai/`, `azure/`,
            `us.anthropic.`), case and suffixes (dates, `:free`) do not matter.

    Returns:
        tokens, or None for a model that is not in the table; then use `DEFAULT_WINDOW`. Within a
        family the smaller figure is given where members differ and are not told apart.

    Sources, looked up in November 2026: platform.claude.com/docs/en/models (Claude),
    ai.google.dev/gemini-api/docs/models (Gemini), vercel.com/ai-gateway/models (GPT, gpt-oss), the
    model cards of Qwen3, Qwen3-Coder and Qwen3-Next, Llama 3.1, DeepSeek V4 and Mistral Large 2.
    GPT-5's split into 272,000 and 128,000 is the one that litellm's price table and Codex use.
    """
    name = model.strip().lower().rsplit("/", 1)[-1]
    prefix = _VENDOR.match(name)
    bare = name[prefix.end() :] if prefix else name
    return next((window for pattern, window in _WINDOWS if pattern.match(bare)), None)


def check_room(limit: int, needed_parts: Mapping[str, int]) -> None:
    """Refuse a limit that cannot hold what must be in every request.

    Args:
        limit: tokens that a context may hold.
        needed_parts: tokens of each part that nothing may remove, by name: the pinned prefix,
            unanswered user turns, tools.

    Raises:
        BudgetError: the limit is not positive, or the parts are larger than it. Before anything
            is sent, so that no run starts that can only fail.
    """
    if limit <= 0:
        raise BudgetError(
            f"there is no room at all: the margin and the output reserve take more than the budget or "
            f"the window has; raise `budget` (or `window`) by more than {-limit:,} tokens, or lower "
            f"`output_reserve`"
        )
    needed = sum(needed_parts.values())
    if needed > limit:
        parts = ", ".join(f"{name} {tokens:,}" for name, tokens in needed_parts.items())
        raise BudgetError(
            f"what must be sent takes {needed:,} tokens ({parts}) and the limit is {limit:,}; raise "
            f"`budget` by at least {needed - limit:,}, shorten the largest part, or use a model with a "
            "larger window"
        )
