"""The bodies of the fake server's answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = [
    "chat_completion",
    "common_prefix",
    "prefix_tokens",
    "rendering",
    "stream_events",
    "usage",
]

_PIECE = 16
_CREATED = 0
"""A fixed time: equal requests get equal answers."""


def chat_completion(
    number: int, model: str, message: Mapping[str, Any], finish: str, usage: Mapping[str, Any]
) -> dict[str, Any]:
    """A whole answer in OpenAI's shape.

    Args:
        number: which answer of the server this is; makes its id.
        model: the model that was asked for.
        message: the assistant message.
        finish: the finish reason.
        usage: token counts.
    """
    choice = {"index": 0, "message": dict(message), "logprobs": None, "finish_reason": finish}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [choice],
        "usage": dict(usage),
    }


def stream_events(completion: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    """The same answer as server-sent events, text and arguments in pieces, `[DONE]` at the end."""
    choice = completion["choices"][0]
    frame = {key: completion[key] for key in ("id", "created", "model")}
    frame["object"] = "chat.completion.chunk"

    def event(choices: Sequence[Mapping[str, Any]], **more: Any) -> bytes:
        return b"data: " + json.dumps({**frame, "choices": choices, **more}).encode() + b"\n\n"

    for delta in _deltas(choice["message"]):
        yield event([{"index": 0, "delta": delta, "finish_reason": None}])
    yield event([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])
    if with_usage:
        yield event([], usage=completion["usage"])
    yield b"data: [DONE]\n\n"


def usage(prompt: int, cached: int, output: int) -> dict[str, Any]:
    """Token counts in OpenAI's shape, where the prompt includes what was cached."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def rendering(request: Mapping[str, Any]) -> tuple[bytes, ...]:
    """What a prefix cache would see of a request: first model and tools, then each message."""
    frame = {"model": request.get("model"), "tools": request.get("tools")}
    return tuple(
        json.dumps(part, ensure_ascii=True).encode() for part in (frame, *request["messages"])
    )


def common_prefix(left: bytes, right: bytes) -> int:
    """How many bytes at the start are equal."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def prefix_tokens(
    request: Mapping[str, Any], equal: int, count: Callable[[Mapping[str, Any]], int]
) -> int:
    """The tokens in the first `equal` bytes of a request's rendering.

    Whole messages are counted as they are; of the message in which the prefix ends, as large a
    share of its tokens as of its bytes.

    Args:
        request: the request.
        equal: bytes of its rendering that were seen before.
        count: the prompt tokens of a request; also asked about one without messages.
    """
    parts = rendering(request)
    place = 0
    while place < len(parts) and equal >= len(parts[place]):
        equal -= len(parts[place])
        place += 1
    whole = _tokens_to(request, place, count)
    if place == len(parts) or not equal:
        return whole
    return whole + (_tokens_to(request, place + 1, count) - whole) * equal // len(parts[place])


def _tokens_to(request: Mapping[str, Any], place: int, count: Callable[..., int]) -> int:
    """The tokens of the first `place` parts of the rendering; the first part is the frame."""
    return count({**request, "messages": request["messages"][: place - 1]}) if place else 0


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for key, value in message.items():
        if key not in ("role", "tool_calls") and isinstance(value, str):
            for piece in _pieces(value):
                yield {key: piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        head = {"name": function["name"], "arguments": ""}
        yield {
            "tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": head}]
        }
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
