"""Builders for the Responses API, the dialect under test, and what a server checks.

The requests come from `redraft.testing.strategies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from redraft.dialects.openai_responses import OpenAIResponses
from redraft.dialects.responses_items import Kind, kind_of
from redraft.testing.strategies.responses import responses_bodies as bodies
from redraft.testing.strategies.responses import responses_inputs as inputs
from redraft.testing.strategies.responses_items import compaction, said, search, thought
from redraft.testing.strategies.responses_items import function_call as call
from redraft.testing.strategies.texts import png

__all__ = [
    "PNG",
    "RESPONSES",
    "SEALED",
    "bodies",
    "call",
    "compaction",
    "contents",
    "faults",
    "inputs",
    "output",
    "pairs_of",
    "said",
    "search",
    "sent",
    "thought",
    "user",
]

Json = dict[str, Any]

RESPONSES = OpenAIResponses()
SEALED = "gAAAAAB" + "x" * 93
PNG = png(640, 480)


def user(content: Any = "task", **fields: Any) -> Json:
    return {"role": "user", "content": content, **fields}


def output(name: str = "call_1", text: Any = "out", **fields: Any) -> Json:
    return {"type": "function_call_output", "call_id": name, "output": text, **fields}


def contents(*items: Any, **fields: Any) -> tuple[Any, ...]:
    return RESPONSES.split({"input": list(items), **fields})[1]


def sent(turns: Sequence[Any]) -> list[Any]:
    frame, _ = RESPONSES.split({"input": []})
    items: list[Any] = RESPONSES.join(frame, turns)["input"]
    return items


# -- what a server checks ------------------------------------------------------------------------


def pairs_of(items: Sequence[Json]) -> dict[str, str]:
    """Which reasoning the item behind it was made with: id of the item -> id of the reasoning."""
    return {
        item["id"]: before["id"]
        for before, item in pairwise(items)
        if before.get("type") == "reasoning" and "id" in item
    }


def faults(items: Sequence[Json], pairs: dict[str, str]) -> list[str]:
    """Where the server would refuse a list: a reasoning item without the item that it was made with or
    the other way round, a call without its result right behind the run, a result without its call."""
    found: list[str] = []
    waiting: dict[str, str] = {}
    asked: set[str] = set()
    for at, item in enumerate(items):
        before = items[at - 1] if at else {}
        after = items[at + 1] if at + 1 < len(items) else {}
        if item.get("type") == "reasoning" and pairs.get(after.get("id", "")) != item["id"]:
            found.append(f"{item['id']} without its following item")
        if item.get("id") in pairs and before.get("id") != pairs[item["id"]]:
            found.append(f"{item['id']} without its reasoning")
        kind, name = (
            kind_of(item),
            str(item.get("call_id") or item.get("approval_request_id") or ""),
        )
        if kind is Kind.CALL:
            waiting[name or item["id"]] = item["type"]
            asked.add(name or item["id"])
        elif kind is Kind.RESULT:
            if name not in asked and not name.startswith("host_"):
                found.append(f"{name} answers nothing")
            waiting.pop(name, None)
        elif waiting and (item.get("role") in ("user", "developer", "system")):
            found.append(f"{list(waiting)} have no result")
        if item.get("role") == "assistant" and item.get("content") in ("", []):
            found.append("an empty message")
    return found + ([f"{list(waiting)} have no result"] if waiting else [])
