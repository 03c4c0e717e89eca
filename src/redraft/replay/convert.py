"""Other formats' messages as Chat Completions messages. What has no place there becomes text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Loose", "call_of", "chat", "from_blocks", "from_items", "text_of"]

_KEPT = ("name", "tool_calls", "tool_call_id", "function_call", "reasoning_content")


class Loose(ValueError):
    """A message is not of the form that was expected; the loader adds file and line."""


def chat(message: object) -> list[dict[str, Any]]:
    """One message of any provider's list as chat messages: one, or one for each result it holds.

    Raises:
        Loose: it has no role that is known, or content that is neither text nor blocks.
    """
    if not isinstance(message, Mapping):
        raise Loose(f"a message is a {type(message).__name__}; an object with a `role` is expected")
    role = message.get("role")
    content = message.get("content")
    if role == "developer":
        role = "system"
    if role not in ("system", "user", "assistant", "tool", "function"):
        raise Loose(f"a message has the role {role!r}; it must be system, user, assistant or tool")
    kept = {key: message[key] for key in _KEPT if message.get(key)}
    if content is None or isinstance(content, str):
        if content is None and role != "assistant":
            raise Loose(f"a {role} message has no `content`; give it text")
        return [{"role": role, "content": content, **kept}]
    if not isinstance(content, Sequence):
        raise Loose(f"`content` is a {type(content).__name__}; text or a list is expected")
    if role == "tool":
        return [{"role": role, "content": text_of(content), **kept}]
    made = list(from_blocks(str(role), content))
    if made:
        made[-1].update(kept)
    return made


def from_blocks(role: str, content: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Anthropic's content blocks (and pi's) as chat messages, results in front of the user's text.

    Args:
        role: `system`, `user` or `assistant`.
        content: the blocks.

    Raises:
        Loose: a block is no object.
    """
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for block in content:
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        if not isinstance(block, Mapping):
            raise Loose(f"a content block is a {type(block).__name__}; an object is expected")
        match block.get("type"):
            case "tool_result" | "toolResult":
                yield _result(block)
            case "tool_use" | "toolCall":
                arguments = block.get("input", block.get("arguments"))
                calls.append(call_of(block.get("id"), block.get("name"), arguments))
            case "thinking" | "redacted_thinking":
                # Later models keep their thinking to themselves and give its signature alone.
                said = block.get("thinking") or block.get("data") or block.get("signature")
                thoughts.append(str(said or ""))
            case _:
                parts.append(_part(block))
    message: dict[str, Any] = {"role": role, "content": _joined(parts)}
    if calls:
        message["tool_calls"] = calls
    if any(thoughts):
        message["reasoning_content"] = "\n".join(thoughts)
    if parts or calls or thoughts:
        yield message


def from_items(items: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Items of OpenAI's Responses as chat messages; neighbours of one assistant turn are joined.

    Raises:
        Loose: an item is no object.
    """
    turn: dict[str, Any] | None = None
    for item in items:
        if not isinstance(item, Mapping):
            raise Loose(f"an item is a {type(item).__name__}; an object is expected")
        kind = item.get("type") or "message"
        if kind in ("function_call_output", "custom_tool_call_output"):
            if turn:
                yield turn
            turn = None
            yield {
                "role": "tool",
                "tool_call_id": str(item.get("call_id", "")),
                "content": text_of(item.get("output", "")),
            }
        elif kind == "message" and item.get("role") != "assistant":
            if turn:
                yield turn
            turn = None
            role = "system" if item.get("role") in ("system", "developer") else "user"
            yield from from_blocks(role, _listed(item.get("content", "")))
        else:
            turn = turn or {"role": "assistant", "content": None}
            _add_item(turn, kind, item)
    if turn:
        yield turn


def _add_item(turn: dict[str, Any], kind: str, item: Mapping[str, Any]) -> None:
    if kind == "message":
        turn["content"] = (turn["content"] or "") + text_of(item.get("content", ""))
    elif kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments", item.get("input"))
        call = call_of(item.get("call_id", item.get("id")), item.get("name"), arguments)
        turn.setdefault("tool_calls", []).append(call)
    else:  # reasoning, compaction, built-in tools: not for the user's eyes
        thoughts = text_of(item.get("summary", "")) + str(item.get("encrypted_content") or "")
        turn["reasoning_content"] = turn.get("reasoning_content", "") + (thoughts or _dump(item))


def call_of(name_of_call: object, name: object, arguments: object) -> dict[str, Any]:
    """A function call of a chat message; `arguments` may be text or a value."""
    text = (
        arguments if isinstance(arguments, str) else _dump({} if arguments is None else arguments)
    )
    return {
        "id": str(name_of_call or ""),
        "type": "function",
        "function": {"name": str(name or ""), "arguments": text},
    }


def text_of(content: object) -> str:
    """The text of a `content`: itself, or that of its blocks, a block without any as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        text = content.get("text", content.get("content"))
        return text_of(text) if text is not None else _dump(content)
    if isinstance(content, Sequence):
        return "\n".join(text_of(block) for block in content)
    return _dump(content)


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": str(block.get("tool_use_id", "")),
        "content": text_of(block.get("content", "")),
    }


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block as a member of a chat message's content."""
    kind = block.get("type")
    source = block.get("source", block)
    if kind == "image" and isinstance(source, Mapping) and isinstance(source.get("data"), str):
        media = source.get("media_type") or source.get("mimeType") or "image/png"
        return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{source['data']}"}}
    if kind in ("image_url", "input_image"):
        url = block.get("image_url", "")
        return {"type": "image_url", "image_url": url if isinstance(url, Mapping) else {"url": url}}
    return {"type": "text", "text": text_of(block)}


def _joined(parts: Sequence[dict[str, Any]]) -> Any:
    if not parts:
        return None
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return list(parts)


def _listed(content: object) -> Sequence[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, Sequence) else []


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
