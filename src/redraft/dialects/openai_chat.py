"""OpenAI's Chat Completions, and the many servers that speak it.

One message is one turn. What else a message carries (names, cache markers, provider extras) rides in
its carrier untouched. Source of the shapes: the API reference for chat completions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from redraft.dialects.base import Call, Content, Frame, Native, Part, Reply, join_carriers
from redraft.dialects.chat_natives import LEGACY, content_of, copied, dump, message_of
from redraft.dialects.chat_replies import read_reply
from redraft.dialects.chat_writing import without_reasoning, written
from redraft.errors import DialectError

__all__ = ["OpenAIChat"]

_COUNTED = ("tools", "functions", "response_format")


class OpenAIChat:
    """The `openai-chat` dialect; see `redraft.dialects.base.Dialect` for the methods."""

    name = "openai-chat"
    turns_field = "messages"

    def split(self, body: Native) -> tuple[Frame, tuple[Content, ...]]:
        """Take a request (`messages` and any other fields) apart."""
        messages = body.get("messages") if isinstance(body, Mapping) else None
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise DialectError(
                "`messages` must be a list of chat messages; pass [{'role': 'user', 'content': ...}]."
            )
        try:
            return self._split(body, messages)
        except RecursionError as error:
            raise DialectError(
                "the request is nested too deeply or contains itself; send plain JSON data."
            ) from error

    def _split(self, body: Native, messages: Sequence[object]) -> tuple[Frame, tuple[Content, ...]]:
        fields = {key: copied(body[key]) for key in body if key != "messages"}
        counted = tuple(dump(fields[key]) for key in _COUNTED if fields.get(key))
        contents = []
        for at, message in enumerate(messages):
            where = f"messages[{at}]"
            contents.append(content_of(message_of(message, where), where))
        return Frame(fields, counted), tuple(contents)

    def join(self, frame: Frame, contents: Sequence[Content]) -> dict[str, Any]:
        """`messages` first, then the frame's fields as they came."""
        return {"messages": join_carriers(contents, _never_shared), **frame.fields}

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a `ChatCompletion` (SDK object, final object of a stream, or mapping), or a message."""
        return read_reply(response, taken)

    def write(
        self, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
    ) -> Content:
        """The same message with other text, calls or parts; `content` itself where nothing differs.

        Reasoning stays while a call stays.
        """
        if (text, tuple(calls), tuple(parts)) == (content.text, content.calls, content.parts):
            return content
        return content_of(written(content, text, calls, parts), "the edited turn")

    def without_reasoning(self, content: Content) -> Content:
        """The same message without its reasoning, in whatever field a server put it; `content` itself
        if it has none. What is shown of it does not change."""
        return without_reasoning(content) if content.role == "assistant" else content

    def result(self, call: Call, text: str) -> Content:
        """A `tool` message; a `function` message for a call in the legacy form."""
        if call.id.startswith(LEGACY):
            return _message(role="function", name=call.name, content=text)
        return _message(role="tool", tool_call_id=call.id, content=text)

    def note(self, role: Literal["user", "assistant"], text: str) -> Content:
        """A plain text message."""
        return _message(role=role, content=text)

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to the last of the leading system messages; once, however often asked."""
        lead = 0
        while lead < len(contents) and contents[lead].role == "system":
            lead += 1
        if lead == 0:
            return frame, (_message(role="system", content=section), *contents)
        last = contents[lead - 1]
        if section in last.text:
            return frame, tuple(contents)
        native = dict(last.carriers[0])
        body = native.get("content")
        if isinstance(body, (list, tuple)):
            native["content"] = [*body, {"type": "text", "text": section}]
        else:
            native["content"] = f"{body}\n\n{section}" if body else section
        instructed = content_of(native, "the system prompt")
        return frame, (*contents[: lead - 1], instructed, *contents[lead:])


def _message(**native: str) -> Content:
    return content_of(native, "a new message")


def _never_shared(run: Sequence[Content]) -> Native:
    raise AssertionError(f"a chat message holds one turn, yet {len(run)} share one")
