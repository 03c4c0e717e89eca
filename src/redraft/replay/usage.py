"""What providers report of a call, in one meaning; and moments as seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from redraft.replay.recording import Reported

__all__ = ["reported", "seconds"]

_MOST = 1e15  # more than any count or moment; JSON may also hold an infinity


def reported(usage: object, usd: object = None) -> Reported | None:
    """Read a `usage` of Anthropic, OpenAI (both APIs), Gemini, Bedrock, LiteLLM, pi or ATIF.

    Anthropic's `input_tokens`, Bedrock's `inputTokens` and pi's `input` leave cached tokens out, all
    others count them in (DESIGN.md section 9). A server that compacts on the way reports its passes as
    `iterations`: they are added up.

    Args:
        usage: the object; anything else gives None.
        usd: what the recorder says that the call cost.

    Returns:
        None where there is no usage, or one of zeros, as of a call that was broken off.
    """
    if not isinstance(usage, Mapping):
        return None
    passes = usage.get("iterations")
    if isinstance(passes, Sequence) and passes and not isinstance(passes, str):
        return _sum([_read(one) for one in passes if isinstance(one, Mapping)], usd)
    found = _read(usage)
    return _sum([found], usd) if found.prompt else None


def _read(usage: Mapping[str, Any]) -> Reported:
    read: int | None
    if "cacheRead" in usage:  # pi
        read, written = _count(usage, "cacheRead"), _count(usage, "cacheWrite")
        prompt = _count(usage, "input") + read + written
        return Reported(prompt, read, written, 0, _count(usage, "output"))
    if "promptTokenCount" in usage:  # Gemini, which leaves out what is zero
        thoughts = _count(usage, "thoughtsTokenCount")
        return Reported(
            _count(usage, "promptTokenCount"),
            _count(usage, "cachedContentTokenCount"),
            output=_count(usage, "candidatesTokenCount") + thoughts,
        )
    if "inputTokens" in usage:  # Bedrock's Converse
        read = _first(usage.get("cacheReadInputTokens"))
        written = _count(usage, "cacheWriteInputTokens")
        prompt = _count(usage, "inputTokens") + (read or 0) + written
        return Reported(prompt, read, written, 0, _count(usage, "outputTokens"))
    output = _count(usage, "output_tokens", "completion_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    if "prompt_tokens" in usage:  # chat completions, LiteLLM, ATIF
        read = _first(
            usage.get("cached_tokens"),
            usage.get("cache_read_input_tokens"),
            usage.get("prompt_cache_hit_tokens"),  # DeepSeek
            _detail(usage, "prompt_tokens_details", "cached_tokens"),
        )
        prompt, cached = _count(usage, "prompt_tokens"), (read or 0) + written
        # Some wrappers of Anthropic's pass its numbers on as they are.
        prompt = prompt if prompt >= cached else prompt + cached
        return Reported(prompt, read, written, _long(usage), output)
    details = usage.get("input_tokens_details")
    if isinstance(details, Mapping):  # responses
        read = _first(details.get("cached_tokens"))
        written = _first(details.get("cache_write_tokens")) or 0
        return Reported(_count(usage, "input_tokens"), read, written, 0, output)
    read = _first(usage.get("cache_read_input_tokens"), 0 if written else None)
    prompt = _count(usage, "input_tokens") + (read or 0) + written
    return Reported(prompt, read, written, _long(usage), output)


def _long(usage: Mapping[str, Any]) -> int:
    """Tokens that Anthropic wrote for an hour: in its own place, or in LiteLLM's."""
    details = usage.get("prompt_tokens_details")
    inner = details if isinstance(details, Mapping) else {}
    hour = "ephemeral_1h_input_tokens"
    own = _detail(usage, "cache_creation", hour)
    return _first(own, _detail(inner, "cache_creation_token_details", hour)) or 0


def _sum(passes: Sequence[Reported], usd: object) -> Reported | None:
    if not any(one.prompt for one in passes):
        return None
    reads = [one.read for one in passes if one.read is not None]
    return Reported(
        sum(one.prompt for one in passes),
        sum(reads) if reads else None,
        sum(one.written for one in passes),
        sum(one.written_long for one in passes),
        sum(one.output for one in passes),
        float(usd) if isinstance(usd, int | float) and not isinstance(usd, bool) else None,
        sum(one.prompt > 0 for one in passes),
    )


def _count(usage: Mapping[str, Any], *names: str) -> int:
    return _first(*(usage.get(name) for name in names)) or 0


def _first(*values: object) -> int | None:
    """The first that is a count."""
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST:
            return int(value)
    return None


def _detail(usage: Mapping[str, Any], group: str, name: str) -> object:
    details = usage.get(group)
    return details.get(name) if isinstance(details, Mapping) else None


def seconds(moment: object) -> float | None:
    """A moment as seconds since 1970: ISO 8601 text (UTC where it names no zone), or a number of
    seconds or milliseconds. None for anything else."""
    if isinstance(moment, bool) or moment is None:
        return None
    if isinstance(moment, int | float):
        if not 0 <= moment < _MOST:
            return None
        return moment / 1000 if moment > 1e11 else float(moment)
    if not isinstance(moment, str):
        return None
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
