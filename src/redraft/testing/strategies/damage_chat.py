"""Lists that something went wrong with: a crash, a bad cut, another tool's edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from redraft.testing.strategies.chat import chat_conversations

__all__ = ["damaged_conversations"]

Message = dict[str, Any]


@st.composite
def damaged_conversations(draw: DrawFn, *, max_damages: int = 4) -> list[Message]:
    """Conversations that something went wrong with: a crash, a bad cut, another tool's edit.

    Orphans, missing and moved results, repeated messages and ids, empty messages, cut-off arguments,
    nulls, surrogates in texts, keys and arguments.

    Args:
        max_damages: how many things went wrong at most.
    """
    messages = draw(chat_conversations())
    for _ in range(draw(st.integers(0, max_damages))):
        if messages:
            at = draw(st.integers(0, len(messages) - 1))
            messages = draw(_DAMAGES)(messages, at, draw(st.integers(0, len(messages))))
    return messages


def _lost(messages: list[Message], at: int, _to: int = 0) -> list[Message]:
    return messages[:at] + messages[at + 1 :]


def _repeated(messages: list[Message], at: int, to: int) -> list[Message]:
    return [*messages[:to], messages[at], *messages[to:]]


def _moved(messages: list[Message], at: int, to: int) -> list[Message]:
    left = _lost(messages, at)
    return [*left[:to], messages[at], *left[to:]]


def _changed(messages: list[Message], at: int, change: Mapping[str, Any]) -> list[Message]:
    return [*messages[:at], {**messages[at], **change}, *messages[at + 1 :]]


def _emptied(messages: list[Message], at: int, to: int) -> list[Message]:
    return _changed(messages, at, {"content": (None, "", [])[to % 3]})


def _nulled(messages: list[Message], at: int, to: int) -> list[Message]:
    return _changed(messages, at, _NULLS[to % 3])


_NULLS: tuple[Message, ...] = ({"tool_calls": None}, {"tool_calls": []}, {"function_call": None})


def _renamed(messages: list[Message], at: int, to: int) -> list[Message]:
    """An id that something else has already, or none."""
    name = ("", "call_1", "\ud800")[to % 3]
    message = messages[at]
    if message.get("tool_calls"):
        calls = [{**call, "id": name} for call in message["tool_calls"]]
        return _changed(messages, at, {"tool_calls": calls})
    return _changed(messages, at, {"tool_call_id": name}) if "tool_call_id" in message else messages


def _cut_off(messages: list[Message], at: int, to: int) -> list[Message]:
    cut = ('{"command": "ls', "", "[1]", '{"x": NaN}', '{"x": "\\ud99c"}', None)[to % 6]
    message = messages[at]
    if message.get("function_call"):
        return _changed(messages, at, {"function_call": {"name": "look", "arguments": cut}})
    calls = [
        {**call, "function": {**call["function"], "arguments": cut}}
        for call in message.get("tool_calls") or ()
    ]
    return _changed(messages, at, {"tool_calls": calls}) if calls else messages


def _unknown_key(messages: list[Message], at: int, _to: int) -> list[Message]:
    return _changed(messages, at, {"x_\udc80": {"\ud800": ["\udfff", 1]}})


_DAMAGES: SearchStrategy[Callable[[list[Message], int, int], list[Message]]] = st.sampled_from(
    (_lost, _repeated, _moved, _emptied, _nulled, _renamed, _cut_off, _unknown_key)
)
