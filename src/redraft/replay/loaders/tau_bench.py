"""tau-bench: results (`traj`), tau2's simulations, and few-shot files that display conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from redraft.replay.convert import Loose, call_of, chat, text_of
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]

DISPLAY = (
    "the file displays conversations without their tool calls, system prompt and tools: each result "
    "was given a call without arguments"
)
_SPEAKER = re.compile(r"^(user|assistant|tool|system): ", re.MULTILINE)


def detect(source: Source) -> bool:
    """Whether the file is one of the three kinds."""
    document = source.document
    if isinstance(document, Mapping):
        return isinstance(document.get("simulations"), list) or "messages_display" in document
    if isinstance(document, list):
        return bool(document) and isinstance(document[0], Mapping) and "traj" in document[0]
    return bool(source.rows) and "messages_display" in source.rows[0].value


def read(source: Source) -> Recording:
    """Read a file: a thread for each conversation."""
    drafts: list[ThreadDraft] = []
    notes = list(source.notes)
    for line, messages, displayed in _conversations(source):
        draft = ThreadDraft(f"conversation {len(drafts) + 1}")
        for place, message in enumerate(messages):
            try:
                _take(draft, message, line)
            except Loose as error:
                raise source.error(line, f"{draft.name}, message {place + 1}: {error}") from error
        drafts.append(draft)
        if displayed and DISPLAY not in notes:
            notes.append(DISPLAY)
    threads = ThreadDraft.all_done(drafts)
    if not threads:
        raise source.error(0, "there is no conversation in it; name a file of results")
    return Recording(source.path, "tau-bench", threads, tuple(notes))


def _conversations(source: Source) -> Iterator[tuple[int, list[Any], bool]]:
    document = source.document
    if isinstance(document, Mapping) and "simulations" in document:
        for run in document["simulations"]:
            yield 0, list(run.get("messages") or []) if isinstance(run, Mapping) else [], False
    elif isinstance(document, list):
        for run in document:
            yield 0, list(run.get("traj") or []) if isinstance(run, Mapping) else [], False
    else:
        for row in source.rows:
            shown = row.value.get("messages_display")
            if not isinstance(shown, str):
                raise source.error(
                    row.line, "there is no text `messages_display`; mend or remove the line"
                )
            yield row.line, list(_displayed(shown)), True


def _displayed(text: str) -> Iterator[dict[str, Any]]:
    pieces = _SPEAKER.split(text)[1:]
    turns = list(zip(pieces[::2], pieces[1::2], strict=True))
    for at, (role, said) in enumerate(turns):
        said = said.rstrip("\n")
        if role == "tool":
            yield {"role": "tool", "tool_call_id": f"call_{at}", "content": said}
        elif role == "assistant" and at + 1 < len(turns) and turns[at + 1][0] == "tool":
            words = None if said == "None" else said
            call = call_of(f"call_{at + 1}", "unnamed", {})
            yield {"role": "assistant", "content": words, "tool_calls": [call]}
        else:
            yield {"role": role, "content": said}


def _take(draft: ThreadDraft, message: Any, line: int) -> None:
    if isinstance(message, Mapping) and isinstance(message.get("tool_messages"), list):
        for one in message["tool_messages"]:  # tau2 bundles parallel results
            _take(draft, one, line)
        return
    made = (
        _tau2(message) if isinstance(message, Mapping) and "turn_idx" in message else chat(message)
    )
    if made and made[0]["role"] == "assistant":
        usage = reported(message.get("usage"), message.get("cost"))
        when = seconds(message.get("timestamp"))
        draft.calls.append(RecordedCall(len(draft.messages), line, at=when, reported=usage))
    draft.messages.extend(made)


def _tau2(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A message of tau2-bench: calls are flat, results name their call by `id`."""
    if message.get("role") == "tool":
        name = str(message.get("id", ""))
        return [{"role": "tool", "tool_call_id": name, "content": text_of(message.get("content"))}]
    calls = [
        call_of(call.get("id"), call.get("name"), call.get("arguments"))
        for call in message.get("tool_calls") or ()
        if isinstance(call, Mapping)
    ]
    return chat({**message, "tool_calls": calls, "content": message.get("content") or ""})
