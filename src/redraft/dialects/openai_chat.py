"""OpenAI's Chat Completions, and the many servers that speak it.

One message is one turn. What else a message carries (names, cache markers, provider extras) rides in
its carrier untouched. Source of the shapes: the API reference for chat completions.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from redraft.dialects.base import (
    Call,
    Content,
    Frame,
    Native,
    Part,
    Reply,
    Role,
    Usage,
    join_carriers,
)
from redraft.dialects.media import describe_part
from redraft.errors import DialectError

__all__ = ["OpenAIChat"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_COUNTED = ("tools", "functions", "response_format")
# Fields that SDK helpers add to what the server sent and that no server takes back.
_SDK_ONLY = ("parsed", "parsed_arguments")


class OpenAIChat:
    """The `openai-chat` dialect; see `redraft.dialects.base.Dialect` for the methods."""

    name = "openai-chat"

    def split(self, body: Native) -> tuple[Frame, tuple[Content, ...]]:
        """Take a request (`messages` and any other fields) apart."""
        messages = body.get("messages")
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise DialectError(
                "`messages` must be a list of chat messages; pass [{'role': 'user', 'content': ...}]."
            )
        fields = {key: copy.deepcopy(body[key]) for key in body if key != "messages"}
        counted = tuple(_dump(fields[key]) for key in _COUNTED if fields.get(key))
        contents = tuple(_content(_native(message, at), at) for at, message in enumerate(messages))
        return Frame(fields, counted), contents

    def join(self, frame: Frame, contents: Sequence[Content]) -> dict[str, Any]:
        """`messages` first, then the frame's fields as they came."""
        return {"messages": join_carriers(contents, _never_shared), **frame.fields}

    def read(self, response: object) -> Reply:
        """Read a `ChatCompletion` (SDK object, final object of a stream, or mapping), or a message."""
        body = _mapping(response)
        if body is None:
            raise DialectError(
                f"a {type(response).__name__} is not a chat completion; pass the response object, "
                "or for a stream its final object (`stream.get_final_completion()`)."
            )
        message, finish = _choice(body)
        native = _answer(message)
        return Reply(_content(native, 0), finish not in ("length", "content_filter"), _usage(body))

    def write(
        self, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
    ) -> Content:
        """The same message with other text, calls or parts.

        Reasoning stays only where a call of the turn stays: thinking servers want it beside its
        call, and nobody wants the thoughts behind a text that is gone.
        """
        native = dict(content.carriers[0])
        native["content"] = _body(native.get("content"), content, text, calls, parts)
        _set_calls(native, content, calls)
        if not calls:
            for key in _REASONING:
                native.pop(key, None)
        return _content(native, 0)

    def result(self, call: Call, text: str) -> Content:
        """A `tool` message; a `function` message for a call in the legacy form."""
        if call.id.startswith(_LEGACY):
            return _content({"role": "function", "name": call.name, "content": text}, 0)
        return _content({"role": "tool", "tool_call_id": call.id, "content": text}, 0)

    def note(self, role: Literal["user", "assistant"], text: str) -> Content:
        """A plain text message."""
        return _content({"role": role, "content": text}, 0)

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to the last of the leading system messages; once, however often asked."""
        lead = 0
        while lead < len(contents) and contents[lead].role == "system":
            lead += 1
        if lead == 0:
            return frame, (_content({"role": "system", "content": section}, 0), *contents)
        last = contents[lead - 1]
        if section in last.text:
            return frame, tuple(contents)
        native = dict(last.carriers[0])
        body = native.get("content")
        if isinstance(body, list):
            native["content"] = [*body, {"type": "text", "text": section}]
        else:
            native["content"] = f"{body}\n\n{section}" if body else section
        return frame, (*contents[: lead - 1], _content(native, 0), *contents[lead:])


_LEGACY = "function_call:"


def _native(message: object, at: int) -> Native:
    """A private copy of one message, whatever object the client holds it in."""
    mapping = _mapping(message)
    if mapping is None:
        raise DialectError(
            f"messages[{at}] is a {type(message).__name__}; each message must be a mapping with a "
            "`role`, or a message object of the OpenAI SDK."
        )
    return cast("Native", copy.deepcopy(dict(mapping)))


def _mapping(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return None
    dumped = dump(exclude_none=True, exclude_unset=True)
    return dumped if isinstance(dumped, Mapping) else None


def _content(native: Native, at: int) -> Content:
    role = _ROLES.get(cast("str", native.get("role")))
    if role is None:
        raise DialectError(
            f"messages[{at}] has the role {native.get('role')!r}; "
            f"Chat Completions knows {', '.join(_ROLES)}."
        )
    text, members = _shown(native.get("content"), at)
    return Content(
        role=role,
        text=text,
        calls=_calls(native, at),
        parts=tuple(describe_part(member, index) for index, member in enumerate(members)),
        answers=_answers(native) if role == "tool" else None,
        hidden="\n".join(_hidden(native.get(key)) for key in _REASONING if native.get(key)),
        carriers=(native,),
    )


def _shown(body: object, at: int) -> tuple[str, list[Mapping[str, Any]]]:
    """The visible text of a `content` field, and its members that are not text."""
    if body is None:
        return "", []
    if isinstance(body, str):
        return body, []
    if isinstance(body, (list, tuple)) and all(isinstance(member, Mapping) for member in body):
        texts = [_member_text(member) for member in body if _is_text(member)]
        return "\n".join(texts), [member for member in body if not _is_text(member)]
    raise DialectError(
        f"messages[{at}]['content'] is a {type(body).__name__}; it must be text, a list of content "
        "members, or None. Decode binary data or send it as an image or a file."
    )


def _is_text(member: Mapping[str, Any]) -> bool:
    return member.get("type") in ("text", "refusal") and isinstance(
        member.get("text", member.get("refusal")), str
    )


def _member_text(member: Mapping[str, Any]) -> str:
    return cast("str", member.get("text", member.get("refusal")))


def _hidden(value: object) -> str:
    return value if isinstance(value, str) else _dump(value)


def _calls(native: Native, at: int) -> tuple[Call, ...]:
    legacy = native.get("function_call")
    if isinstance(legacy, Mapping):
        name = str(legacy.get("name", ""))
        return (Call(_LEGACY + name, name, str(legacy.get("arguments", ""))),)
    calls = native.get("tool_calls") or ()
    if not isinstance(calls, Sequence) or not all(isinstance(call, Mapping) for call in calls):
        raise DialectError(f"messages[{at}]['tool_calls'] must be a list of tool calls.")
    return tuple(_call(call, index) for index, call in enumerate(calls))


def _call(native: Mapping[str, Any], index: int) -> Call:
    function = native.get("function", native.get("custom"))
    if not isinstance(function, Mapping):
        function = {}
    arguments = function.get("arguments", function.get("input", ""))
    if not isinstance(arguments, str):  # some servers send the object itself
        arguments = _dump(arguments)
    return Call(str(native.get("id", "")), str(function.get("name", "")), arguments, index)


def _answers(native: Native) -> str:
    if native.get("role") == "function":
        return _LEGACY + str(native.get("name", ""))
    return str(native.get("tool_call_id", ""))


def _body(
    old: object, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
) -> object:
    """A `content` field with new text; members that stay are the same objects, in their order."""
    if not parts or not isinstance(old, (list, tuple)):
        return text if text or not calls else None
    kept = {part.index for part in parts}
    members: list[Mapping[str, Any]] = []
    placed = unchanged = text == content.text
    seen = 0
    for member in old:
        if not _is_text(member):
            if seen in kept:
                members.append(member)
            seen += 1
        elif unchanged:
            members.append(member)
        elif not placed and text:
            members.append({"type": "text", "text": text})
            placed = True
    if not placed and text:
        members.insert(0, {"type": "text", "text": text})
    return members


def _set_calls(native: dict[str, Any], content: Content, calls: Sequence[Call]) -> None:
    old = {call.index: call for call in content.calls}
    if "function_call" in native:
        legacy = native.pop("function_call")
        if calls:
            same = calls[0].arguments == old[0].arguments
            native["function_call"] = (
                legacy if same else {**legacy, "arguments": calls[0].arguments}
            )
        return
    if not calls:
        native.pop("tool_calls", None)
        return
    natives = native["tool_calls"]
    native["tool_calls"] = [
        natives[call.index]
        if call.arguments == old[call.index].arguments
        else _with_arguments(natives[call.index], call.arguments)
        for call in calls
    ]


def _with_arguments(native: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    """Arguments keep the form they had: text, the object itself, or a custom tool's input."""
    if isinstance(native.get("custom"), Mapping):
        return {**native, "custom": {**native["custom"], "input": arguments}}
    function = native["function"]
    value: object = arguments
    if not isinstance(function.get("arguments", ""), str):
        value = json.loads(arguments)
    return {**native, "function": {**function, "arguments": value}}


