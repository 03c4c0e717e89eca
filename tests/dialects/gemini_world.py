"""Small builders for generateContent, and the dialect under test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.dialects import Content, Frame
from redraft.dialects.gemini import Gemini

Json = dict[str, Any]

GEMINI = Gemini()


def model(*parts: Any) -> Json:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> Json:
    return {"role": "user", "parts": list(parts)}


def text(words: str = "words", **fields: Any) -> Json:
    return {"text": words, **fields}


def call(name: str = "bash", own: str = "", **fields: Any) -> Json:
    ids = {"id": own} if own else {}
    return {"functionCall": {**ids, "name": name, "args": {"n": 1}}, **fields}


def result(output: Any = "out", name: str = "bash", own: str = "") -> Json:
    ids = {"id": own} if own else {}
    response = output if isinstance(output, Mapping) else {"output": output}
    return {"functionResponse": {**ids, "name": name, "response": response}}


def contents(*messages: Any) -> tuple[Content, ...]:
    return GEMINI.split({"contents": list(messages)})[1]


def one(message: Any) -> Content:
    (content,) = contents(message)
    return content


def joined(*turns: Content) -> list[Any]:
    messages: list[Any] = GEMINI.join(Frame(), turns)["contents"]
    return messages


def rewritten(content: Content, words: str) -> Content:
    return GEMINI.write(content, words, content.calls, content.parts)


def answers(*messages: Any) -> list[str | None]:
    return [turn.answers for turn in contents(*messages) if turn.role == "tool"]


def reply(*parts: Any, finish: str | None = "STOP", **fields: Any) -> Json:
    return {"candidates": [{"content": model(*parts), "finishReason": finish}], **fields}
