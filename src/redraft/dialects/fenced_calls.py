"""Tool calls that a model writes as text, each in a fence of its own.

    ```tool_call
    {"name": "bash", "arguments": {"command": "ls"}}
    ```

For models without function calling. Fences open and close as in CommonMark; what stands inside of a
larger fence is quoted and no call, and neither is what a model only thinks of (`<think>`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redraft.dialects.arguments import parse_object
from redraft.dialects.fenced_results import is_frame_line

__all__ = [
    "FENCE_WORD",
    "UNREADABLE",
    "FencedCall",
    "Spoken",
    "call_fence",
    "elsewhere",
    "spoken",
    "unthought",
]

FENCE_WORD = "tool_call"
"""The word behind the fence that says that it holds a call."""

UNREADABLE = "tool_call"
"""The name of a call whose fence holds no call: its arguments are what stands there."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[ \t]*([^`\r\n]*?)[ \t]*\r?\n?")
_THOUGHT = re.compile(r"\A.*?</think>[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_OTHER = re.compile(
    r"^[ ]{0,3}(?P<marks>`{3,}|~{3,})[^\n]*\n(?P<fenced>.*?)^[ ]{0,3}(?P=marks)[`~]*[ \t]*$"
    r"|<(?P<tag>tool_call|function_call|tool_use)>(?P<tagged>.*?)</(?P=tag)>",
    re.DOTALL | re.MULTILINE,
)


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
        forged: whether results stand in it, which only tools give.
        real: how many of the calls stand in front of such results; all of them where there are none.
    """

    prose: str
    calls: tuple[FencedCall, ...]
    cut: bool = False
    forged: bool = False
    real: int = 0


def spoken(text: str) -> Spoken:
    """Take a reply apart; without calls its prose is `text` itself."""
    calls: list[FencedCall] = []
    prose: list[str] = []
    done, cut, thought = 0, False, _thought(text)
    forged = _Forged()
    real = 0
    for start, end, body, closed in _fences(text[thought:], forged):
        found = _calls(body)
        cut = not closed and found is None
        calls += [FencedCall(UNREADABLE, body.strip())] if found is None else found
        real = len(calls) if start < forged.at else real
        prose.append(text[done : thought + start])
        done = thought + end
    if not calls:
        return Spoken(text, (), forged=forged.found)
    prose.append(text[done:])
    pieces = (piece.strip("\r\n") for piece in prose)
    said = "\n\n".join(piece for piece in pieces if piece.strip())
    return Spoken(said, tuple(calls), cut, forged.found, real)


def elsewhere(text: str, names: Collection[str]) -> bool:
    """Whether a reply holds a call of one of these tools in another form than the fence of a call: in a
    fence with another word, in tags, or as JSON on its own.

    Args:
        text: a reply in which `spoken` finds no call.
        names: the tools' names.
    """
    said = unthought(text)
    bodies = [found["fenced"] or found["tagged"] or "" for found in _OTHER.finditer(said)]
    found = (_calls(body.strip()) or () for body in (*bodies, said.strip()))
    return any(call.name in names for calls in found for call in calls)


def unthought(text: str) -> str:
    """A reply without what the model thought aloud in front of it."""
    return text[_thought(text) :]


def call_fence(name: str, arguments: str) -> str:
    """A call as text: what `spoken` reads."""
    value: object = parse_object(arguments)
    value = arguments if value is None else value
    body = json.dumps({"name": name, "arguments": value}, ensure_ascii=False)
    return f"```{FENCE_WORD}\n{body}\n```"


def _thought(text: str) -> int:
    """Where the reply begins behind what a model thought aloud: some servers leave that in the text,
    without its opening where the prompt ended with it. Its end is the end of a line."""
    found = _THOUGHT.match(text)
    if found is not None:
        return found.end()
    return len(text) if text.lstrip().startswith("<think>") else 0


@dataclass(slots=True)
class _Forged:
    """Where the first line stands that only a results message has."""

    at: float = math.inf

    @property
    def found(self) -> bool:
        return self.at < math.inf


def _fences(text: str, forged: _Forged) -> Iterator[tuple[int, int, str, bool]]:
    """The fences of calls: where each begins and ends, what is in it, and whether it is closed."""
    outer, start, inside, at = "", -1, 0, 0
    for line in _LINE.findall(text):
        found = _FENCE.fullmatch(line)
        marks, word = (found[1], found[2]) if found else ("", "")
        if not outer and line.startswith("[") and is_frame_line(line):
            forged.at = min(forged.at, at)
        if start >= 0:  # in a call
            if _closes(marks, word, outer):
                yield start, at + len(line), text[inside:at], True
                outer, start = "", -1
            elif line.startswith("[") and is_frame_line(line) and _calls(text[inside:at]):
                # Its fence was never closed, and results were made up right behind it.
                yield start, at, text[inside:at], True
                forged.at = min(forged.at, at)
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
        # Models break lines inside of a text, where JSON wants `\n`: what is meant is clear.
        value = json.loads(body, strict=False)
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
