"""Plans as requests of Anthropic's Messages API."""

from __future__ import annotations

from copy import deepcopy
from itertools import count
from typing import Any

from redraft.testing.strategies.plans import Plan, Round
from redraft.testing.strategies.texts import png

__all__ = ["MARK", "anthropic_body", "anthropic_image"]

Json = dict[str, Any]

MARK = {"type": "ephemeral"}
"""A cache marker."""

_MARKS = 4
"""Markers in a request, at most."""


def anthropic_image() -> Json:
    """A block that is an image of 640 x 480."""
    data = png(640, 480).partition(",")[2]
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def anthropic_body(plan: Plan) -> Json:
    """The plan as a request: text, thinking signed and sealed, server tools with what they found,
    images, cache markers, citations, and blocks of a type that nobody knows."""
    messages: list[Json] = []
    seals = count()
    for exchange in plan.exchanges:
        question: Any = exchange.question
        if exchange.picture:
            words = {"type": "text", "text": question, "cache_control": MARK}
            question = [anthropic_image(), words]
        messages.append({"role": "user", "content": question})
        for turn in exchange.rounds:
            messages.append({"role": "assistant", "content": _said(next(seals), turn)})
            results = _results(turn)
            also = [{"type": "text", "text": turn.also}] if turn.also else []
            if plan.open_calls and turn is plan.exchanges[-1].rounds[-1]:
                results, also = results[: -plan.open_calls], []
            messages += _spread(results + also, apart=plan.split_results)
        if exchange.answer is not None:
            messages.append({"role": "assistant", "content": exchange.answer})
    if plan.question:
        messages.append({"role": "user", "content": plan.question})
    _thin(messages)
    fields = {"max_tokens": 100, "messages": messages, "model": "claude", "system": "Be brief."}
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("bash", "read_file")]
    # A test may spoil what it is given.
    return deepcopy({**fields, "tools": tools, "x_new": [1], **plan.fields})


def _said(at: int, turn: Round) -> list[Json]:
    blocks: list[Json] = []
    if turn.thought:
        blocks.append({"type": "thinking", "thinking": turn.thought, "signature": f"sig{at}=="})
    if turn.server:
        query = {"type": "server_tool_use", "id": f"srv{at}", "name": "web_search", "input": {}}
        answer = {"type": "web_search_tool_result", "tool_use_id": f"srv{at}", "content": []}
        blocks += [query, answer]
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
        blocks.append({"type": "text", "text": f" [{at}]", "citations": [{"cited_text": "x"}]})
    if turn.strange:
        blocks.append({"type": "from_the_future", "payload": {"n": at}})
        blocks.append({"type": "redacted_thinking", "data": f"c2VhbGVk{at}" * 4})
    return blocks + [{"type": "tool_use", **call} for call in turn.calls]


def _results(turn: Round) -> list[Json]:
    blocks: list[Json] = []
    for place, (call, text) in enumerate(zip(turn.calls, turn.results, strict=True)):
        block: Json = {"type": "tool_result", "tool_use_id": call["id"]}
        if turn.pictures and place == 0:
            texts = [{"type": "text", "text": text}] if text else []
            block["content"] = [*texts, anthropic_image()]
        elif text:
            block["content"] = text
        if turn.failed:
            block["is_error"] = True
        blocks.append(block)
    blocks[-1]["cache_control"] = MARK
    return blocks


def _spread(blocks: list[Json], *, apart: bool) -> list[Json]:
    if not blocks:
        return []
    bodies = [[block] for block in blocks] if apart else [blocks]
    return [{"role": "user", "content": body} for body in bodies]


def _thin(messages: list[Json]) -> None:
    """Only the last markers stay."""
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    for block in [block for block in blocks if "cache_control" in block][:-_MARKS]:
        del block["cache_control"]
