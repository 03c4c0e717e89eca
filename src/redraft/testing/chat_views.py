"""The conversation of any provider as a player reads it.

A player (`redraft.testing.players`) knows Chat Completions alone. What it is shown is for reading: text,
calls and results; images and reasoning are left out. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.testing.refusals.base import members
from redraft.testing.refusals.gemini import field, parts_of
from redraft.testing.refusals.responses import items_of

__all__ = ["from_anthropic", "from_gemini", "from_responses"]

Body = Mapping[str, Any]


def _view(body: Body, messages: Iterator[dict[str, Any]]) -> dict[str, Any]:
    tools = body.get("tools")
    offered = {"tools": tools} if tools else {}
    return {"model": body.get("model"), "messages": list(messages), **offered, "native": body}


def _system(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"role": "system", "content": text}


def _texts(blocks: Sequence[Any]) -> str:
    return "\n".join(str(b["text"]) for b in blocks if isinstance(b.get("text"), str))


def _call(name: str, function: str, arguments: str) -> dict[str, Any]:
    about = {"name": function, "arguments": arguments}
    return {"id": name, "type": "function", "function": about}


# -- Anthropic -----------------------------------------------------------------------------------


def from_anthropic(body: Body) -> dict[str, Any]:
    """A request of the Messages API as a player reads it; `native` holds the request itself."""
    return _view(body, _anthropic_messages(body))


def _anthropic_messages(body: Body) -> Iterator[dict[str, Any]]:
    yield from _system(_texts(members(body.get("system"))))
    for message in body["messages"]:
        blocks = members(message["content"])
        for block in blocks:
            if block["type"] == "tool_result":
                text = _texts(members(block.get("content")))
                yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text}
        words = [block for block in blocks if block["type"] == "text"]
        calls = [
            _call(block["id"], block["name"], json.dumps(block["input"], ensure_ascii=False))
            for block in blocks
            if block["type"] == "tool_use"
        ]
        if words or calls or message["role"] == "assistant":
            yield _message(message["role"], _texts(words), calls)


def _message(role: str, text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": text or None if calls else text}
    return {**message, "tool_calls": list(calls)} if calls else message


# -- Responses -----------------------------------------------------------------------------------


def from_responses(body: Body, before: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A request of the Responses API as a player reads it; `native` holds the request itself.

    Args:
        body: the request.
        before: items of its history on the server.
    """
    return _view(body, _responses_messages(body, [*before, *items_of(body)]))


def _responses_messages(body: Body, items: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from _system(str(body.get("instructions") or ""))
    for item in items:
        match item.get("type") or "message":
            case "message":
                role = "system" if item["role"] == "developer" else item["role"]
                yield _message(role, _texts(members(item["content"])))
            case "function_call":
                call = _call(item["call_id"], item["name"], item["arguments"])
                yield _message("assistant", "", [call])
            case "function_call_output" | "custom_tool_call_output":
                text = _texts(members(item["output"]))
                yield {"role": "tool", "tool_call_id": item["call_id"], "content": text}


# -- Gemini --------------------------------------------------------------------------------------


def from_gemini(body: Body) -> dict[str, Any]:
    """A request of `generateContent` as a player reads it; `native` holds the request itself."""
    return _view(body, _gemini_messages(body))


def _gemini_messages(body: Body) -> Iterator[dict[str, Any]]:
    yield from _system(_texts(parts_of(field(body, "systemInstruction") or {})))
    contents = body["contents"]
    for at, content in enumerate([contents] if isinstance(contents, Mapping) else contents):
        words = [p for p in parts_of(content) if "text" in p and not p.get("thought")]
        calls = []
        for place, part in enumerate(parts_of(content)):
            call, result = field(part, "functionCall"), field(part, "functionResponse")
            if call is not None:
                arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
                calls.append(_call(call.get("id") or f"{at}.{place}", call["name"], arguments))
            if result is not None:
                name = result.get("id") or result["name"]
                yield {"role": "tool", "tool_call_id": name, "content": _outcome(result)}
        if words or calls:
            role = "assistant" if content.get("role") == "model" else "user"
            yield _message(role, _texts(words), calls)


def _outcome(result: Mapping[str, Any]) -> str:
    response = result["response"]
    text = response.get("output", response.get("error", response.get("result")))
    return text if isinstance(text, str) else json.dumps(response, ensure_ascii=False)
