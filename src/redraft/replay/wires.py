"""Requests and answers of further wire formats, as chat messages: Gemini's, and Bedrock's Converse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects import Content, Gemini
from redraft.errors import DialectError
from redraft.replay.convert import Loose, call_of, chat, text_of

__all__ = [
    "converse_blocks",
    "converse_messages",
    "from_contents",
    "gemini_answer",
    "gemini_messages",
]

_GEMINI = Gemini()


def from_contents(contents: Iterable[Content]) -> Iterator[dict[str, Any]]:
    """Turns of any dialect as chat messages; what is no text stands as its label."""
    for content in contents:
        text = "\n".join(filter(None, (content.text, *(part.label for part in content.parts))))
        message: dict[str, Any] = {"role": content.role, "content": text}
        if content.answers is not None:
            message["tool_call_id"] = content.answers
        if content.calls:
            calls = [call_of(call.id, call.name, call.arguments) for call in content.calls]
            message |= {"tool_calls": calls, "content": text or None}
        if content.hidden:
            message["reasoning_content"] = content.hidden
        yield message


def gemini_messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A `generateContent` request as chat messages.

    Raises:
        Loose: it is no such request.
    """
    try:
        messages = list(from_contents(_GEMINI.split(body)[1]))
    except DialectError as error:
        raise Loose(str(error)) from error
    system = body.get("systemInstruction", body.get("system_instruction"))
    parts = system.get("parts") if isinstance(system, Mapping) else system
    return [{"role": "system", "content": text_of(parts)}, *messages] if parts else messages


def gemini_answer(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answer to one; none where nothing came back."""
    if not answer.get("candidates"):
        return []
    try:
        return list(from_contents([_GEMINI.read(answer).content]))
    except DialectError as error:
        raise Loose(str(error)) from error


def converse_messages(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A Converse request as chat messages; raises `Loose`."""
    system = list(converse_blocks(body.get("system")))
    if system:
        yield from chat({"role": "system", "content": system})
    for message in body.get("messages") or ():
        if not isinstance(message, Mapping):
            raise Loose(f"a message is a {type(message).__name__}; an object is expected")
        yield from chat({**message, "content": list(converse_blocks(message.get("content")))})


def converse_blocks(blocks: object) -> Iterator[dict[str, Any]]:
    """Converse's content blocks in Anthropic's form; cache points are left out."""
    for block in blocks if isinstance(blocks, Sequence) and not isinstance(blocks, str) else ():
        if not isinstance(block, Mapping):
            raise Loose(f"a content block is a {type(block).__name__}; an object is expected")
        use, result, thought = (
            block.get(name) for name in ("toolUse", "toolResult", "reasoningContent")
        )
        if isinstance(use, Mapping):
            yield {
                "type": "tool_use",
                "id": use.get("toolUseId"),
                "name": use.get("name"),
                "input": use.get("input"),
            }
        elif isinstance(result, Mapping):
            content = [_shown(part) for part in result.get("content") or ()]
            yield {
                "type": "tool_result",
                "tool_use_id": result.get("toolUseId"),
                "content": content,
            }
        elif isinstance(thought, Mapping):
            said = thought.get("reasoningText")
            text = said.get("text") if isinstance(said, Mapping) else thought.get("redactedContent")
            yield {"type": "thinking", "thinking": str(text or "")}
        elif "cachePoint" not in block:
            yield {"type": "text", **block} if "text" in block else dict(block)


def _shown(part: object) -> object:
    return part["json"] if isinstance(part, Mapping) and "json" in part else part
