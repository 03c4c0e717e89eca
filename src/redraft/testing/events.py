"""Answers as server-sent events, in the shapes of the Messages API and the Responses API. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["anthropic_events", "responses_events"]

_PIECE = 16


def _event(kind: str, fields: Mapping[str, Any]) -> bytes:
    data = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


# -- Anthropic -----------------------------------------------------------------------------------


def anthropic_events(message: Mapping[str, Any]) -> Iterator[bytes]:
    """A message as a stream: text, thinking and arguments in pieces.

    Args:
        message: the whole answer.
    """
    usage = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", {"message": begun})
    for index, block in enumerate(message["content"]):
        started, deltas = _opened(block)
        yield _event("content_block_start", {"index": index, "content_block": started})
        for delta in deltas:
            yield _event("content_block_delta", {"index": index, "delta": delta})
        yield _event("content_block_stop", {"index": index})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    output = {"output_tokens": usage["output_tokens"]}
    yield _event("message_delta", {"delta": ending, "usage": output})
    yield _event("message_stop", {})


def _opened(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins, and what is added to it. Other kinds come whole."""
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            return {**block, "text": ""}, deltas
        case "thinking":
            words = _pieces(block["thinking"])
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in words]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use":
            text = json.dumps(block["input"])
            pieces = _pieces(text)
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            return {**block, "input": {}}, deltas
        case _:
            return dict(block), []


# -- Responses -----------------------------------------------------------------------------------


def responses_events(response: Mapping[str, Any]) -> Iterator[bytes]:
    """A response as a stream: each item begun and done, text in pieces, the whole at the end.

    Args:
        response: the whole answer.
    """
    number = iter(range(1 << 30))

    def event(kind: str, **fields: Any) -> bytes:
        return _event(kind, {"sequence_number": next(number), **fields})

    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for index, item in enumerate(response["output"]):
        opened = {**item, "content": []} if item["type"] == "message" else item
        yield event("response.output_item.added", output_index=index, item=opened)
        if item["type"] == "message":
            where = {"item_id": item["id"], "output_index": index}
            for place, part in enumerate(item["content"]):
                at = {**where, "content_index": place}
                yield event("response.content_part.added", part={**part, "text": ""}, **at)
                for piece in _pieces(part["text"]):
                    yield event("response.output_text.delta", delta=piece, logprobs=[], **at)
                yield event("response.output_text.done", text=part["text"], logprobs=[], **at)
                yield event("response.content_part.done", part=part, **at)
        yield event("response.output_item.done", output_index=index, item=item)
    done = "incomplete" if response["status"] == "incomplete" else "completed"
    yield event(f"response.{done}", response=response)
