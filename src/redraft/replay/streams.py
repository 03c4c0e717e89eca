"""A recorded stream of server-sent events, put together to the object that it ends in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["assemble"]


def assemble(body: Any) -> Any:
    """The final object of a streamed answer; anything else as it is.

    Args:
        body: an answer's body. Text that holds `data:` lines is read as events of Anthropic's
            Messages, OpenAI's Responses or Chat Completions, or Gemini; so is a list of objects.
    """
    if isinstance(body, list) and all(isinstance(part, Mapping) for part in body):
        events: list[Mapping[str, Any]] = body  # Gemini's stream without `alt=sse`
    elif isinstance(body, str) and "data:" in body:
        events = list(_events(body))
    else:
        return body
    final: dict[str, Any] = {}
    for event in events:
        match event.get("type"):
            case "message_start" if isinstance(event.get("message"), Mapping):
                final = {**event["message"], "content": []}
            case "content_block_start" | "content_block_delta":
                _block(final, event)
            case "message_delta":
                usage = event.get("usage")
                if isinstance(usage, Mapping):
                    final["usage"] = {**final.get("usage", {}), **usage}
            case "response.completed" | "response.incomplete":
                if isinstance(event.get("response"), Mapping):
                    final = dict(event["response"])
            case None if "candidates" in event or "usageMetadata" in event:
                _gemini(final, event)
            case None:
                _chunk(final, event)
    return final or body


def _events(body: str) -> Iterator[Mapping[str, Any]]:
    for line in body.splitlines():
        if line.startswith("data:"):
            try:
                event = json.loads(line[5:])
            except ValueError:
                continue  # `[DONE]`
            if isinstance(event, Mapping):
                yield event


def _block(final: dict[str, Any], event: Mapping[str, Any]) -> None:
    """One event of a content block of Anthropic's."""
    blocks = final.setdefault("content", [])
    if event["type"] == "content_block_start":
        blocks.append(dict(event.get("content_block") or {}))
        return
    delta = event.get("delta")
    if not blocks or not isinstance(delta, Mapping):
        return
    block = blocks[-1]
    for part, name in (("text", "text"), ("thinking", "thinking"), ("partial_json", "input")):
        if isinstance(delta.get(part), str):
            old = block.get(name)
            block[name] = (old if isinstance(old, str) else "") + delta[part]


def _chunk(final: dict[str, Any], event: Mapping[str, Any]) -> None:
    """One chunk of a chat completion."""
    for key in ("id", "model", "created", "usage"):
        if event.get(key):
            final[key] = event[key]
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = choice.get("delta") if isinstance(choice, Mapping) else None
    if not isinstance(delta, Mapping):
        return
    if "choices" not in final:
        final["choices"] = [{"message": {"role": "assistant", "content": None}}]
    message = final["choices"][0]["message"]
    for key in ("content", "reasoning_content"):
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]
    for part in delta.get("tool_calls") or ():
        _call(message.setdefault("tool_calls", []), part)


def _gemini(final: dict[str, Any], event: Mapping[str, Any]) -> None:
    """One chunk of Gemini's: its parts join those before, its usage takes the place of the earlier."""
    for key in ("usageMetadata", "modelVersion", "responseId", "createTime"):
        if event.get(key):
            final[key] = event[key]
    candidates = event.get("candidates")
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    if not isinstance(candidate, Mapping):
        return
    known = final.setdefault("candidates", [{"content": {"role": "model", "parts": []}}])[0]
    content = candidate.get("content")
    if isinstance(content, Mapping):
        known["content"]["parts"].extend(content.get("parts") or ())
    if candidate.get("finishReason"):
        known["finishReason"] = candidate["finishReason"]


def _call(calls: list[dict[str, Any]], part: Any) -> None:
    if not isinstance(part, Mapping):
        return
    at = part.get("index", len(calls) - 1)
    at = at if isinstance(at, int) else 0
    while len(calls) <= at:
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    function = part.get("function")
    calls[at]["id"] += part.get("id") or ""
    if isinstance(function, Mapping):
        calls[at]["function"]["name"] += function.get("name") or ""
        calls[at]["function"]["arguments"] += function.get("arguments") or ""
