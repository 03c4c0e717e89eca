"""Plain lists of messages: a JSON list, an object with `messages`, or such on each line of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redraft.replay.convert import Loose, chat
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]


def detect(source: Source) -> bool:
    """Whether there are messages with roles."""
    return any(_looks_right(messages) for _, messages, _ in _lists(source))


def _looks_right(messages: list[Any]) -> bool:
    return any(isinstance(message, Mapping) and "role" in message for message in messages)


def _lists(source: Source) -> Iterator[tuple[int, list[Any], Mapping[str, Any]]]:
    """The lists in the file: where each begins, its messages, what stands beside them."""
    document = source.document
    if isinstance(document, list):
        if document and all(_has_messages(one) for one in document):
            yield from ((0, one["messages"], one) for one in document)
        else:
            yield 0, document, {}
    elif _has_messages(document):
        yield 0, document["messages"], document
    elif source.rows and "role" in source.rows[0].value:
        yield source.rows[0].line, [row.value for row in source.rows], {}
    else:
        for row in source.rows:
            if _has_messages(row.value):
                yield row.line, row.value["messages"], row.value


def _has_messages(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("messages"), list)


def read(source: Source) -> Recording:
    """Read the messages: a thread for each list. Every assistant message is a call's answer."""
    drafts: list[ThreadDraft] = []
    for line, messages, beside in _lists(source):
        draft = ThreadDraft("main" if not drafts else f"conversation {len(drafts) + 1}")
        model = str(beside.get("model") or "")
        draft.tools = tuple(t for t in beside.get("tools") or () if isinstance(t, Mapping))
        system = beside.get("system")
        if system:
            draft.messages.extend(chat({"role": "system", "content": system}))
        by_row = not beside and source.document is None
        for place, message in enumerate(messages):
            where = source.rows[place].line if by_row else line
            try:
                made = chat(message)
            except Loose as error:
                raise source.error(where, f"message {place + 1}: {error}") from error
            if made and made[0]["role"] == "assistant":
                draft.calls.append(_call(message, len(draft.messages), where, model))
            draft.messages.extend(made)
        drafts.append(draft)
    return Recording(source.path, "messages", ThreadDraft.all_done(drafts), tuple(source.notes))


def _call(message: Mapping[str, Any], reply: int, line: int, model: str) -> RecordedCall:
    return RecordedCall(
        reply,
        line,
        str(message.get("model") or model),
        seconds(message.get("timestamp")),
        reported(message.get("usage")),
    )
