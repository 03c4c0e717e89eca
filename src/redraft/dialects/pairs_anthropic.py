"""Anthropic's rules on calls and results, and on their ids.

Measured on the Messages API by others (July 2026) and relied on here: results may be spread over several
user messages in any order, and the first block that is none ends them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from redraft.dialects.anthropic_blocks import text_of
from redraft.dialects.base import Native
from redraft.dialects.chat_natives import dump
from redraft.dialects.frames import INTERRUPTED
from redraft.dialects.naming import Names, lettered
from redraft.dialects.pairs_blocks import Spelling, find_pairs, framed_blocks, mend_pairs
from redraft.dialects.profile import Rule, Violation

__all__ = [
    "CALL_IDS",
    "CALL_IDS_64",
    "RESULTS",
    "THOUGHTS",
    "blocks_of",
    "goes_on",
    "kind_of",
    "text_block",
]

_RULE = "results"
_LETTERS = re.compile(r"[a-zA-Z0-9_-]+")
_NO_LIMIT = 1_000


def blocks_of(message: Native) -> Sequence[Native]:
    """The blocks of a message; none where its content is plain text, or missing."""
    body = message.get("content")
    return body if isinstance(body, (list, tuple)) else ()


def kind_of(block: Native) -> str:
    """A block's type."""
    return str(block.get("type"))


THOUGHTS = ("thinking", "redacted_thinking", "connector_text")
"""The types of blocks that are sealed: as they came, or not at all."""


def goes_on(message: Native) -> bool:
    """Whether the model would have to go on from its own words if this were the last message. A turn that
    the server paused ends in what its tools did, and is sent back as it is."""
    if message.get("role") != "assistant":
        return False
    blocks = blocks_of(message)
    return not blocks or kind_of(blocks[-1]) in ("text", *THOUGHTS)


def text_block(text: str) -> dict[str, Any]:
    """A new block of text."""
    return {"type": "text", "text": text}


class _Anthropic(Spelling):
    together = False

    def speaks(self, message: Native) -> bool:
        return message.get("role") == "assistant"

    def hears(self, message: Native) -> bool:
        return message.get("role") == "user"

    def blocks(self, message: Native) -> Sequence[Native]:
        return blocks_of(message)

    def with_blocks(self, message: Native, blocks: list[Native]) -> Native:
        return {**message, "content": blocks}

    def new(self, blocks: list[Native]) -> Native:
        return {"role": "user", "content": blocks}

    def asks(self, block: Native) -> bool:
        return kind_of(block) == "tool_use"

    def answers(self, block: Native) -> bool:
        return kind_of(block) == "tool_result"

    def names(self, calls: Sequence[Native]) -> list[str]:
        return [str(call.get("id") or "") for call in calls]

    def pairing(self, _: Sequence[Native]) -> Callable[[Native], str]:
        return self.far_name

    def far_name(self, block: Native) -> str:
        return str(block.get("tool_use_id") or "")

    def interrupted(self, call: Native) -> Native:
        name = str(call.get("id") or "")
        return {
            "type": "tool_result",
            "tool_use_id": name,
            "content": INTERRUPTED,
            "is_error": True,
        }

    def joined(self, one: Native, other: Native) -> Native:
        first, second = one.get("content"), other.get("content")
        if isinstance(first, (list, tuple)) or isinstance(second, (list, tuple)):
            content: object = [*_members(first), *_members(second)]
        else:
            content = "\n\n".join(str(text) for text in (first, second) if text)
        return {**one, **other, "content": content}

    def as_text(self, result: Native) -> list[Native]:
        members = [_as_words(member) for member in _members(result.get("content"))]
        new = framed_blocks(members or [text_block("")], "text", text_block)
        mark = result.get("cache_control")
        return new if mark is None else [*new[:-1], {**new[-1], "cache_control": mark}]


