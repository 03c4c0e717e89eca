"""What a server without function calling refuses: everything that is not a text of one of three roles.

Private keys are refused by name, since a lenient server takes fields that it does not know: what is kept
beside a message for whoever keeps the history must not leave the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redraft.testing.refusals import chat
from redraft.testing.refusals.base import Body, Complaint

__all__ = ["complaints"]

_FIELDS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")
_OF_CALLS = ("tool_calls", "function_call", "tool_call_id")
_ROLES = ("system", "user", "assistant")


def complaints(body: Body) -> Iterator[Complaint]:
    """All that the server would complain of, the first first."""
    for name in _FIELDS:
        if name in body:
            yield Complaint(
                f"'{name}' is not supported by this model.", name, "unsupported_parameter"
            )
    yield from (_private(name, name) for name in body if name.startswith("_"))
    messages = body.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, Mapping):
            yield from _message(f"messages[{at}]", message)
    yield from chat.complaints(body)


def _message(where: str, message: Mapping[str, Any]) -> Iterator[Complaint]:
    role = message.get("role")
    if role not in _ROLES:
        yield Complaint(f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
    for name in message:
        if name in _OF_CALLS:
            yield Complaint(f"'{name}' is not supported by this model.", f"{where}.{name}")
        if name.startswith("_"):
            yield _private(name, f"{where}.{name}")


def _private(name: str, where: str) -> Complaint:
    return Complaint(f"Unrecognized key: '{name}'.", where, "unknown_parameter")
