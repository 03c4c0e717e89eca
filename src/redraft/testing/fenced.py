"""The fenced route in tests: players of native calls that write fences, and requests turned into such.

A model without function calling sees text alone. Players stay what they are: they are shown the
conversation as one with native calls and results, and what they answer is written in fences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects import Native
from redraft.dialects.fenced_calls import call_fence, spoken
from redraft.dialects.fenced_results import Piece, read_pieces, results_message
from redraft.testing.players import Player
from redraft.testing.refusals.fenced import complaints

__all__ = ["fenced_message", "fenced_request", "in_fences", "native_request", "refused_in_fences"]

Json = dict[str, Any]

_TOOL = re.compile(r"^- `?(\w+)\([^)]*\)", re.MULTILINE)


def in_fences(player: Player) -> Player:
    """A player of native calls, as a model that only writes fenced ones.

    Args:
        player: who answers. It sees native calls, results under their handles as ids, and as `tools`
            those that the conversation describes, by name alone.
    """

    def fenced(request: Mapping[str, Any]) -> Mapping[str, Any]:
        return fenced_message(player(native_request(request)))

    return fenced


def refused_in_fences(request: Mapping[str, Any]) -> str | None:
    """A `check` for `FakeServer`: what a server without function calling would refuse, or None. Tools,
    calls, results and private keys are among it."""
    found = next(complaints(request), None)
    return None if found is None else f"{found.message} ({found.param})"


def fenced_message(message: Mapping[str, Any]) -> Json:
    """An assistant message of Chat Completions with its calls as fences behind its words."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    fences = [call_fence(call["name"], call["arguments"]) for call in calls]
    if not fences:
        return dict(message)
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": "\n\n".join(filter(None, (_text(message), *fences)))}


def native_request(request: Mapping[str, Any]) -> Json:
    """A request of the fenced route as one with native calls, results and tools."""
    messages = list(_native(request["messages"]))
    named = [name for message in request["messages"] for name in _described(message)]
    tools = [{"type": "function", "function": {"name": name}} for name in dict.fromkeys(named)]
    return {**request, "messages": messages, "tools": tools}


def _native(messages: Sequence[Native]) -> Iterator[Json]:
    at = 0
    while at < len(messages):
        message, following = messages[at], messages[at + 1 : at + 2]
        at += 1
        said = spoken(_text(message)) if message["role"] == "assistant" else None
        found = read_pieces(_text(following[0])) if following else None
        if said is None or not said.calls or found is None or len(found[1]) != len(said.calls):
            yield dict(message)
            continue
        calls = [
            _call(piece.id, call.name, call.arguments)
            for piece, call in zip(found[1], said.calls, strict=True)
        ]
        yield {**message, "content": said.prose or None, "tool_calls": calls}
        for piece in found[1]:
            yield {"role": "tool", "tool_call_id": piece.id, "content": piece.text}
        at += 1


def _call(name: str, tool: str, arguments: str) -> Json:
    function = {"name": tool, "arguments": arguments}
    return {"id": name, "type": "function", "function": function}


def _described(message: Native) -> Iterator[str]:
    """Tools that the system prompt or a note in words of redraft's names."""
    if message["role"] != "assistant":
        yield from _TOOL.findall(_text(message))


def fenced_request(request: Mapping[str, Any]) -> Json:
    """A request with native calls and results as one of the fenced route, with private keys as whoever
    keeps such a history has them. Calls whose results do not all follow stay words; everybody has one of
    the three roles that any server knows."""
    fields = {key: value for key, value in request.items() if key not in ("messages", "tools")}
    return {**fields, "messages": list(_fenced(request["messages"]))}


def _fenced(messages: Sequence[Native]) -> Iterator[Json]:
    at = number = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        calls = message.get("tool_calls") or ()
        results = messages[at : at + len(calls)]
        if message["role"] in ("tool", "function"):
            yield {"role": "user", "content": _text(message) or "-"}
        elif message["role"] == "developer":
            yield {**message, "role": "system"}
        elif message.get("function_call"):
            yield {"role": "assistant", "content": _text(message) or "-"}
        elif calls and [one.get("tool_call_id") for one in results] == [one["id"] for one in calls]:
            number += 1
            yield fenced_message(message)
            pieces = [
                Piece(f"r{number}.{place}", call["function"]["name"], _text(one))
                for place, (call, one) in enumerate(zip(calls, results, strict=True), start=1)
            ]
            yield results_message(number, pieces)
            at += len(calls)
        else:
            yield fenced_message(message) if message["role"] == "assistant" else dict(message)


def _text(message: Native) -> str:
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        return "\n".join(str(part.get("text") or "") for part in content)
    return content or ""
