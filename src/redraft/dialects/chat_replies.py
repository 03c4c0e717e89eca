"""A chat completion, read: its message as it will be sent back, its usage, whether it was cut off."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Reply, Usage
from redraft.dialects.chat_natives import answer_of, content_of, mapping_of
from redraft.errors import DialectError

__all__ = ["read_reply"]

_CUT_OFF = ("length", "content_filter")


def read_reply(response: object, taken: Collection[str] = ()) -> Reply:
    """Read a response; see `redraft.dialects.base.Dialect.read`."""
    body = mapping_of(response)
    if body is None:
        raise DialectError(
            f"a {type(response).__name__} is not a chat completion; pass the response object, "
            "or for a stream its final object (`stream.get_final_completion()`)."
        )
    message, finish = _choice(body)
    native = {**answer_of(message), "role": "assistant"}
    if "tool_calls" in native:
        native["tool_calls"] = _distinct(native["tool_calls"], taken)
    return Reply(content_of(native, "the reply"), finish not in _CUT_OFF, _usage(body))


def _choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    if "choices" not in body and body.get("role") == "assistant":
        return body, "stop"
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
        raise DialectError("the reply has no `choices`; ask the model again.")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise DialectError(
            "the reply's first choice has no `message`; ask the model again, or for a stream pass its "
            "final object (`stream.get_final_completion()`)."
        )
    return message, str(choices[0].get("finish_reason") or "stop")


def _distinct(calls: object, taken: Collection[str]) -> list[dict[str, Any]]:
    """Calls with ids of their own: a repeated call is one call, a repeated or missing id is renamed."""
    if not isinstance(calls, (list, tuple)) or not all(isinstance(c, Mapping) for c in calls):
        raise DialectError(
            "`tool_calls` of the reply is no list of tool calls; ask the model again."
        )
    kept: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    names = set(taken)
    for place, call in enumerate(calls):
        if call.get("id") and call in asked:
            continue
        asked.append(call)
        kept.append({**call, "id": _free(str(call.get("id") or f"call_{place}"), names)})
    return kept


def _free(name: str, names: set[str]) -> str:
    new, number = name, 1
    while new in names:
        number += 1
        new = f"{name}_{number}"
    names.add(new)
    return new


def _usage(body: Mapping[str, Any]) -> Usage | None:
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt = _count(usage.get("prompt_tokens"))
    if not prompt:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    return Usage(prompt, min(cached, prompt), _count(usage.get("completion_tokens")))


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
