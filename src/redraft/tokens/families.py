"""How many of a model's own tokens one o200k token is worth, before any calibration."""

from __future__ import annotations

import re

__all__ = ["CLAUDE", "CLAUDE_LATER", "QWEN", "family_factor"]

CLAUDE = 1.34
"""Claude up to the 4.6 generation: the upper end of the 1.17-1.34 measured against o200k."""

CLAUDE_LATER = 1.64
"""Claude after 4.6, which has another tokenizer: the upper end of 1.50-1.64. Anthropic's own guide
speaks of about 30 percent more tokens than before."""

QWEN = 1.15
"""Qwen: its tokenizer splits numbers into single digits. Measured with the Qwen 2.5/3 vocabulary on
recorded agent sessions and requests: 1.00 to 1.14 times o200k, 1.09 over all."""

_LAST_OLD = (4, 6)
_OLDEST = re.compile(r"claude-(instant-)?v[12]\b")
# One or two numbers of at most two digits: `4-6`, `4.6`, `4` before a date. Not the `1` of a
# cloud's revision (`-v1:0`), not a piece of a date.
_VERSION = re.compile(r"(?<![\dv])(?<!\d[-._:])(\d{1,2})(?:[-._](\d{1,2}))?(?!\d)")


def family_factor(model: str) -> float:
    """The factor from o200k tokens to `model`'s own, at its careful end.

    An overestimate costs some room until the server's first report; an underestimate overflows.

    Args:
        model: the name as the provider takes it, with any prefix, date or revision:
            `anthropic/claude-sonnet-4-5-20250929`, `us.anthropic.claude-opus-4-6-v1:0`.

    Returns:
        `CLAUDE` or `CLAUDE_LATER` by version (the later one where no version is in the name),
        `QWEN`, and 1.0 for all others. For OpenAI that is exact. It is close for Llama 3 (0.96 to
        1.03, measured like `QWEN`) and for Mistral (1.0 on one recorded request). For Gemini and
        DeepSeek there is no measurement that we could stand behind.
    """
    name = model.lower()
    _, claude, rest = name.partition("claude")
    if claude:
        return CLAUDE if _OLDEST.search(name) or _is_old(rest) else CLAUDE_LATER
    return QWEN if "qwen" in name or "qwq" in name else 1.0


def _is_old(rest: str) -> bool:
    found = _VERSION.search(rest)
    return found is not None and (int(found[1]), int(found[2] or 0)) <= _LAST_OLD
