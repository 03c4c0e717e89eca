"""Recorded runs of real agents as Chat Completions messages, where the recordings are at hand.

They lie in `data/trajectories` of the directory that `REDRAFT_SHARED` names, by default `shared` beside
the checkout. Without them a test that needs them is skipped and says so.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["RECORDINGS", "SHARED", "recording"]

Message = dict[str, Any]

# Read at import: the tests themselves run without settings from outside.
SHARED = Path(os.environ.get("REDRAFT_SHARED", Path(__file__).parents[2] / "shared"))
_AGENTS = SHARED / "data" / "trajectories" / "agents"


def recording(name: str) -> list[Message]:
    """The messages of a recording; skips the test where it is not at hand."""
    if not _AGENTS.is_dir():
        pytest.skip(
            f"no recordings in {_AGENTS}; set REDRAFT_SHARED to the directory that has them"
        )
    return _READERS[name]()


def _swe_agent(pattern: str) -> list[Message]:
    (path,) = _AGENTS.glob(pattern)
    return [_sent(entry) for entry in json.loads(path.read_text())["history"]]


def _sent(entry: Message) -> Message:
    """An entry of a SWE-agent history as it went to the model."""
    message = {key: entry[key] for key in ("role", "content", "tool_calls") if entry.get(key)}
    message.setdefault("content", None)
    if entry["role"] == "tool":
        message["tool_call_id"] = entry["tool_call_ids"][0]
    return message


def _mini_swe_agent() -> list[Message]:
    (path,) = _AGENTS.glob("*mini-swe-agent*")
    messages: list[Message] = json.loads(path.read_text())
    return messages


def _tau_bench() -> list[Message]:
    """The longest conversation; its display names no tools, so each result gets a call."""
    (path,) = _AGENTS.glob("sierra-research+tau-bench*")
    shown = [json.loads(line)["messages_display"] for line in path.read_text().splitlines()]
    return list(_displayed(max(shown, key=len)))


def _displayed(text: str) -> Iterator[Message]:
    pieces = re.split(r"^(user|assistant|tool): ", text, flags=re.MULTILINE)[1:]
    turns = list(zip(pieces[::2], pieces[1::2], strict=True))
    for at, (role, said) in enumerate(turns):
        if role == "tool":
            yield {"role": "tool", "tool_call_id": f"call_{at}", "content": said}
        elif role == "assistant" and at + 1 < len(turns) and turns[at + 1][0] == "tool":
            function = {"name": "lookup", "arguments": "{}"}
            call = {"id": f"call_{at + 1}", "type": "function", "function": function}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            yield {"role": role, "content": said}


_READERS = {
    "SWE-agent, function calling": lambda: _swe_agent("*function_calling*.traj"),
    "SWE-agent, katy": lambda: _swe_agent("*katy.traj"),
    "SWE-agent, rock": lambda: _swe_agent("*rock.traj"),
    "mini-swe-agent": _mini_swe_agent,
    "tau-bench": _tau_bench,
}

RECORDINGS = sorted(_READERS)
"""The names that `recording` knows."""
