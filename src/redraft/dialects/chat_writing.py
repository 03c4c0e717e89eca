"""Chat messages with other text, calls or parts: what stays is the very object it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from redraft.dialects.arguments import parse_object
from redraft.dialects.base import Call, Content, Part
from redraft.dialects.chat_natives import REASONING, is_text, legacy_call

__all__ = ["without_reasoning", "written"]

_OWN = ("type", "text", "refusal")


def written(
    content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
) -> dict[str, Any]:
    """The message of `content` with these instead.

    Reasoning stays only where a call of the turn stays: thinking servers want it beside its call, and
    nobody wants the thoughts behind a text that is gone.
    """
    native = dict(content.carriers[0])
    if text != content.text:
        native.pop("refusal", None)
    native["content"] = _body(native.get("content"), content, text, calls, parts)
    _set_calls(native, content, calls)
    if not calls:
        for key in REASONING:
            native.pop(key, None)
    return native


def without_reasoning(content: Content) -> Content:
    """The message of `content` without the fields that hold reasoning; `content` itself if it has none."""
    native = content.carriers[0]
    kept = {key: value for key, value in native.items() if key not in REASONING or not value}
    if len(kept) == len(native):
        return content
    return replace(content, hidden="", carriers=(kept,))


def _body(
    old: object, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
) -> object:
    """A `content` field with new text; members that stay are the same objects, in their order."""
    kept = {part.index for part in parts}
    if text == content.text and len(kept) == len(content.parts):
        return old
    members: list[object] = []
    if isinstance(old, (list, tuple)):
        members = _members(old, kept, None if text == content.text else text)
    return members or (text if text or not calls else None)


def _members(old: Sequence[Mapping[str, Any]], kept: set[int], text: str | None) -> list[object]:
    """Content members less the parts that go; `text`, unless None, stands where the first text stood.

    Other fields of the text members (a cache marker) go over to the new one.
    """
    texts = [member for member in old if is_text(member)]
    extra = {key: value for m in texts for key, value in m.items() if key not in _OWN}
    new = [{"type": "text", "text": text, **extra}] if text else []
    members: list[object] = [] if texts or text is None else [*new]
    part = 0
    for member in old:
        if not is_text(member):
            if part in kept:
                members.append(member)
            part += 1
        elif text is None:
            members.append(member)
        elif member is texts[0]:
            members.extend(new)
    return members


def _set_calls(native: dict[str, Any], content: Content, calls: Sequence[Call]) -> None:
    """Put in the calls that stay. A null `function_call` or `tool_calls` is left as it came."""
    if tuple(calls) == content.calls:
        return
    legacy = legacy_call(native)
    if not calls:
        native.pop("function_call" if legacy is not None else "tool_calls", None)
    elif legacy is not None:
        native["function_call"] = {**legacy, "arguments": calls[0].arguments}
    else:
        natives = native["tool_calls"]
        native["tool_calls"] = [
            natives[call.index]
            if call == content.calls[call.index]
            else _with_arguments(natives[call.index], call.arguments)
            for call in calls
        ]


def _with_arguments(native: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    """Arguments keep the form they had: text, the object itself, or a custom tool's input."""
    if isinstance(native.get("custom"), Mapping):
        return {**native, "custom": {**native["custom"], "input": arguments}}
    function = native.get("function")
    function = function if isinstance(function, Mapping) else {}
    value: object = arguments
    if isinstance(function.get("arguments", ""), Mapping):
        value = parse_object(arguments) or {}
    return {**native, "function": {**function, "arguments": value}}
