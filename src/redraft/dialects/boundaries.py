"""Where a list may be cut, format by format: no call in front of the cut waits for a result.

A check of what is new in a list starts at such a place. Everything here looks back from an index and
no further than the calls behind it, so that a request costs what is new in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redraft.dialects.base import Native
from redraft.dialects.gemini_parts import field_of
from redraft.dialects.responses_items import Kind, is_hosted, kind_of, type_of

__all__ = [
    "Boundary",
    "anthropic_boundary",
    "chat_boundary",
    "gemini_boundary",
    "item_speaks",
    "responses_boundary",
]

Boundary = Callable[[Sequence[Native], int], int]
"""The nearest index at or before a given one where no call in front of it waits for a result."""


def chat_boundary(messages: Sequence[Native], at: int) -> int:
    """For Chat Completions: in front of a call whose results end the list, or at `at`."""
    return _boundary(messages, at, _chat_answers, _chat_speaks, _chat_calls)


def anthropic_boundary(messages: Sequence[Native], at: int) -> int:
    """For the Messages API, where results are blocks and messages of one role are one turn."""
    return _boundary(messages, at, _anthropic_answers, _anthropic_speaks, _anthropic_calls)


def gemini_boundary(messages: Sequence[Native], at: int) -> int:
    """For generateContent, where results are parts and contents of one role are one turn."""
    return _boundary(messages, at, _gemini_answers, _gemini_speaks, _gemini_calls)


def responses_boundary(items: Sequence[Native], at: int) -> int:
    """For the Responses API, where a turn of the model's is a run of items.

    What the server's own shell put out stands among the model's items and ends no run.
    """
    at = min(at, len(items))
    while at > 0 and kind_of(items[at - 1]) is Kind.RESULT and not _is_servers(items, at - 1):
        at -= 1
    start = at
    while start > 0 and (item_speaks(items[start - 1]) or _is_servers(items, start - 1)):
        start -= 1
    waits = any(kind_of(item) is Kind.CALL for item in items[start:at])
    return start if waits else at


def _boundary(
    messages: Sequence[Native],
    at: int,
    answers: Callable[[Native], bool],
    speaks: Callable[[Native], bool],
    calls: Callable[[Native], bool],
) -> int:
    at = min(at, len(messages))
    while at > 0 and answers(messages[at - 1]):
        at -= 1
    start = at
    while start > 0 and speaks(messages[start - 1]):
        start -= 1
    return start if any(map(calls, messages[start:at])) else at


def _chat_answers(message: Native) -> bool:
    return message.get("role") in ("tool", "function")


def _chat_speaks(message: Native) -> bool:
    return message.get("role") == "assistant"


def _chat_calls(message: Native) -> bool:
    return bool(message.get("tool_calls")) or isinstance(message.get("function_call"), Mapping)


def _anthropic_answers(message: Native) -> bool:
    return message.get("role") == "user" and _has(message, "tool_result")


def _anthropic_speaks(message: Native) -> bool:
    return message.get("role") == "assistant"


def _anthropic_calls(message: Native) -> bool:
    return _has(message, "tool_use")


def _has(message: Native, kind: str) -> bool:
    body = message.get("content")
    return isinstance(body, (list, tuple)) and any(block.get("type") == kind for block in body)


def _gemini_answers(content: Native) -> bool:
    return content.get("role") != "model" and _has_part(content, "functionResponse")


def _gemini_speaks(content: Native) -> bool:
    return content.get("role") == "model"


def _gemini_calls(content: Native) -> bool:
    return _has_part(content, "functionCall")


def _has_part(content: Native, name: str) -> bool:
    parts = content.get("parts")
    listed = (parts,) if isinstance(parts, Mapping) else parts or ()
    return any(isinstance(field_of(part, name), Mapping) for part in listed)


def item_speaks(item: Native) -> bool:
    """Whether an item of the Responses API is the model's.

    One of a type that nobody knows is, unless its role denies it.
    """
    match kind_of(item):
        case Kind.MESSAGE | Kind.PART:
            return item.get("role") in ("assistant", None)
        case Kind.RESULT | Kind.LONE:
            return False
        case _:
            return True


def _is_servers(items: Sequence[Native], at: int) -> bool:
    """Whether a result was made by the server; its call stands among the model's items before it."""
    if type_of(items[at]) != "shell_call_output":
        return False
    start = at
    while start > 0 and (item_speaks(items[start - 1]) or kind_of(items[start - 1]) is Kind.RESULT):
        start -= 1
    return is_hosted(items[at], items[start:at])
