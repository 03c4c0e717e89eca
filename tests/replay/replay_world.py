"""Recordings for the tests: small ones made here, and where they are at hand, real ones."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from redraft.replay import Recording, Source, read_source

__all__ = [
    "TRAJECTORIES",
    "claude_row",
    "lines",
    "need",
    "pi_answer",
    "pi_user",
    "read",
    "recordings",
]

# Read at import: the tests themselves run without settings from outside.
_SHARED = Path(os.environ.get("REDRAFT_SHARED", Path(__file__).parents[3] / "shared"))
TRAJECTORIES = _SHARED / "data" / "trajectories"


def recordings(folder: str = "*") -> list[Path]:
    """The real recordings that are at hand, none where there are none."""
    return sorted(path for path in TRAJECTORIES.glob(f"{folder}/*") if path.is_file())


def need(pattern: str) -> Path:
    """One real recording; skips the test where it is not at hand."""
    found = sorted(TRAJECTORIES.glob(pattern))
    if not found:
        pytest.skip(
            f"no {pattern} in {TRAJECTORIES}; set REDRAFT_SHARED to the directory that has it"
        )
    return found[0]


def read(text: str, path: str = "recording", *, skip_damaged: bool = False) -> Recording:
    """Read a recording from text."""
    return read_source(Source(path, text, skip_damaged))


def roles(found: Recording, thread: int = 0) -> list[str]:
    """The roles of a thread's messages."""
    return [str(message["role"]) for message in found.threads[thread].messages]


def replies(found: Recording, thread: int = 0) -> list[int]:
    """Where the answers of a thread's calls begin."""
    return [call.reply for call in found.threads[thread].calls]


def lines(*rows: Any) -> str:
    """JSON lines; a row that is text stands as it is."""
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n"


SESSION = {
    "type": "session",
    "id": "s",
    "timestamp": "2025-11-20T10:00:00.000Z",
    "cwd": "/w",
    "provider": "anthropic",
    "modelId": "claude-sonnet-4-5",
    "thinkingLevel": "off",
}


def pi_user(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": "user", "content": content}, **more}


def pi_answer(
    text: str, usage: Sequence[int] | None, at: float, calls: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """An answer of pi's; `usage` is input, output, cache read, cache write."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for name in calls:
        content.append({"type": "toolCall", "id": name, "name": "bash", "arguments": {"c": "ls"}})
    names = ("input", "output", "cacheRead", "cacheWrite")
    message = {
        "role": "assistant",
        "content": content,
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": dict(zip(names, usage or (0, 0, 0, 0), strict=True)),
        "stopReason": "stop",
        "timestamp": at * 1_000 + 1.7e12,
        **more,
    }
    return {"type": "message", "message": message}


def pi_result(name: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": name, "toolName": "bash", "content": content}
    return {"type": "message", "message": message}


def claude_row(
    kind: str, name: str, parent: str | None, content: Any, **more: Any
) -> dict[str, Any]:
    """A row of Claude Code's; `more` goes beside the message, `message_*` into it."""
    inner = {key[8:]: more.pop(key) for key in list(more) if key.startswith("message_")}
    return {
        "type": kind,
        "uuid": name,
        "parentUuid": parent,
        "sessionId": "s",
        "isSidechain": False,
        "message": {"role": kind, "content": content, **inner},
        **more,
    }
