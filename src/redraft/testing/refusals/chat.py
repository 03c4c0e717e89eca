"""What a server of Chat Completions refuses, in OpenAI's words.

Written from the API's error messages and not from `redraft.dialects.rules`: a second opinion. Arguments
that are no JSON object are refused too, as chat templates of open-weight models do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.testing.refusals.base import Body, Complaint, broken_text, is_object_text

__all__ = ["complaints"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def complaints(body: Body) -> Iterator[Complaint]:
    """All that the server would complain of, the first first."""
    if broken_text(body):
        yield Complaint("We could not parse the JSON body of your request.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Complaint("Invalid 'messages': empty array.", "messages", "empty_array")
        return
    for at, message in enumerate(messages):
        yield from _message(f"messages[{at}]", message)
    yield from _pairs(messages)


def _message(where: str, message: Any) -> Iterator[Complaint]:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in _ROLES:
        yield Complaint(f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
        return
    if role == "assistant":
        yield from _assistant(where, message)
    elif not _has_content(message.get("content")):
        yield Complaint(
            f"Invalid type for '{where}.content': expected a string or a list of objects, got null or "
            "an empty array.",
            f"{where}.content",
        )


def _has_content(content: Any) -> bool:
    return isinstance(content, str) or (isinstance(content, list) and bool(content))


def _assistant(where: str, message: Mapping[str, Any]) -> Iterator[Complaint]:
    calls = message.get("tool_calls")
    if "tool_calls" in message and not calls:
        yield Complaint(f"[] is too short - '{where}.tool_calls'", f"{where}.tool_calls")
    legacy = message.get("function_call")
    if "function_call" in message and not legacy:
        yield Complaint(f"None is not of type 'object' - '{where}.function_call'")
    says = bool(message.get("content")) or message.get("refusal") or message.get("audio")
    if not (calls or legacy or says):
        yield Complaint(
            f"Invalid value for 'content' of {where}: expected a string, got null.",
            f"{where}.content",
        )
    functions = [call.get("function", {}) for call in calls or () if "custom" not in call]
    for function in [*functions, *([legacy] if legacy else [])]:
        if not is_object_text(function.get("arguments")):
            yield Complaint(f"The arguments of a call in {where} are no JSON object.", where)


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Iterator[Complaint]:
    """Every call is answered right behind it, once, and nothing else is answered."""
    open_ids: list[str] = []
    for at, message in enumerate(messages):
        role, where = message.get("role"), f"messages[{at}].role"
        if role == "tool":
            name = str(message.get("tool_call_id") or "")
            if name not in open_ids:
                yield Complaint(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding "
                    f"message with 'tool_calls' ({name!r}).",
                    where,
                )
            else:
                open_ids.remove(name)
            continue
        yield from _unanswered(open_ids, where)
        calls = message.get("tool_calls") if role == "assistant" else None
        open_ids = [str(call.get("id") or "") for call in calls or ()]
        if len(set(open_ids)) < len(open_ids) or "" in open_ids:
            yield Complaint(f"Duplicate value for 'tool_call_id' in {where}.", where)
    yield from _unanswered(open_ids, "messages")


def _unanswered(names: Sequence[str], where: str) -> Iterator[Complaint]:
    if names:
        yield Complaint(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to "
            "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(names),
            where,
        )
