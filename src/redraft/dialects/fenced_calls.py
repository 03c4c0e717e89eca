"""Tool calls that a model writes as text, each in a fence of its own.

    ```tool_call
    {"name": "bash", "arguments": {"command": "ls"}}
    ```

For models without function calling. Fences open and close as in CommonMark; what stands inside of a
larger fence is quoted and no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redraft.dialects.arguments import parse_object

__all__ = ["FENCE_WORD", "FencedCall", "Spoken", "call_fence", "spoken"]

FENCE_WORD = "tool_call"
"""The word behind the fence that says that it holds a call."""

_UNREADABLE = "tool_call"
"""The name of a call whose fence holds no call: its arguments are what stands there."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[ \t]*([^`\r\n]*?)[ \t]*\r?\n?")


@dataclass(frozen=True, slots=True)
class FencedCall:
    """A call as it was written.

    Attributes:
        name: the tool's name.
        arguments: a JSON object as text; whatever stands in the fence where it holds no call.
    """

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply, taken apart.

    Attributes:
        prose: what is not a call's fence.
        calls: the calls, in order.
        cut: whether the last call breaks off: its fence has no end and its text is no call.
    """

    prose: str
    calls: tuple[FencedCall, ...]
    cut: bool = False


def spoken(text: str) -> Spoken:
    """Take a reply apart; without calls its prose is `text` itself."""
    calls: list[FencedCall] = []
    prose: list[str] = []
    done, cut = 0, False
    for start, end, body, closed in _fences(text):
        found = _calls(body)
        cut = not closed and found is None
        calls += [FencedCall(_UNREADABLE, body.strip())] if found is None else found
        prose.append(text[done:start])
        done = end
    if not calls:
        return Spoken(text, ())
    prose.append(text[done:])
    pieces = (piece.strip("\r\n") for piece in prose)
    return Spoken("\n\n".join(piece for piece in pieces if piece.strip()), tuple(calls), cut)


def call_fence(name: str, arguments: str) -> str:
    """A call as text: what `spoken` reads."""
    value: object = parse_object(arguments)
    value = arguments if value is None else value
    body = json.dumps({"name": name, "arguments": value}, ensure_ascii=False)
    return f"```{FENCE_WORD}\n{body}\n```"


def _fences(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """The fences of calls: where each begins and ends, what is in it, and whether it is closed."""
    outer, start, inside, at = "", -1, 0, 0
    for line in _LINE.findall(text):
        found = _FENCE.fullmatch(line)
        marks, word = (found[1], found[2]) if found else ("", "")
        if start >= 0:  # in a call
            if _closes(marks, word, outer):
                yield start, at + len(line), text[inside:at], True
                outer, start = "", -1
        elif word == FENCE_WORD and len(marks) >= len(outer):
            # Also where a shorter or equal fence was never closed: a call must not be lost for it.
            outer, start, inside = marks, at, at + len(line)
        elif outer and _closes(marks, word, outer):
            outer = ""
        elif marks and not outer:
            outer = marks
        at += len(line)
    if start >= 0:
        yield start, len(text), text[inside:], False


def _closes(marks: str, word: str, outer: str) -> bool:
    return bool(marks) and not word and marks[0] == outer[0] and len(marks) >= len(outer)


def _calls(body: str) -> list[FencedCall] | None:
    """The call in a fence, or the calls of a list; None where it is something else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    members = value if isinstance(value, list) else [value]
    calls = [_call(member) for member in members]
    return None if not calls or None in calls else [call for call in calls if call is not None]


def _call(value: object) -> FencedCall | None:
    if (
        not isinstance(value, Mapping)
        or not isinstance(value.get("name"), str)
        or not value["name"]
    ):
        return None
    given: Any = value.get("arguments", value.get("parameters", {}))
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return FencedCall(value["name"], text)
