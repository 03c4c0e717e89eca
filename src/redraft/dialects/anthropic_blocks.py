"""The blocks of Anthropic's messages: what each one is, and how one is written anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.dialects.base import Call, Native, Part
from redraft.dialects.block_format import BlockFormat, Kind, word
from redraft.dialects.chat_natives import dump
from redraft.dialects.media import describe_part

__all__ = ["AnthropicBlocks", "text_of"]

_KINDS = {
    "text": Kind.TEXT,
    "tool_use": Kind.CALL,
    "tool_result": Kind.RESULT,
    # All three are checked against the conversation before them and refused if they were altered
    # (`BetaMessage.input_transformations` in the SDK names them).
    "thinking": Kind.THOUGHT,
    "redacted_thinking": Kind.THOUGHT,
    "connector_text": Kind.THOUGHT,
}
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_OPAQUE_SHARE = 4
"""One character in four of a sealed thought stands for its tokens. It is base64 of about the thought's
own size: 3/4 of a byte a character, some 4 characters a token, so 0.19 tokens a character; o200k counts
0.68 for random base64 (measured on 16,000 characters)."""

_IMAGE_CHARS = 262_144
"""What is looked at of an image: its size stands near its start."""


class AnthropicBlocks(BlockFormat):
    """How the Messages API spells blocks."""

    blocks_field = "content"
    glue = "\n"

    def _blocks(self, native: Native) -> Sequence[Native]:
        return _listed(native.get("content"))

    def _body(self, old: Native, blocks: list[Native]) -> object:
        if isinstance(old.get("content"), str) and all(block.keys() == _PLAIN for block in blocks):
            return "".join(block["text"] for block in blocks)
        return blocks

    def _sort(self, block: Native) -> Kind:
        kind = _KINDS.get(str(block.get("type")), Kind.PART)
        if kind is Kind.TEXT and not isinstance(block.get("text"), str):
            return Kind.PART
        return kind

    def _text_block(self, text: str, olds: Sequence[Native]) -> Native:
        """The first old block with new words: its citations quote the old ones and go; of the cache
        markers of all, the last stays."""
        old = olds[0] if olds else {"type": "text", "text": ""}
        new = {key: value for key, value in old.items() if key != "citations"}
        marks = [block["cache_control"] for block in olds if block.get("cache_control")]
        return {**new, "text": text, **({"cache_control": marks[-1]} if marks else {})}

    def _hidden(self, block: Native) -> str:
        words = block.get("thinking") or block.get("connector_text")
        if isinstance(words, str):
            return words
        sealed = block.get("signature") or block.get("data")
        return sealed[: -(-len(sealed) // _OPAQUE_SHARE)] if isinstance(sealed, str) else ""

    def _pair(self, block: Native) -> tuple[str | None, str | None]:
        kind = str(block.get("type"))
        if kind in _SERVER_CALLS:
            return str(block.get("id")), None
        if kind.endswith("_tool_result"):
            return None, str(block.get("tool_use_id"))
        return None, None

    def _part(self, block: Native, index: int) -> Part:
        kind = str(block.get("type", "part"))
        source = block.get("source")
        source = source if isinstance(source, Mapping) else {}
        form = word(str(source.get("media_type", "")).rpartition("/")[2])
        match kind:
            case "image":
                return describe_part({"type": "image_url", "image_url": _url(source)}, index)
            case "document":
                return Part("file", f"file {form}".rstrip(), index=index)
            case "container_upload":
                return Part("file", "file", index=index)
            case _:
                part = describe_part({"type": kind}, index)
                name = word(block.get("name", "")) if kind in _SERVER_CALLS else ""
                return Part(part.kind, f"{part.label} {name}".rstrip(), index=index)

    def _calls(self, blocks: Sequence[Native]) -> tuple[Call, ...]:
        return tuple(
            Call(
                str(block.get("id") or ""),
                str(block.get("name") or ""),
                _arguments(block.get("input")),
                index,
            )
            for index, block in enumerate(blocks)
        )

    def _with_arguments(self, block: Native, arguments: Mapping[str, Any]) -> Native:
        return {**block, "input": arguments}

    def _inner(self, result: Native) -> Sequence[Native]:
        return _listed(result.get("content"))

    def _with_inner(self, result: Native, inner: list[Native]) -> Native:
        """A result of plain text stays one. An empty one has no `content`: the API takes no empty
        text block, and none is made of what is not there."""
        if not inner:
            return {key: value for key, value in result.items() if key != "content"}
        old = result.get("content")
        plain = len(inner) == 1 and inner[0].keys() == _PLAIN and not isinstance(old, (list, tuple))
        return {**result, "content": inner[0]["text"] if plain else inner}


_PLAIN = {"type", "text"}


def text_of(body: object) -> str:
    """The text of a `content` or `system` field."""
    texts = (block.get("text") for block in _listed(body) if isinstance(block, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _listed(body: object) -> Sequence[Native]:
    """A field that holds text or blocks, as blocks. Empty text is none: the API refuses it as one."""
    if isinstance(body, str):
        return ({"type": "text", "text": body},) if body else ()
    return body if isinstance(body, (list, tuple)) else ()


def _url(source: Mapping[str, Any]) -> str:
    data = source.get("data")
    if source.get("type") != "base64" or not isinstance(data, str):
        return ""
    return f"data:{source.get('media_type', '')};base64,{data[:_IMAGE_CHARS]}"


def _arguments(value: object) -> str:
    """The input as text. A stream that was cut off may leave a piece of JSON."""
    if value is None:
        return "{}"
    return value if isinstance(value, str) else dump(value)
