"""Cutting the newest output down to what fits: its head and its tail stay, the middle goes.

Everything here works on pieces of bounded length, so that one line of sixteen million characters
(RooCodeInc/Roo-Code#5775) costs no more than what is kept of it and a sample of what is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

__all__ = ["cap_output", "plain_marker"]

Count = Callable[[str], int]
"""Tokens of a text."""

_WHOLE = 32_768
"""Characters up to which a text is counted in one go."""
_PIECE = 2_048
_SAMPLES = 64
_PATIENCE = 4
_MOST_JSON = 1_000_000
"""Characters up to which a text is tried as JSON."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+')


def plain_marker(left_out: int) -> str:
    """The line that stands where the middle was."""
    return f"[... {left_out:,} tokens of output left out ...]"


def cap_output(
    text: str, room_tokens: int, count: Count, marker: Callable[[int], str] = plain_marker
) -> tuple[str, int]:
    """Cut `text` to at most `room_tokens`, keeping head and tail in equal parts.

    Deterministic. Never cuts through a surrogate pair or a CRLF, nor, where the text is a JSON value of at
    most a million characters, through a string or a number of it; unless that takes half of a part.

    Args:
        text: the output.
        room_tokens: what it may cost, in the tokens of `count`.
        count: counts the tokens of a text; it is only asked for texts of about `room_tokens`, or
            of 32,768 characters, whichever is more.
        marker: the one line for the middle, from the number of tokens left out.

    Returns:
        (text, left_out): the very object and 0 where it fits; else at most `room_tokens` and how many
        tokens are gone. That number is counted where the middle is shorter than 131,072 characters,
        and beyond that estimated from evenly spaced samples. Where not even the marker fits the
        text is empty.
    """
    room_tokens = max(room_tokens, 0)
    if _fits(text, room_tokens, count):
        return text, 0
    payload = _is_json(text)
    body = room_tokens - count(f"\n{marker(10**9)}\n")
    tries = 0
    while body >= 0:
        start = _head(text, body // 2, count)
        stop = max(_tail(text, body - body // 2, count), start)
        if payload:
            start, stop = _between_tokens(text, start, stop)
        left_out = _size(text, start, stop, count)
        capped = _join(text[:start], marker(left_out), text[stop:])
        over = count(capped) - room_tokens
        if over <= 0 and start < stop:
            return capped, left_out
        # A seam may cost more than its parts. Shrinking by a share ends it whatever `count` does.
        tries += 1
        body -= max(over, 1 if tries < _PATIENCE else body // 8 + 1)
    left_out = _size(text, 0, len(text), count)
    line = marker(left_out)
    return (line if count(line) <= room_tokens else ""), left_out


def _join(head: str, line: str, tail: str) -> str:
    gap = "" if not head or head[-1] in "\r\n" else "\n"
    return f"{head}{gap}{line}\n{tail}" if tail else f"{head}{gap}{line}"


def _is_json(text: str) -> bool:
    if len(text) > _MOST_JSON or text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _between_tokens(text: str, start: int, stop: int) -> tuple[int, int]:
    """The cuts of a JSON text, moved to the ends of the tokens that they go through.

    Where one token is more than half of a part it is cut all the same: else hardly anything of a payload
    that is one long string would be seen.
    """
    first, last = start, stop
    for token in _TOKEN.finditer(text):
        if token.start() >= stop:
            break
        if token.start() < start < token.end():
            first = token.start()
        if token.start() < stop < token.end():
            last = token.end()
    return (
        first if 2 * first >= start else start,
        last if 2 * (len(text) - last) >= len(text) - stop else stop,
    )


def _fits(text: str, room: int, count: Count) -> bool:
    if len(text) > _WHOLE:
        total = 0
        for at in range(0, len(text), _PIECE):
            total += count(text[at : at + _PIECE])
            if total > room:
                return False
    return count(text) <= room


def _head(text: str, room: int, count: Count) -> int:
    """Where a head of about `room` tokens ends."""
    at = 0
    while at < len(text) and (cost := count(text[at : at + _PIECE])) <= room:
        room -= cost
        at += _PIECE
    piece = text[at : at + _PIECE]
    return _boundary(text, at + _most(len(piece), lambda n: count(piece[:n]) <= room), -1)


def _tail(text: str, room: int, count: Count) -> int:
    """Where a tail of about `room` tokens begins."""
    at = len(text)
    while at > 0 and (cost := count(text[max(at - _PIECE, 0) : at])) <= room:
        room -= cost
        at = max(at - _PIECE, 0)
    piece = text[max(at - _PIECE, 0) : at]
    kept = _most(len(piece), lambda n: count(piece[len(piece) - n :]) <= room)
    return _boundary(text, at - kept, 1)


def _most(longest: int, fits: Callable[[int], bool]) -> int:
    """The largest length that fits, by halving; 0 where none does."""
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _boundary(text: str, at: int, step: int) -> int:
    """`at`, moved by `step` where it would cut through a CRLF or a surrogate pair; never past an end."""
    at = min(at, len(text))
    if not 0 < at < len(text):
        return at
    before, after = text[at - 1], text[at]
    crlf = before == "\r" and after == "\n"
    pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return at + step if crlf or pair else at


def _size(text: str, start: int, stop: int, count: Count) -> int:
    """Tokens between two places: counted piece by piece, or scaled up from samples."""
    pieces = range(start, stop, _PIECE)
    stride = -(-len(pieces) // _SAMPLES) if pieces else 1
    chosen = [(at, min(at + _PIECE, stop)) for at in pieces[::stride]]
    tokens = sum(count(text[first:last]) for first, last in chosen)
    seen = sum(last - first for first, last in chosen)
    return tokens if stride == 1 else tokens * (stop - start) // seen
