"""A reply of the Messages API: its message as it will be sent back, whether it is whole, its usage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from redraft.dialects.base import Native, Usage
from redraft.dialects.block_replies import count, distinct
from redraft.errors import DialectError

__all__ = ["is_paused", "read_message"]

_CUT_OFF = frozenset(
    {"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "compaction"}
)
"""Stop reasons of a turn that is not over (`BetaStopReason` in the SDK)."""

_PAUSED = ("pause_turn", "compaction")
"""Those after which the same request, with the reply at its end, goes on where the server stopped: in the
midst of its own tools, or behind a compaction (the guides on server tools and on compaction)."""

_SDK_ONLY = "parsed_output"
"""What the SDK adds to a text block and its client leaves out again."""


def read_message(
    body: object, kind: type, taken: Collection[str] = ()
) -> tuple[Native, bool, Usage | None]:
    """The message of a response, whether it is whole, and its usage.

    Args:
        body: the response as plain data, ours to keep.
        kind: what the response was, for the error.
        taken: ids of calls in the context; a call that repeats one is renamed.
    """
    if not isinstance(body, Mapping) or "content" not in body:
        error = body.get("error") if isinstance(body, Mapping) else None
        said = f" ({error.get('message')})" if isinstance(error, Mapping) else ""
        raise DialectError(
            f"a {kind.__name__} is not a message of the Messages API{said}; pass the response "
            "object, or for a stream its final message (`stream.get_final_message()`)."
        )
    content = body["content"]
    if isinstance(content, (list, tuple)) and all(isinstance(b, Mapping) for b in content):
        content = distinct(map(_sent_back, content), taken, _call_id, _with_id)
    native = {"role": "assistant", "content": content}
    return native, body.get("stop_reason") not in _CUT_OFF, _usage(body)


def is_paused(body: object) -> bool:
    """Whether a message of the Messages API ends where the server only paused."""
    return isinstance(body, Mapping) and body.get("stop_reason") in _PAUSED


def _sent_back(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block.get("type") != "text" or _SDK_ONLY not in block:
        return block
    return {key: value for key, value in block.items() if key != _SDK_ONLY}


def _call_id(block: Native, place: int) -> str | None:
    if block.get("type") != "tool_use":
        return None
    return str(block.get("id") or (f"toolu_{place}" if place >= 0 else ""))


def _with_id(block: Native, name: str) -> Native:
    return {**block, "id": name}


def _usage(body: Mapping[str, Any]) -> Usage | None:
    """The prompt is what was read and what was cached, each counted on its own by this API.

    A reply in which the server looped over its own tools sums up the prompts of all its passes; the
    first pass is what was sent. Where it edited or compacted the prompt, no number says what was
    sent, so none may be compared with it (`usage.iterations` in the SDK's `BetaUsage`).
    """
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return None
    passes = usage.get("iterations")
    passes = [p for p in passes if isinstance(p, Mapping)] if isinstance(passes, list) else []
    messages = [one for one in passes if one.get("type", "message") == "message"]
    first = messages[0] if messages else usage
    cached = count(first.get("cache_read_input_tokens"))
    prompt = (
        count(first.get("input_tokens")) + cached + count(first.get("cache_creation_input_tokens"))
    )
    if not prompt:
        return None
    looped = not passes and _looped(usage)
    comparable = len(messages) == len(passes) and not looped and not _edited(body)
    return Usage(prompt, cached, count(usage.get("output_tokens")), comparable)


def _looped(usage: Mapping[str, Any]) -> bool:
    calls = usage.get("server_tool_use")
    return isinstance(calls, Mapping) and any(map(count, calls.values()))


def _edited(body: Mapping[str, Any]) -> bool:
    """Whether the server changed the prompt: cleared results or thinking, or dropped reasoning."""
    management = body.get("context_management")
    edits = management.get("applied_edits") if isinstance(management, Mapping) else None
    dropped = body.get("input_transformations")
    return bool(edits) or any(
        isinstance(one, Mapping) and one.get("type") == "thinking_dropped" for one in dropped or ()
    )
