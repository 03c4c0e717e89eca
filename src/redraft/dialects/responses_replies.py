"""A response of the Responses API: its items as they will be sent back, whether it is whole, its usage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Native, Usage
from redraft.dialects.block_replies import count, distinct
from redraft.dialects.responses_items import Kind, call_id_of, kind_of, type_of, without_id
from redraft.errors import DialectError

__all__ = ["read_response", "sent_back"]

_UNDONE = ("failed", "cancelled", "queued", "in_progress")
_NEVER_NULL = ("id", "status", "namespace", "async")
"""Fields that a response may hold as null and a request may not (the SDK's types)."""

_BEHIND = ("previous_response_id", "conversation", "input_transformations")
"""Fields of a response that say that the model did not read just what was sent."""

_PLAIN = (Kind.MESSAGE, Kind.CALL, Kind.THOUGHT)


def read_response(
    body: object, kind: type, taken: Collection[str] = ()
) -> tuple[list[Native], bool, Usage | None]:
    """The items of a response, whether it is whole, and its usage.

    Args:
        body: the response as plain data, ours to keep.
        kind: what the response was, for the error.
        taken: ids of calls in the context; a call that repeats one is renamed.
    """
    response = _response(body)
    output = response.get("output") if response is not None else None
    if response is None or not isinstance(output, (list, tuple)) or not _are_items(output):
        raise DialectError(
            f"a {kind.__name__} is not a response of the Responses API{_why(response)}; pass the "
            "response object, or for a stream its final one (`stream.get_final_response()`)."
        )
    if response.get("status") in _UNDONE:
        raise DialectError(
            f"the response has the status {response['status']!r}{_why(response)}; wait until it is "
            "completed, or ask the model again."
        )
    items = distinct(map(sent_back, output), taken, _call_id, _with_id)
    items = _sendable(items, stored=response.get("store") is not False)
    return items, response.get("status") != "incomplete", _usage(response, output)


def _response(body: object) -> Mapping[str, Any] | None:
    """The response itself, also where it came as the last event of a stream or as its `output`."""
    if isinstance(body, (list, tuple)):
        return {"output": body}
    if not isinstance(body, Mapping):
        return None
    inner = body.get("response")
    if str(body.get("type")).startswith("response.") and isinstance(inner, Mapping):
        return inner
    if body.get("object") == "response.compaction":
        raise DialectError(
            "a compaction is no answer of the model; pass its `output` on as the new `input`."
        )
    return body


def _are_items(output: Sequence[object]) -> bool:
    return all(isinstance(item, Mapping) for item in output)


def _why(response: Mapping[str, Any] | None) -> str:
    error = response.get("error") if response is not None else None
    return f" ({error.get('message')})" if isinstance(error, Mapping) else ""


def sent_back(item: Mapping[str, Any]) -> Native:
    """An item of a response as a request takes it.

    The SDK adds `parsed` and `parsed_arguments`, the server says who made an item, and reasoning with a
    `status` is refused (BerriAI/litellm#13420). All else is sent as it came.
    """
    kind = type_of(item)
    dropped = {"created_by", *(key for key in _NEVER_NULL if item.get(key) is None)}
    dropped |= {"status"} if kind == "reasoning" else set()
    dropped |= {"parsed_arguments"} if kind == "function_call" else set()
    native = {key: value for key, value in item.items() if key not in dropped}
    content = native.get("content")
    if kind == "message" and isinstance(content, (list, tuple)):
        native["content"] = [_member_sent_back(member) for member in content]
    return native


def _member_sent_back(member: object) -> object:
    if not isinstance(member, Mapping) or "parsed" not in member:
        return member
    return {key: value for key, value in member.items() if key != "parsed"}


def _call_id(item: Native, place: int) -> str | None:
    """Approvals are named by the server, which knows them by that name alone."""
    if kind_of(item) is not Kind.CALL or type_of(item) == "mcp_approval_request":
        return None
    return call_id_of(item) or (f"call_{place}" if place >= 0 else "")


def _with_id(item: Native, name: str) -> Native:
    return {**item, "call_id": name}


def _sendable(items: Sequence[Native], *, stored: bool) -> list[Native]:
    """The items less what no server takes: reasoning with nothing behind it (the output was cut off),
    and reasoning that was neither stored nor sealed, which only a stored id could name."""
    kept = list(items)
    while kept and kind_of(kept[-1]) is Kind.THOUGHT:
        kept.pop()
    if stored or all(item.get("encrypted_content") for item in kept if _thinks(item)):
        return kept
    return [without_id(item) for item in kept if not _thinks(item)]


def _thinks(item: Native) -> bool:
    return kind_of(item) is Kind.THOUGHT


def _usage(response: Mapping[str, Any], output: Sequence[Native]) -> Usage | None:
    """`input_tokens` holds what came from a cache. It does not measure what was sent where the server put
    a history before it, looped over its own tools, compacted the input or withheld reasoning."""
    usage = response.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt = count(usage.get("input_tokens"))
    if not prompt:
        return None
    details = usage.get("input_tokens_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    plain = all(kind_of(item) in _PLAIN for item in output)
    comparable = plain and not any(response.get(key) for key in _BEHIND)
    return Usage(prompt, min(cached, prompt), count(usage.get("output_tokens")), comparable)
