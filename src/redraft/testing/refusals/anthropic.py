"""What the Messages API refuses, in its own words.

Written from the API's documentation and its error messages as people report them, and not from
`redraft.dialects.rules`: a second opinion. Neighbours of one role are read as one message, as the API
combines them. What hangs on earlier requests (signatures, prefixes) is in `redraft.testing.binding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from redraft.testing.refusals.base import Body, Complaint, broken_text, members

__all__ = ["Placed", "combined", "complaints"]

Block = Mapping[str, Any]
Placed = tuple[str, Block]
"""A block, and where it stands in the request: `messages.1.content.0`."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MARKS = 4
"""Cache markers in one request, at most."""


def complaints(body: Body) -> Iterator[Complaint]:
    """All that the API would complain of, the first first."""
    if broken_text(body):
        yield Complaint("The request body is not valid JSON: no low surrogate in string")
    for key in ("model", "max_tokens"):
        if key not in body:
            yield Complaint(f"{key}: Field required")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Complaint("messages: at least one message is required")
        return
    yield from chain.from_iterable(_message(at, message) for at, message in enumerate(messages))
    merged = combined(messages)
    if merged and merged[0][0] != "user":
        yield Complaint('messages: first message must use the "user" role')
    yield from _last(merged)
    yield from _pairs(merged)
    yield from _marks(body)


def combined(messages: Sequence[Any]) -> list[tuple[str, list[Placed]]]:
    """The conversation as the API reads it: a role and its blocks, neighbours of one role in one."""
    merged: list[tuple[str, list[Placed]]] = []
    for at, message in enumerate(messages):
        role = str(message.get("role"))
        blocks = [
            (f"messages.{at}.content.{place}", block)
            for place, block in enumerate(members(message.get("content")))
        ]
        if merged and merged[-1][0] == role:
            merged[-1][1].extend(blocks)
        else:
            merged.append((role, blocks))
    return merged


# -- one message ---------------------------------------------------------------------------------


def _message(at: int, message: Any) -> Iterator[Complaint]:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in ("user", "assistant", "system"):
        yield Complaint(f"messages.{at}.role: Input should be 'user' or 'assistant'")
        return
    content = message.get("content")
    if not content:
        yield Complaint(
            f"messages.{at}: all messages must have non-empty content except for the optional final "
            "assistant message"
        )
    for place, block in enumerate(members(content)):
        yield from _block(f"messages.{at}.content.{place}", role, block)


def _block(where: str, role: str, block: Any) -> Iterator[Complaint]:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        yield Complaint(f"{where}.type: Field required")
        return
    match block["type"]:
        case "text":
            yield from _text(where, block)
        case "tool_use":
            yield from _call(where, role, block)
        case "tool_result":
            yield from _result(where, role, block)
        case "thinking" | "redacted_thinking":
            yield from _thought(where, role, block)
        case kind if role == "user" and kind == "server_tool_use":
            yield Complaint(f"{where}: `{kind}` blocks are not allowed in `user` messages")


def _text(where: str, block: Block) -> Iterator[Complaint]:
    text = block.get("text")
    if not isinstance(text, str):
        yield Complaint(f"{where}.text.text: Field required")
    elif not text:
        yield Complaint(f"{where}: text content blocks must be non-empty")
    elif not text.strip():
        yield Complaint(f"{where}: text content blocks must contain non-whitespace text")


