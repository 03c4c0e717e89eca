"""Where in a tool call an edit's command stands: what training gives credit or blame to. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from redraft.dialects import Call
from redraft.store import EditSpan

__all__ = ["spans_of"]

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


def spans_of(call: Call, names: Callable[[str], bool] | None) -> tuple[EditSpan, ...]:
    """The characters of a call's arguments that are the command of an edit.

    Args:
        call: the call.
        names: whether a text names the context file; None where the whole call is the edit.

    Returns:
        the inside of each string of the arguments' own members that names the file, escapes as they
        are on the wire; all of the arguments where there is none.
    """
    text = call.arguments
    if names is not None and not call.free:
        found = [span for span in _strings(text) if names(text[span[0] : span[1]])]
        if found:
            return tuple(EditSpan(call.index, start, end) for start, end in found)
    return (EditSpan(call.index, 0, len(text)),)


def _strings(text: str) -> Iterator[tuple[int, int]]:
    """The insides of the strings that are members of a JSON object; none where it is not one."""
    try:
        at = _skipped(text, 0)
        while text[at : at + 1] in ("{", ","):
            _, at = _DECODER.raw_decode(text, _skipped(text, at + 1))
            at = _skipped(text, at)
            start = _skipped(text, at + 1)
            value, at = _DECODER.raw_decode(text, start)
            if isinstance(value, str):
                yield start + 1, at - 1
            at = _skipped(text, at)
    except (ValueError, RecursionError):
        return


def _skipped(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
