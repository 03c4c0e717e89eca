"""A model that says what a test wants, and an agent around it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from redraft.agent import Agent
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings

Message = Mapping[str, Any]

NOTE_ALL = (
    'python3 -c \'import os; p = os.environ["REDRAFT_CONTEXT_FILE"]; t = open(p).read(); '
    'i = t.index("[[CTX_TURN 3 "); j = t.rindex("[[CTX_END]]"); '
    'open(p, "w").write(t[:i] + "[[CTX_TURN 3 role=assistant]]\\nnoted\\n\\n" + t[j:])\''
)
"""A command that puts one note into the place of all turns from the third on."""


def bash(command: str, **more: Any) -> Message:
    function = {"name": "bash", "arguments": json.dumps({"command": command, **more})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


def say(text: str | None) -> Message:
    return {"role": "assistant", "content": text}


class Scripted:
    """A model that plays a list: messages, replies as they are, or errors to raise.

    Attributes:
        requests: what it was asked.
    """

    name = "scripted"

    def __init__(self, *script: object) -> None:
        self._script: Iterator[object] = iter(script)
        self.requests: list[Mapping[str, Any]] = []

    def complete(self, request: Mapping[str, Any]) -> object:
        self.requests.append(request)
        item = next(self._script, say("done"))
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Mapping) and "role" in item:
            return {"choices": [{"message": item, "finish_reason": "stop"}]}
        return item


def agent(model: Scripted, place: Path, **options: Any) -> tuple[Agent, LocalSandbox]:
    """An agent with a small budget; close the sandbox afterwards."""
    sandbox = LocalSandbox(place, timeout=20)
    settings = options.pop("settings", Settings(budget=8_000))
    return Agent(model, sandbox, **{"task": "Do it.", "settings": settings, **options}), sandbox


def play(*script: object, place: Path, **options: Any) -> tuple[Agent, Scripted]:
    """Run a script to its end."""
    model = Scripted(*script)
    made, sandbox = agent(model, place, **options)
    with sandbox:
        made.run()
    return made, model
