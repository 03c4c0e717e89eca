"""Trajectories of mini-swe-agent: chat messages, in later versions with `info` and usage beside them.

Shapes of versions 0 (a bare list), 1 and 2 (`trajectory_format: mini-swe-agent-1...`), where an
assistant message keeps the server's whole response under `extra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.replay.convert import Loose, chat, from_items
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]


def detect(source: Source) -> bool:
    """Whether the file says that it is one, or is a bare list in a file named like one."""
    document = source.document
    if isinstance(document, list):
        return source.path.endswith(".traj.json")
    if not isinstance(document, Mapping) or not isinstance(document.get("messages"), list):
        return False
    info = document.get("info")
    own = isinstance(info, Mapping) and "mini_version" in info
    return own or str(document.get("trajectory_format", "")).startswith("mini-swe-agent")


def read(source: Source) -> Recording:
    """Read a trajectory."""
    document = source.document
    messages = document if isinstance(document, list) else document["messages"]
    model = "" if isinstance(document, list) else _model(document)
    draft = ThreadDraft("main")
    before: float | None = None
    for place, message in enumerate(messages):
        if isinstance(message, Mapping) and message.get("role") == "exit":
            continue
        try:
            made = _made(message)
        except Loose as error:
            raise source.error(0, f"messages[{place}]: {error}") from error
        extra = message.get("extra") if isinstance(message.get("extra"), Mapping) else {}
        if made and made[0]["role"] == "assistant":
            draft.calls.append(_call(message, extra, len(draft.messages), model, before))
        before = seconds(extra.get("timestamp")) or before
        draft.messages.extend(made)
    return Recording(source.path, "mini-swe-agent", (draft.done(),), tuple(source.notes))


def _made(message: Any) -> list[dict[str, Any]]:
    if isinstance(message, Mapping) and message.get("object") == "response":
        return list(from_items(message.get("output") or []))
    if isinstance(message, Mapping) and message.get("type") == "function_call_output":
        return list(from_items([message]))
    return chat(message)


def _call(
    message: Mapping[str, Any],
    extra: Mapping[str, Any],
    reply: int,
    model: str,
    before: float | None,
) -> RecordedCall:
    response = extra.get("response")
    answer = response if isinstance(response, Mapping) else message
    usage = reported(answer.get("usage"), extra.get("cost"))
    # The time of a message is when it was there; the call was made when the one before it was.
    when = before or seconds(extra.get("timestamp")) or seconds(answer.get("created"))
    return RecordedCall(reply, 0, str(answer.get("model") or model), when, usage)


def _model(document: Mapping[str, Any]) -> str:
    found: Any = document.get("info")
    for key in ("config", "model", "model_name"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""