def _choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    if "choices" not in body and body.get("role") == "assistant":
        return body, "stop"
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
        raise DialectError("the reply has no `choices`; ask the model again.")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise DialectError("the reply's first choice has no `message`; ask the model again.")
    return message, str(choices[0].get("finish_reason") or "stop")


def _answer(message: Mapping[str, Any]) -> Native:
    """The assistant message as it will be sent back: what the server made, less what SDKs added."""
    native = {
        key: copy.deepcopy(value)
        for key, value in message.items()
        if value is not None and key not in _SDK_ONLY
    }
    native["role"] = "assistant"
    if native.get("tool_calls"):
        native["tool_calls"] = _distinct(native["tool_calls"])
    else:
        native.pop("tool_calls", None)
    native.setdefault("content", None if "tool_calls" in native else "")
    return native


def _distinct(calls: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Calls with ids of their own: a repeated call is one call, a repeated or missing id is renamed."""
    kept: list[dict[str, Any]] = []
    taken: dict[str, dict[str, Any]] = {}
    for place, raw in enumerate(calls):
        call = {key: value for key, value in raw.items() if key not in ("index", *_SDK_ONLY)}
        if isinstance(call.get("function"), Mapping):
            call["function"] = {k: v for k, v in call["function"].items() if k not in _SDK_ONLY}
        name = str(call.get("id") or f"call_{place}")
        if taken.get(name) == {**call, "id": name}:
            continue
        while name in taken:
            name += f"_{place}"
        call["id"] = name
        taken[name] = call
        kept.append(call)
    return kept


def _usage(body: Mapping[str, Any]) -> Usage | None:
    usage = body.get("usage")
    if not isinstance(usage, Mapping) or not isinstance(usage.get("prompt_tokens"), int):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    output = usage.get("completion_tokens")
    return Usage(
        prompt=usage["prompt_tokens"],
        cached=cached if isinstance(cached, int) else 0,
        output=output if isinstance(output, int) else 0,
    )


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _never_shared(run: Sequence[Content]) -> Native:
    raise AssertionError(f"a chat message holds one turn, yet {len(run)} share one")
