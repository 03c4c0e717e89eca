"""Small builders for chat messages, and the dialect under test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redraft.dialects import Content, OpenAIChat

CHAT = OpenAIChat()

Message = dict[str, Any]


def user(content: Any = "task", **fields: Any) -> Message:
    return {"role": "user", "content": content, **fields}


def said(content: Any = "hello", **fields: Any) -> Message:
    return {"role": "assistant", "content": content, **fields}


def call(name: str = "a", arguments: Any = "{}") -> Message:
    return {"id": name, "type": "function", "function": {"name": "bash", "arguments": arguments}}


def calls(*names: str, content: Any = None, **fields: Any) -> Message:
    return said(content, tool_calls=[call(name) for name in names], **fields)


def result(name: str = "a", content: Any = "out") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": content}


def legacy(arguments: Any = "{}", **fields: Any) -> Message:
    return said(None, function_call={"name": "look", "arguments": arguments}, **fields)


def legacy_result(content: Any = "seen") -> Message:
    return {"role": "function", "name": "look", "content": content}


def contents(*messages: Any, **fields: Any) -> tuple[Content, ...]:
    return CHAT.split({"messages": list(messages), **fields})[1]


def one(message: Any) -> Content:
    (content,) = contents(message)
    return content


def joined(split: Sequence[Content]) -> list[Any]:
    frame, _ = CHAT.split({"messages": []})
    messages: list[Any] = CHAT.join(frame, split)["messages"]
    return messages


def wire(value: Any) -> bytes:
    """As the OpenAI client writes JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
