"""A player's answer in the shape of each provider. Pure.

A player (`redraft.testing.players`) answers with an assistant message of Chat Completions. Two fields go
beyond it: `reasoning_content`, which becomes the provider's own reasoning, and `native`, a list of
blocks, items or parts that are sent as they are, behind the reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from redraft.testing.completions import chat_completion, usage
from redraft.testing.fenced import fenced_message

__all__ = ["anthropic_blocks", "gemini_parts", "reply", "responses_items"]

Json = dict[str, Any]
Message = Mapping[str, Any]


def anthropic_blocks(message: Message) -> list[Json]:
    """A message as blocks of the Messages API; thinking has no signature yet."""
    blocks: list[Json] = []
    if message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": message["reasoning_content"]})
    blocks += message.get("native") or ()
    if message.get("content"):
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls") or ():
        about = {"id": call["id"], "name": call["function"]["name"], "input": _arguments(call)}
        blocks.append({"type": "tool_use", **about})
    return blocks or [{"type": "text", "text": "..."}]


def responses_items(message: Message, name: Callable[[str], str], *, sealed: bool) -> list[Json]:
    """A message as items of the Responses API.

    Args:
        message: the answer.
        name: makes an id that nothing else has, from its prefix.
        sealed: whether reasoning is encrypted, as it is where nothing is stored.
    """
    items: list[Json] = []
    if message.get("reasoning_content"):
        summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
        item = {"type": "reasoning", "id": name("rs"), "summary": summary}
        items.append({**item, "encrypted_content": name("gAAAAAB")} if sealed else item)
    items += message.get("native") or ()
    calls = message.get("tool_calls") or ()
    if message.get("content") or not calls:
        text = message.get("content") or "..."
        part = {"type": "output_text", "text": text, "annotations": list[Any]()}
        said = {"type": "message", "id": name("msg"), "role": "assistant"}
        items.append({**said, "status": "completed", "content": [part]})
    for call in calls:
        about = {"call_id": call["id"], "status": "completed", **call["function"]}
        items.append({"type": "function_call", "id": name("fc"), **about})
    return items


def gemini_parts(
    message: Message, seal: Callable[[], str] | None, *, call_ids: bool = True
) -> list[Json]:
    """A message as parts of `generateContent`.

    Args:
        message: the answer.
        seal: makes the signature of the first call; None where calls are not signed.
        call_ids: whether calls have ids.
    """
    parts: list[Json] = []
    if message.get("reasoning_content"):
        parts.append({"text": message["reasoning_content"], "thought": True})
    parts += message.get("native") or ()
    if message.get("content"):
        parts.append({"text": message["content"]})
    for place, call in enumerate(message.get("tool_calls") or ()):
        name = {"id": call["id"]} if call_ids else {}
        about = {**name, "name": call["function"]["name"], "args": _arguments(call)}
        part: Json = {"functionCall": about}
        if seal is not None and place == 0:
            part["thoughtSignature"] = seal()
        parts.append(part)
    return parts or [{"text": "..."}]


def _arguments(call: Mapping[str, Any]) -> Json:
    """The arguments of a Chat call as an object; empty where they were cut off."""
    try:
        value = json.loads(call["function"]["arguments"] or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def reply(dialect: str, message: Message, number: int) -> Json:
    """A whole response without a server, with made-up ids and signatures.

    Args:
        dialect: the wire format's name.
        message: the answer, as a player gives it.
        number: makes ids and signatures that no other reply has.

    Raises:
        ValueError: no wire format has this name.
    """
    match dialect:
        case "openai-chat":
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            return chat_completion(number, "m", message, finish, usage(0, 0, 0))
        case "fenced-chat":
            return chat_completion(number, "m", fenced_message(message), "stop", usage(0, 0, 0))
        case "anthropic":
            blocks = anthropic_blocks(message)
            for place, block in enumerate(blocks):
                if block["type"] == "thinking":
                    blocks[place] = {**block, "signature": f"reply{number}=="}
            return {"type": "message", "role": "assistant", "content": blocks}
        case "openai-responses":
            items = responses_items(message, lambda prefix: f"{prefix}_r{number}", sealed=True)
            calls = 0
            for place, item in enumerate(items):
                if item["type"] == "function_call":
                    items[place] = {**item, "id": f"{item['id']}_{calls}"}
                    calls += 1
            return {"object": "response", "status": "completed", "output": items}
        case "gemini":
            parts = gemini_parts(message, lambda: f"reply{number}==")
            content = {"role": "model", "parts": parts}
            return {"candidates": [{"content": content, "finishReason": "STOP"}]}
        case _:
            raise ValueError(f"no wire format is named {dialect!r}; see `Dialect.name`")
