"""Models that write their calls in fences, and agents around them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_world import Scripted, say

from redraft.agent import Agent
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import Piece, read_pieces
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings
from redraft.testing.refusals import complaints


def calls(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> Mapping[str, Any]:
    """A message with these calls, each in a fence."""
    fences = [call_fence(name, json.dumps(arguments)) for name, arguments in calls]
    return say("\n\n".join(filter(None, (text, *fences))))


def run(*commands: str, text: str = "") -> Mapping[str, Any]:
    """A message that runs shell commands."""
    return calls(*(("bash", {"command": command}) for command in commands), text=text)


def settings(**more: Any) -> Settings:
    return Settings(**{"budget": 10_000, "tool_calls": "fenced", **more})


class Answering(Scripted):
    """A model that plays a list; what can be called in it is asked for the message."""

    def complete(self, request: Mapping[str, Any]) -> object:
        item = super().complete(request)
        if not callable(item):
            return item
        return {"choices": [{"message": item(request), "finish_reason": "stop"}]}


def play(*script: object, place: Path, **options: Any) -> tuple[Agent, Scripted]:
    """Run a script on the fenced route to its end. Nothing may be sent that a server without function
    calling would refuse."""
    model = Answering(*script)
    options = {"task": "Do it.", "settings": settings(), **options}
    with LocalSandbox(place, timeout=20) as sandbox:
        made = Agent(model, sandbox, **options)
        made.run()
    for request in model.requests:
        assert complaints("fenced-chat", {"model": "m", **request}) == []
    return made, model


def sent(model: Scripted, at: int = -1) -> list[str]:
    return [str(message["content"]) for message in model.requests[at]["messages"]]


def results(model: Scripted, at: int = -1) -> Sequence[Piece]:
    """The newest round's results in one of the requests."""
    found = [read_pieces(text) for text in sent(model, at)]
    return [pieces for pieces in found if pieces is not None][-1][1]
