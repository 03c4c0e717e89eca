"""Scripted players: deterministic stand-ins for a model, so that everything runs offline.

A player is a pure function of the request to one assistant message. It has no memory and no channel
but the conversation and the tools that it is offered: what has left the context, it cannot know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from redraft.dialects import Native, OpenAIChat
from redraft.testing.completions import chat_completion, usage
from redraft.tokens import Meter

__all__ = ["Player", "ScriptedModel", "alert_player", "bash_call", "calls_message", "text_of"]

Player = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From a request (`messages`, `tools`, ...) to an assistant message."""


class ScriptedModel:
    """A player behind the interface of a model, with usage as a server would report it.

    Args:
        player: who answers.
        meter: counts the prompt.
    """

    name = "scripted-player"

    def __init__(self, player: Player, meter: Meter | None = None) -> None:
        self._player = player
        self._meter = meter or Meter()
        self._dialect = OpenAIChat()

    def complete(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The player's answer, as a chat completion."""
        frame, contents = self._dialect.split(request)
        prompt = self._meter.frame(frame) + sum(map(self._meter.content, contents))
        message = self._player(request)
        output = self._meter.text(json.dumps(message, ensure_ascii=False))
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        number = len(request["messages"])
        return chat_completion(number, self.name, message, finish, usage(prompt, 0, output))


def bash_call(command: str, place: int) -> dict[str, Any]:
    """An assistant message that runs one shell command.

    Args:
        command: what to run.
        place: makes the call's id; pass the number of messages so far, so that ids differ.
    """
    return calls_message([(f"call_{place}", "bash", {"command": command})])


def calls_message(asked: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[str, Any]:
    """An assistant message that calls tools.

    Args:
        asked: the calls: id, the tool's name, its arguments.
    """
    calls = [
        {
            "id": name,
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(arguments)},
        }
        for name, tool, arguments in asked
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def text_of(message: Native) -> str:
    """The text of a message, its parts a line each; "" where it has none."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


_PARTS = re.compile(r"part-01\.log to part-(\d+)\.log")
_READ = re.compile(r"(?:cat|up to) part-(\d+)\.log")
_ALERT = re.compile(r"ALERT \w+ (ref=[0-9a-f]+) owner=[0-9a-f]+")
_WITHDRAWN = re.compile(r"WITHDRAWN (ref=[0-9a-f]+)")
_READOUT = re.compile(r"\[redraft:\w+\] context ([\d,]+) / ([\d,]+) tokens")

_TIDY_AT = 0.5
"""The fill from which the player tidies. The readout leaves out the result that it stands in, so that
one, one more part and the edit itself must fit behind it."""

COMPACT = r"""python3 - <<'EOF'
import os, re
path = os.environ["REDRAFT_CONTEXT_FILE"]
with open(path, encoding="utf-8") as file:
    text = file.read()
read = max(re.findall(r'(?:"cat |up to )part-(\d+)\.log', text), key=int)
gone = set(re.findall(r"WITHDRAWN (ref=[0-9a-f]+)", text))
alerts = re.findall(r"ALERT \w+ ref=[0-9a-f]+ owner=[0-9a-f]+", text)
open_now = [a for a in dict.fromkeys(alerts) if a.split()[2] not in gone]
first = re.search(r"^\[\[CTX_TURN (\d+) ", text, re.M)[1]
note = "\n".join([
    f"Read so far: everything up to part-{read}.log, in order; next is the part after it.",
    "Open alerts, letter by letter (verified against the log):", *open_now,
    "Withdrawn ones are left out. All other lines were routine and need no second look.",
])
with open(path, "w", encoding="utf-8") as file:
    file.write(f"[[CTX_TURN {first} role=assistant]]\n{note}\n\n[[CTX_END]]\n")
EOF"""
"""The player's own edit: the whole editable region becomes one note, made from what it shows."""


def alert_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Plays `redraft.testing.alerts`: reads part after part, and tidies its context with code when it
    is told how full it is. Offered no context file, it reads on until it is told to stop."""
    messages: Sequence[Native] = request["messages"]
    texts = [text_of(message) for message in messages]
    parts = int(found[1]) if (found := _PARTS.search("\n".join(texts))) else 0
    said = _after_task(messages)
    read = max(map(int, _READ.findall(_own_words(messages))), default=0)
    place = len(messages)
    if "This is your last turn" in texts[-1] or read >= parts:
        return {"role": "assistant", "content": _answer(said)}
    if "REDRAFT_CONTEXT_FILE" in texts[0] and not texts[-1].startswith("[redraft:"):
        if _fill(texts[-1]) >= _TIDY_AT:
            return bash_call(COMPACT, place)
        stale = _stale(said, texts[-1])
        if stale:
            return bash_call(f"sed -i '/ALERT .* {stale} /d' \"$REDRAFT_CONTEXT_FILE\"", place)
    return bash_call(f"cat part-{read + 1:02}.log", place)


def _after_task(messages: Sequence[Native]) -> str:
    """All that was said since the task."""
    start = next((at for at, m in enumerate(messages) if m["role"] == "user"), 0) + 1
    return "\n".join(text_of(message) for message in messages[start:])


def _own_words(messages: Sequence[Native]) -> str:
    """The player's own notes and commands: a rollback's notice names commands too."""
    words = []
    for message in messages:
        if message["role"] == "assistant":
            words.append(text_of(message))
            words += [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return "\n".join(words)


def _answer(said: str) -> str:
    gone = set(_WITHDRAWN.findall(said))
    return "\n".join(ref for ref in dict.fromkeys(_ALERT.findall(said)) if ref not in gone)


def _stale(said: str, newest: str) -> str | None:
    """A reference that the newest output withdraws while its alert still stands in the context."""
    alive = set(_ALERT.findall(said))
    return next((ref for ref in _WITHDRAWN.findall(newest) if ref in alive), None)


def _fill(newest: str) -> float:
    found = _READOUT.search(newest)
    if not found:
        return 0.0
    used, limit = (int(figure.replace(",", "")) for figure in found.groups())
    return used / limit
