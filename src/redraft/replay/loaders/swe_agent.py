"""Trajectories of SWE-agent (`.traj`): a JSON object with `trajectory` and, mostly, `history`.

Source of the shapes: swe-agent.com, usage/trajectories, and recorded files of several versions. Usage
is only given for the run as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.replay.convert import Loose, chat, text_of
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Source

__all__ = ["detect", "read"]


def detect(source: Source) -> bool:
    """Whether the file is an object with a `trajectory` of steps."""
    document = source.document
    return isinstance(document, Mapping) and isinstance(document.get("trajectory"), list)


def read(source: Source) -> Recording:
    """Read a trajectory: its history, or where there is none, its steps."""
    document = source.document
    draft = ThreadDraft("main")
    model = _model(document)
    entries = document.get("history") or _last_query(document["trajectory"])
    for place, entry in enumerate(entries):
        try:
            messages = _sent(entry)
        except Loose as error:
            raise source.error(0, f"history[{place}]: {error}") from error
        if messages and messages[0]["role"] == "assistant" and not entry.get("is_demo"):
            draft.calls.append(RecordedCall(len(draft.messages), model=model))
        draft.messages.extend(messages)
    if not draft.messages:
        raise source.error(0, "there is neither a history nor a step; name a finished run")
    return Recording(source.path, "swe-agent", (draft.done(),), tuple(source.notes))


def _sent(entry: Any) -> list[dict[str, Any]]:
    """An entry of the history as it went to the model."""
    if isinstance(entry, Mapping) and entry.get("role") == "tool":
        ids = entry.get("tool_call_ids") or [entry.get("tool_call_id", "")]
        content = text_of(entry.get("content"))
        return [{"role": "tool", "tool_call_id": str(name), "content": content} for name in ids[:1]]
    return chat(entry)


def _last_query(steps: Sequence[Any]) -> list[Any]:
    """The messages of a run without a history: the last step's query, and its answer."""
    for step in reversed(steps):
        query = step.get("query") or step.get("messages") if isinstance(step, Mapping) else None
        if query:
            return [*query, {"role": "assistant", "content": text_of(step.get("response"))}]
    pairs: list[Any] = []
    for step in steps:
        if isinstance(step, Mapping):
            pairs.append({"role": "assistant", "content": text_of(step.get("response"))})
            pairs.append({"role": "user", "content": text_of(step.get("observation"))})
    return pairs


def _model(document: Mapping[str, Any]) -> str:
    config = document.get("replay_config")
    for key in ("agent", "model", "name"):
        config = config.get(key) if isinstance(config, Mapping) else None
    return config if isinstance(config, str) else ""
