"""A reply of generateContent: its content as it will be sent back, whether it is whole, its usage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Native, Usage
from redraft.dialects.block_replies import count, distinct
from redraft.dialects.gemini_parts import field_of, key_of
from redraft.errors import DialectError

__all__ = ["read_response"]

_WHOLE = ("", "STOP", "FINISH_REASON_UNSPECIFIED")


def read_response(
    chunks: Sequence[object], kind: type, taken: Collection[str] = ()
) -> tuple[Native, bool, Usage | None]:
    """The content of a response, whether it is whole, and its usage.

    Args:
        chunks: the response, or those of a stream in order, as plain data that is ours to keep.
        kind: what the response was, for the error.
        taken: ids of calls in the context; a call that repeats one is renamed.
    """
    contents: list[Mapping[str, Any]] = []
    finish, usage = "", None
    for chunk in chunks:
        if not isinstance(chunk, Mapping):
            raise DialectError(
                f"a {kind.__name__} is not a response of generateContent; pass the response object, "
                "or for a stream the list of all it gave."
            )
        content, reason = _candidate(chunk)
        contents += [content] if content is not None else []
        finish = reason or finish
        usage = _usage(chunk) or usage
    if not contents and not finish:
        raise DialectError(f"the reply has no candidate{_why(chunks)}; ask the model again.")
    return _sent_back(contents, taken), finish in _WHOLE, usage


def _candidate(chunk: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    if "candidates" not in chunk and "parts" in chunk:  # the content itself
        return chunk, "STOP"
    candidates = chunk.get("candidates")
    first = candidates[0] if isinstance(candidates, (list, tuple)) and candidates else None
    if not isinstance(first, Mapping):
        return None, ""
    content = first.get("content")
    return (content if isinstance(content, Mapping) else None), str(
        field_of(first, "finishReason") or ""
    )


def _why(chunks: Sequence[object]) -> str:
    for chunk in chunks:
        if isinstance(chunk, Mapping):
            feedback, error = field_of(chunk, "promptFeedback"), chunk.get("error")
            if isinstance(feedback, Mapping) and field_of(feedback, "blockReason"):
                return f" (the prompt was blocked: {field_of(feedback, 'blockReason')})"
            if isinstance(error, Mapping):
                return f" ({error.get('message')})"
    return ""


def _sent_back(contents: Sequence[Mapping[str, Any]], taken: Collection[str]) -> Native:
    """One content with the parts of all, each as it came."""
    parts: list[Native] = []
    for content in contents:
        own = content.get("parts")
        parts += [own] if isinstance(own, Mapping) else own or ()
    first = contents[0] if contents else {}
    if all(isinstance(part, Mapping) for part in parts):
        parts = distinct(parts, taken, _call_id, _with_id)
    return {**first, "role": first.get("role") or "model", "parts": parts}


def _call_id(part: Native, _: int) -> str | None:
    """A call without an id needs none: its place serves."""
    call = field_of(part, "functionCall")
    return str(call.get("id") or "") or None if isinstance(call, Mapping) else None


def _with_id(part: Native, name: str) -> Native:
    key = key_of(part, "functionCall")
    return {**part, key: {**part[key], "id": name}}


def _usage(chunk: Mapping[str, Any]) -> Usage | None:
    """`promptTokenCount` holds what came from a cache; thoughts are counted beside the candidates.
    What the server's own tools gave to the model is beside all of it (`UsageMetadata` in the API
    reference)."""
    usage = field_of(chunk, "usageMetadata")
    if not isinstance(usage, Mapping):
        return None
    prompt = count(field_of(usage, "promptTokenCount"))
    if not prompt:
        return None
    output = count(field_of(usage, "candidatesTokenCount"))
    return Usage(
        prompt,
        min(count(field_of(usage, "cachedContentTokenCount")), prompt),
        output + count(field_of(usage, "thoughtsTokenCount")),
    )
