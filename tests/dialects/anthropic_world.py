"""Small builders for the Messages API, and the dialect under test."""

from __future__ import annotations

from typing import Any

from redraft.dialects import Content, Frame
from redraft.dialects.anthropic import Anthropic

Json = dict[str, Any]

CLAUDE = Anthropic()


def text(words: str = "words", **fields: Any) -> Json:
    return {"type": "text", "text": words, **fields}


def call(name: str = "a", **fields: Any) -> Json:
    return {"type": "tool_use", "id": name, "name": "bash", "input": {"command": "ls"}, **fields}


def result(name: str = "a", content: Any = "out", **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **fields}


def thought(words: str = "hm") -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def said(*blocks: Any) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> Json:
    return {"role": "user", "content": list(blocks)}


def contents(*messages: Any) -> tuple[Content, ...]:
    return CLAUDE.split({"messages": list(messages)})[1]


def one(message: Any) -> Content:
    (content,) = contents(message)
    return content


def one_turn(*messages: Any) -> Content:
    (content,) = contents(*messages)
    return content


def joined(*turns: Content) -> list[Any]:
    messages: list[Any] = CLAUDE.join(Frame(), turns)["messages"]
    return messages


def rewritten(content: Content, words: str) -> Content:
    return CLAUDE.write(content, words, content.calls, content.parts)


def reply(*blocks: Json, **fields: Any) -> Json:
    usage = {"input_tokens": 3, "output_tokens": 7}
    return {
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "usage": usage,
        **fields,
    }