def _members(content: object) -> list[Native]:
    if isinstance(content, (list, tuple)):
        return list(content)
    text = text_of(content)
    return [text_block(text)] if text.strip() else []


def _as_words(member: Native) -> Native:
    """A member that may stand outside of a result; another kind is written down."""
    if kind_of(member) in ("text", "image", "document", "search_result"):
        return member
    return text_block(dump(member))


_SPELLING = _Anthropic()


def _find_results(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    return find_pairs(_RULE, _SPELLING, messages, start)


def _mend_results(messages: Sequence[Native]) -> list[Native]:
    return mend_pairs(_SPELLING, messages)


# -- ids -------------------------------------------------------------------------------------------


def _find_ids(limit: int) -> Callable[[Sequence[Native], int], Iterator[Violation]]:
    def find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
        taken: set[str] = set()
        for at, message in enumerate(messages):  # an id may have been used anywhere before
            for block in _calls(message):
                name = str(block.get("id") or "")
                if at >= start and (name in taken or not _is_good(name, limit)):
                    yield Violation("call-ids", at, _id_fault(name, name in taken))
                taken.add(name)

    return find


def _calls(message: Native) -> list[Native]:
    if message.get("role") != "assistant":
        return []
    return [block for block in blocks_of(message) if kind_of(block) == "tool_use"]


def _is_good(name: str, limit: int) -> bool:
    return len(name) <= limit and _LETTERS.fullmatch(name) is not None


def _id_fault(name: str, twice: bool) -> str:
    if not name:
        return "a call has no id"
    return f"the call id {name!r} {'was used before' if twice else 'is not of the form wanted'}"


def _mend_ids(limit: int) -> Callable[[Sequence[Native]], list[Native]]:
    def mend(messages: Sequence[Native]) -> list[Native]:
        names = Names(lettered(limit))
        renamed: dict[str, list[str]] = {}
        spoke = False
        out: list[Native] = []
        for message in messages:
            speaks = message.get("role") == "assistant"
            renamed = {} if speaks and not spoke else renamed
            spoke = speaks
            out.append(_renamed(message, names, renamed))
        return out

    return mend


def _renamed(message: Native, names: Names, renamed: dict[str, list[str]]) -> Native:
    """The message with new ids for its calls, or its results under those of their calls."""
    if message.get("role") not in ("assistant", "user"):
        return message
    old = blocks_of(message)
    key, kind = (
        ("id", "tool_use") if message["role"] == "assistant" else ("tool_use_id", "tool_result")
    )
    new: list[Native] = []
    for block in old:
        if kind_of(block) == kind:
            name = str(block.get(key) or "")
            if kind == "tool_use":
                given = names.new(name)
                renamed.setdefault(name, []).append(given)
            else:
                waiting = renamed.get(name)
                given = waiting.pop(0) if waiting else name
            block = block if block.get(key) == given else {**block, key: given}
        new.append(block)
    same = all(a is b for a, b in zip(new, old, strict=True))
    return message if same else {**message, "content": new}


def _call_ids(limit: int, source: str) -> Rule:
    return Rule("call-ids", source, _find_ids(limit), _mend_ids(limit))


RESULTS = Rule(
    _RULE,
    "Messages API: '`tool_use` ids were found without `tool_result` blocks immediately after' and "
    "'unexpected `tool_use_id` found in `tool_result` blocks'; guide 'Handle tool calls': results come "
    "first in the content, before any text (strands-agents/harness-sdk#4234)",
    _find_results,
    _mend_results,
    pairs=True,
)
CALL_IDS = _call_ids(
    _NO_LIMIT,
    "Messages API: '`tool_use` ids must be unique', over all messages; 'tool_use.id: String should match "
    "pattern ^[a-zA-Z0-9_-]+$'",
)
CALL_IDS_64 = _call_ids(
    64,
    "Amazon Bedrock API reference, ToolUseBlock: `toolUseId` has 1 to 64 characters, "
    "pattern [a-zA-Z0-9_-]+",
)
