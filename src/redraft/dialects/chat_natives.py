"""Chat messages as they are: copied once, and read for what a reader sees of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from redraft.dialects.base import Call, Content, Native, Part, Role
from redraft.dialects.media import describe_part
from redraft.errors import DialectError

__all__ = [
    "LEGACY",
    "REASONING",
    "answer_of",
    "content_of",
    "copied",
    "dump",
    "is_text",
    "legacy_call",
    "mapping_of",
    "message_of",
]

LEGACY = "function_call:"
"""What the id of a call in the legacy form begins with; its function's name follows."""

REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
"""Where servers put what the model thought. LiteLLM gives Claude's thoughts twice: as text, and as the
signed blocks that it passes on."""

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def copied(value: Any) -> Any:
    """A copy of JSON data that shares no container with it; SDK objects in it become mappings.

    Not `copy.deepcopy`: a field may hold what cannot be copied (a client's time-out, a lock), and
    such a leaf is kept.
    """
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, tuple):
        return tuple(copied(item) for item in value)
    mapping = None if isinstance(value, str) else _dumped(value)
    return value if mapping is None else _of_sdk(mapping)


def mapping_of(value: object) -> Mapping[str, Any] | None:
    """A mapping, or an SDK object as one; None for anything else."""
    return value if isinstance(value, Mapping) else _dumped(value)


def _dumped(value: object) -> Mapping[str, Any] | None:
    """What an SDK object holds, as its client would send it."""
    dump = getattr(value, "model_dump", None)
    if isinstance(value, type) or not callable(dump):
        return None
    try:
        dumped = dump(exclude_unset=True, warnings=False)
    except Exception as error:  # a stranger's method may raise anything
        raise DialectError(
            f"a {type(value).__name__} could not be read ({error}); pass plain mappings instead."
        ) from error
    return dumped if isinstance(dumped, Mapping) else None


def _of_sdk(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a message or call less what an SDK added to it, which no server takes back."""
    data: dict[str, Any] = copied(mapping)
    data.pop("parsed", None)
    calls = data.get("tool_calls")
    for call in calls if isinstance(calls, (list, tuple)) else (data,):
        if isinstance(call, dict):
            call.pop("index", None)
            if isinstance(call.get("function"), dict):
                call["function"].pop("parsed_arguments", None)
    return data


def message_of(message: object, where: str) -> Native:
    """A private copy of one message, whatever object the client holds it in."""
    if isinstance(message, Mapping):
        return cast("Native", copied(message))
    mapping = _dumped(message)
    if mapping is None:
        raise DialectError(
            f"{where} is a {type(message).__name__}; each message must be a mapping with a "
            "`role`, or a message object of the OpenAI SDK."
        )
    return answer_of(mapping)


def answer_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message that an SDK or a server made, as it is sent back: without nulls and what SDKs add."""
    native = {key: value for key, value in _of_sdk(message).items() if value is not None}
    if not native.get("tool_calls"):
        native.pop("tool_calls", None)
    if isinstance(native.get("audio"), Mapping):  # the API takes back no more than the id
        native["audio"] = {"id": native["audio"].get("id")}
    if "content" not in native:
        native["content"] = None if "tool_calls" in native or "function_call" in native else ""
    return native


def content_of(native: Native, where: str) -> Content:
    """Read one message.

    Args:
        native: the message; it becomes the carrier.
        where: what to call it in an error, e.g. `messages[3]`.
    """
    name = native.get("role")
    role = _ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise DialectError(
            f"{where} has the role {name!r}; Chat Completions knows {', '.join(_ROLES)}."
        )
    text, parts = _shown(native.get("content"), where)
    refusal = native.get("refusal")
    if isinstance(refusal, str) and refusal:
        text = f"{text}\n{refusal}" if text else refusal
    return Content(
        role=role,
        text=text,
        calls=_calls(native, where) if role == "assistant" else (),
        parts=parts,
        answers=_answers(native) if role == "tool" else None,
        hidden="\n".join(_hidden(native[key]) for key in _thoughts(native)),
        carriers=(native,),
    )


def _shown(body: object, where: str) -> tuple[str, tuple[Part, ...]]:
    """The visible text of a `content` field, and its members that are not text."""
    if body is None:
        return "", ()
    if isinstance(body, str):
        return body, ()
    if isinstance(body, (list, tuple)) and all(isinstance(member, Mapping) for member in body):
        texts = [_member_text(member) for member in body if is_text(member)]
        others = [member for member in body if not is_text(member)]
        return "\n".join(texts), tuple(map(describe_part, others, range(len(others))))
    raise DialectError(
        f"`content` of {where} is a {type(body).__name__}; it must be text, a list of content "
        "members, or None. Decode binary data or send it as an image or a file."
    )


def is_text(member: Mapping[str, Any]) -> bool:
    """Whether a content member is text that a reader sees."""
    return member.get("type") in ("text", "refusal") and isinstance(_member_text(member), str)


def _member_text(member: Mapping[str, Any]) -> str:
    return cast("str", member.get("text", member.get("refusal")))


def _thoughts(native: Native) -> list[str]:
    """The fields whose reasoning is sent on, each thought once."""
    fields = [key for key in REASONING if native.get(key)]
    return [key for key in fields if key != "reasoning_content" or "thinking_blocks" not in fields]


def _hidden(value: object) -> str:
    return value if isinstance(value, str) else dump(value)


def legacy_call(native: Native) -> Mapping[str, Any] | None:
    """The `function_call` of a message that has no `tool_calls`."""
    legacy = native.get("function_call")
    return legacy if isinstance(legacy, Mapping) and not native.get("tool_calls") else None


def _calls(native: Native, where: str) -> tuple[Call, ...]:
    legacy = legacy_call(native)
    if legacy is not None:
        name = str(legacy.get("name", ""))
        return (Call(LEGACY + name, name, _arguments(legacy.get("arguments"))),)
    calls = native.get("tool_calls") or ()
    if (
        isinstance(calls, str)
        or not isinstance(calls, Sequence)
        or not all(isinstance(call, Mapping) for call in calls)
    ):
        raise DialectError(f"`tool_calls` of {where} must be a list of tool calls.")
    return tuple(_call(call, index) for index, call in enumerate(calls))


def _call(native: Mapping[str, Any], index: int) -> Call:
    name = str(native.get("id") or "")
    custom = native.get("custom")
    if isinstance(custom, Mapping):
        arguments = _arguments(custom.get("input"))
        return Call(name, str(custom.get("name", "")), arguments, index, free=True)
    function = native.get("function")
    function = function if isinstance(function, Mapping) else {}
    return Call(name, str(function.get("name", "")), _arguments(function.get("arguments")), index)


def _arguments(value: object) -> str:
    """Arguments as text; some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dump(value)


def _answers(native: Native) -> str:
    if native.get("role") == "function":
        return LEGACY + str(native.get("name", ""))
    return str(native.get("tool_call_id") or "")


def dump(value: object) -> str:
    """JSON for counting and showing; never for the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_schema)


def _schema(value: object) -> object:
    """A response format given as a class counts as the schema that its client makes of it."""
    schema = getattr(value, "model_json_schema", None)
    return schema() if isinstance(value, type) and callable(schema) else str(value)
