"""A round's results in one user message: a line in front of each, a frame around all of them.

    [tool results of round 3: output of tools, not words of the user]
    [result r3.1 bash]
    ...
    [end of tool results]

Where each result stands is written down beside the message, under private keys: text alone proves
nothing, since a user can quote such a message. The keys are for whoever keeps the history; they never
reach a provider.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ROUND_KEY",
    "SEGMENTS_KEY",
    "Piece",
    "is_frame_line",
    "pieces_of",
    "read_pieces",
    "results_message",
    "round_handle",
    "stripped",
    "unwrapped",
    "wrapped",
]

ROUND_KEY = "_tool_round"
"""The message's key for the number of its round."""

SEGMENTS_KEY = "_tool_segments"
"""The message's key for the characters of each result's text, half open."""

_TAIL = "[end of tool results]"
_HEAD = re.compile(r"\[tool results of round (\d+): output of tools, not words of the user\]")
_RESULT = re.compile(r"\[result (r\d+\.\d+) (\S+)\]")
_ESCAPE = re.compile(
    r"^(?=\\*\[(?:result r\d|tool results of round|end of tool results))", re.MULTILINE
)
_ESCAPED = re.compile(
    r"^\\(?=\\*\[(?:result r\d|tool results of round|end of tool results))", re.MULTILINE
)
_OF_ROUND = re.compile(r"(r\d+)\.\d+")


@dataclass(frozen=True, slots=True)
class Piece:
    """One result.

    Attributes:
        id: its handle, `r<round>.<i>`.
        tool: the tool's name.
        text: what the tool said.
    """

    id: str
    tool: str
    text: str


def is_frame_line(line: str) -> bool:
    """Whether a line is one of the frame's, with or without its line break. Only a results message has
    such lines: a model that writes one makes its results up itself."""
    bare = line.rstrip("\r\n")
    return bool(_HEAD.fullmatch(bare) or _RESULT.fullmatch(bare))


def round_handle(answers: str | None) -> str:
    """`r<round>` for the id of a call of a fenced round, else ""."""
    found = _OF_ROUND.fullmatch(answers or "")
    return found[1] if found else ""


def results_message(number: int, pieces: Sequence[Piece]) -> dict[str, Any]:
    """The message for a round's results, with its private keys.

    Args:
        number: the round's number.
        pieces: the results, in the order of their calls.
    """
    text, segments = _head(number), []
    for piece in pieces:
        text += f"\n[result {piece.id} {_word(piece.tool)}]\n"
        body = _escaped(piece.text)
        segments.append([len(text), len(text) + len(body)])
        text += body
    text += f"\n{_TAIL}"
    return {"role": "user", "content": text, ROUND_KEY: number, SEGMENTS_KEY: segments}


def stripped(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as a provider may see it: without private keys."""
    return {key: value for key, value in message.items() if key not in (ROUND_KEY, SEGMENTS_KEY)}


def pieces_of(message: Mapping[str, Any]) -> tuple[int, tuple[Piece, ...]] | None:
    """The round and the results of a message, by its private keys; None where they are unknown, or
    do not fit the text any more."""
    number, segments, text = (message.get(key) for key in (ROUND_KEY, SEGMENTS_KEY, "content"))
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(text, str):
        return None
    found = read_pieces(text)
    if found is None or found[0] != number or segments != [list(span) for span in found[2]]:
        return None
    return number, found[1]


def read_pieces(text: str) -> tuple[int, tuple[Piece, ...], tuple[tuple[int, int], ...]] | None:
    """The round, the results and where they stand, read from a text that we made ourselves; None for
    any other."""
    head = _HEAD.match(text)
    if head is None or not text.endswith(f"\n{_TAIL}"):
        return None
    lines = [found for found in _lines(text, head.end()) if _RESULT.fullmatch(found[1])]
    ends = [start - 1 for start, _ in lines[1:]] + [len(text) - len(_TAIL) - 1]
    pieces, spans = [], []
    for (start, line), end in zip(lines, ends, strict=bool(lines)):
        found = _RESULT.fullmatch(line)
        begin = start + len(line) + 1
        if found is None or begin > end:
            return None
        pieces.append(Piece(found[1], found[2], _ESCAPED.sub("", text[begin:end])))
        spans.append((begin, end))
    number = int(head[1])
    again = results_message(number, pieces)
    return (number, tuple(pieces), tuple(spans)) if again["content"] == text else None


def unwrapped(text: str) -> tuple[int, str] | None:
    """The round and what is inside of the frame, whatever it is; None for a text without the frame."""
    head = _HEAD.match(text)
    if head is None or not text[head.end() :].startswith("\n") or not text.endswith(f"\n{_TAIL}"):
        return None
    return int(head[1]), text[head.end() + 1 : -len(_TAIL) - 1]


def wrapped(text: str, number: int) -> str:
    """A text with the frame around it, escaped so that no line of it can pass for the frame's."""
    return f"{_head(number)}\n{_escaped(text)}\n{_TAIL}"


def _escaped(text: str) -> str:
    """A body in which no line can pass for the frame's: such a line gains a backslash."""
    return _ESCAPE.sub(r"\\", text)


def _head(number: int) -> str:
    return f"[tool results of round {number}: output of tools, not words of the user]"


def _lines(text: str, start: int) -> list[tuple[int, str]]:
    """Each line behind `start` with the character that it begins at. Lines end at LF alone."""
    lines = []
    at = start + 1
    for line in text[at:].split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    return lines


def _word(name: str) -> str:
    return re.sub(r"[^\w.:/+-]", "_", name)[:100] or "-"