def _call(where: str, role: str, block: Block) -> Iterator[Complaint]:
    if role != "assistant":
        yield Complaint(f"{where}: `tool_use` blocks can only be in `assistant` messages")
    if not _ID.fullmatch(str(block.get("id") or "")):
        yield Complaint(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not isinstance(block.get("input"), Mapping):
        yield Complaint(f"{where}.tool_use.input: Input should be a valid dictionary")
    if not block.get("name"):
        yield Complaint(f"{where}.tool_use.name: Field required")


def _result(where: str, role: str, block: Block) -> Iterator[Complaint]:
    if role != "user":
        yield Complaint(f"{where}: `tool_result` blocks can only be in `user` messages")
    content = block.get("content")
    if block.get("is_error") and not content:
        yield Complaint(f"{where}.tool_result: content cannot be empty if `is_error` is true")
    for place, inner in enumerate(content if isinstance(content, list) else ()):
        if inner.get("type") == "text":
            yield from _text(f"{where}.content.{place}", inner)


def _thought(where: str, role: str, block: Block) -> Iterator[Complaint]:
    kind = str(block["type"])
    if role != "assistant":
        yield Complaint(f"{where}: `{kind}` blocks can only be in `assistant` messages")
    field = "signature" if kind == "thinking" else "data"
    if not block.get(field):
        yield Complaint(f"{where}.{kind}.{field}: Field required")
    if "cache_control" in block:
        yield Complaint(f"{where}.{kind}.cache_control: Extra inputs are not permitted")


# -- the conversation ----------------------------------------------------------------------------


def _last(merged: Sequence[tuple[str, list[Placed]]]) -> Iterator[Complaint]:
    role, blocks = merged[-1]
    if role == "assistant" and blocks:
        yield Complaint(
            "This model does not support assistant message prefill. The conversation must end with a "
            "user message."
        )
    for role, blocks in merged:
        kinds = [block.get("type") for _, block in blocks]
        if role == "assistant" and kinds and kinds[-1] in ("thinking", "redacted_thinking"):
            yield Complaint(
                f"{blocks[-1][0]}: The final block in an assistant message cannot be `thinking`."
            )


def _pairs(merged: Sequence[tuple[str, list[Placed]]]) -> Iterator[Complaint]:
    ids: set[str] = set()
    asked: list[str] = []
    for role, blocks in merged:
        yield from _answers(asked, blocks if role == "user" else [])
        asked = [str(block["id"]) for _, block in blocks if block.get("type") == "tool_use"]
        if len(set(asked)) < len(asked) or ids & set(asked):
            yield Complaint("messages: `tool_use` ids must be unique")
        ids |= set(asked)
        yield from _server_pairs(blocks)
    yield from _answers(asked, [])


def _answers(asked: Sequence[str], blocks: Sequence[Placed]) -> Iterator[Complaint]:
    """The results at the beginning of a message answer the calls before it, each once."""
    given: list[str] = []
    words = False
    for where, block in blocks:
        if block.get("type") != "tool_result":
            words = True
            continue
        name = str(block.get("tool_use_id"))
        if name not in asked:
            yield Complaint(
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        elif name in given:
            yield Complaint(
                f"{where}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {name}"
            )
        elif words:
            continue  # not at the beginning, so not found
        given.append(name)
    missing = [name for name in asked if name not in given]
    if missing:
        yield Complaint(
            "messages: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` "
            "block in the next message."
        )


def _server_pairs(blocks: Sequence[Placed]) -> Iterator[Complaint]:
    """What a server tool was asked and what it found stand in one message, in this order."""
    asked: set[str] = set()
    answered: set[str] = set()
    for where, block in blocks:
        kind = str(block.get("type"))
        if kind == "server_tool_use":
            asked.add(str(block.get("id")))
        elif kind.endswith("_tool_result") and kind != "mcp_tool_result":
            name = str(block.get("tool_use_id"))
            if name not in asked:
                yield Complaint(
                    f"{where}: unexpected `tool_use_id` found in `{kind}` blocks: {name}. Each "
                    f"`{kind}` block must have a corresponding `server_tool_use` block before it."
                )
            answered.add(name)
    for name in sorted(asked - answered):
        yield Complaint(f"messages: server tool use {name} was found without its result block")


def _marks(body: Body) -> Iterator[Complaint]:
    """At most four cache markers, in tools, system prompt and messages together."""
    messages = chain.from_iterable(members(m.get("content")) for m in body["messages"])
    blocks = [*(body.get("tools") or ()), *members(body.get("system")), *messages]
    count = sum("cache_control" in block for block in blocks if isinstance(block, Mapping))
    if count > _MARKS:
        yield Complaint(
            f"A maximum of {_MARKS} blocks with cache_control may be provided. Found {count}."
        )
