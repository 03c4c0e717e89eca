"""Anthropic's Messages API, also as Bedrock and Vertex AI take it.

A user message holds a round's results and words besides, so it may be several turns. What a server does
with its own tools stands in the model's turn, call and result as one part. Reasoning blocks are sent as
they came or not at all.

Sources: the Messages API reference and the types of Anthropic's Python SDK 2.14 (`types/beta`), for the
blocks; the guide on tool use, for results that stand first, in one message; the guide on preserved
thinking, for blocks that are never altered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from redraft.dialects.anthropic_blocks import AnthropicBlocks, text_of
from redraft.dialects.anthropic_replies import is_paused, read_message
from redraft.dialects.base import Call, Content, Frame, Native, Reply, Role
from redraft.dialects.block_format import Answering
from redraft.dialects.blocks import BlockDialect, copied, dumped
from redraft.dialects.chat_natives import dump
from redraft.errors import DialectError

__all__ = ["Anthropic"]

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_COUNTED = ("tools", "output_config", "output_format")

SDK_DUMP = {"mode": "json", "exclude_unset": True, "warnings": False}
"""How Anthropic's client itself turns an object of a reply into what it sends back."""


class Anthropic(AnthropicBlocks, BlockDialect):
    """The `anthropic` dialect; see `redraft.dialects.base.Dialect` for the methods."""

    name = "anthropic"
    turns_field = "messages"
    model_role = "assistant"
    thoughts_follow_calls = False

    def _role(self, native: Native, where: str) -> Role:
        name = native.get("role")
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            raise DialectError(
                f"{where} has the role {name!r}; the Messages API knows {', '.join(_ROLES)}. Tool "
                "results are blocks of a user message."
            )
        return role

    def _message(self, message: object, where: str) -> Native:
        native = copied(message, **SDK_DUMP)
        if not isinstance(native, dict):
            raise DialectError(
                f"{where} is a {type(message).__name__}; each message must be a mapping with `role` "
                "and `content`, or a message object of the Anthropic SDK."
            )
        if not isinstance(message, Mapping):
            native = {"role": native.get("role"), "content": native.get("content")}
        _check(native, where)
        return native

    def _answering(self, _: Sequence[Call]) -> Answering:
        return lambda block: str(block.get("tool_use_id") or "")

    def _result(self, call: Call, text: str) -> Native:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
        return {**block, "content": text} if text else block

    def _counted(self, fields: Mapping[str, Any]) -> tuple[str, ...]:
        counted = [text_of(fields.get("system"))]
        counted += [dump(fields[key]) for key in _COUNTED if fields.get(key)]
        return tuple(filter(None, counted))

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a `Message` (SDK object, final message of a stream, or mapping).

        The reply of a turn that the server paused, cut off or refused is not complete.
        """
        body = response if isinstance(response, Mapping) else dumped(response, **SDK_DUMP)
        native, complete, usage = read_message(copied(body, **SDK_DUMP), type(response), taken)
        _check(native, "the reply")
        return self._reply(native, complete, usage, paused=is_paused(body))

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to the end of the `system` field; once, however often asked.

        Where the field is a list of blocks, the section is one more: cache markers stay on theirs.
        """
        system = frame.fields.get("system")
        if section in text_of(system):
            return frame, tuple(contents)
        new: object = section
        if isinstance(system, (list, tuple)) and system:
            new = [*system, {"type": "text", "text": section}]
        elif isinstance(system, str) and system:
            new = f"{system}\n\n{section}"
        fields = {**frame.fields, "system": new}
        return Frame(fields, self._counted(fields), frame.place), tuple(contents)


def _check(native: Native, where: str) -> None:
    """What the rest relies on; anything else may be in a message."""
    body = native.get("content")
    if body is not None and not isinstance(body, str) and not _is_blocks(body):
        raise DialectError(
            f"`content` of {where} is a {type(body).__name__}; it must be text or a list of content "
            "blocks. Send binary data as an image or a document."
        )
    for block in body if isinstance(body, (list, tuple)) else ():
        inner = block.get("content") if block.get("type") == "tool_result" else None
        if inner is not None and not isinstance(inner, str) and not _is_blocks(inner):
            raise DialectError(
                f"a `tool_result` in {where} holds a {type(inner).__name__}; its `content` must be "
                "text or a list of content blocks. Write other data as JSON text."
            )


def _is_blocks(body: object) -> bool:
    return isinstance(body, (list, tuple)) and all(isinstance(block, Mapping) for block in body)
