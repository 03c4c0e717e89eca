"""A context tool's arguments: checked, and turned into an intent or into words on what is wrong.

Handlers never see the conversation. Small slips of models are forgiven where the meaning is clear: a
list written as text, a number written as text, one handle without its list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from redraft.tools.catalogue import LEAST_SNIPPET, MOST_NOTE, MOST_READ, MOST_TOP, TOOL_ARGUMENTS
from redraft.tools.edit_context import Outline
from redraft.tools.intents import (
    DropIntent,
    Intent,
    NoteIntent,
    PinIntent,
    ReadIntent,
    StatusIntent,
    UnpinIntent,
)
from redraft.tools.slips import Wrong, from_text, known_only, number

__all__ = ["intent_of"]

_MOST_HANDLES = 1_000
_LEAST_ID = 8


def intent_of(name: str, arguments: Mapping[str, Any], *, enabled: bool = True) -> Intent | Outline:
    """What a call of a context tool asks for.

    Args:
        name: the tool's name.
        arguments: the call's arguments, parsed.
        enabled: whether the tools are switched on (`agent_context_tools_enabled`).

    Returns:
        an intent, or a text for the model that says why there is none.

    Raises:
        KeyError: no context tool has this name.
    """
    takes = TOOL_ARGUMENTS[name]
    if not enabled:
        return Outline(
            f"{name} is switched off here; nothing was done. Go on without it.", failed=True
        )
    try:
        known_only(arguments, takes)
        return _READERS[name](arguments)
    except Wrong as error:
        return Outline(f"{name}: nothing was done: {error}", failed=True)


def _status(given: Mapping[str, Any]) -> Intent:
    # More than the most is a wish for all there is, so it gets the most.
    return StatusIntent(min(number(given, "top", 8, 1), MOST_TOP))


def _pin(given: Mapping[str, Any]) -> Intent:
    handles, snippet = _handles(given), _snippet(given)
    if not handles and not snippet:
        raise Wrong("give `handles` or a `snippet`; context_status shows the handles.")
    return PinIntent(handles, snippet)


def _unpin(given: Mapping[str, Any]) -> Intent:
    handles, snippet, everything = _handles(given), _snippet(given), _flag(given, "all")
    if not handles and not snippet and not everything:
        raise Wrong("give `handles`, a `snippet`, or `all`: true.")
    return UnpinIntent(handles, snippet, everything)


def _drop(given: Mapping[str, Any]) -> Intent:
    return DropIntent(_named(given))


def _note(given: Mapping[str, Any]) -> Intent:
    handles, note = _named(given), given.get("note")
    if note is not None and not isinstance(note, str):
        raise Wrong("`note` must be a text.")
    if not note or not note.strip():
        raise Wrong("`note` is missing; write down what you still need of these results.")
    if len(note) > MOST_NOTE:
        raise Wrong(f"the note has {len(note):,} characters; {MOST_NOTE:,} at most. Shorten it.")
    return NoteIntent(handles, note)


def _read(given: Mapping[str, Any]) -> Intent:
    name, find = given.get("id"), given.get("find") or ""
    name = name.strip().lower() if isinstance(name, str) else ""
    if len(name) < _LEAST_ID or len(name) > 64 or any(c not in "0123456789abcdef" for c in name):
        raise Wrong(f"`id` must be the id in a stub, or at least its first {_LEAST_ID} digits.")
    if not isinstance(find, str) or len(find) > MOST_NOTE:
        raise Wrong("`find` must be a text to look for, and a short one.")
    length = number(given, "length", 4_000, 1)
    return ReadIntent(name, number(given, "start", 0, 0), min(length, MOST_READ), find)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Intent]] = MappingProxyType(
    {
        "context_status": _status,
        "context_pin": _pin,
        "context_unpin": _unpin,
        "context_drop": _drop,
        "context_note": _note,
        "read_overflow": _read,
    }
)


def _named(given: Mapping[str, Any]) -> tuple[str, ...]:
    handles = _handles(given)
    if not handles:
        raise Wrong("`handles` is missing; context_status shows the handles of tool results.")
    return handles


def _handles(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The handles, each once, in the order given."""
    value = given.get("handles")
    if isinstance(value, str):
        value = from_text(value)
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise Wrong("`handles` must be a list of texts, as context_status shows them.")
    if len(value) > _MOST_HANDLES:
        raise Wrong(f"{len(value):,} handles are too many for one call; {_MOST_HANDLES:,} at most.")
    return tuple(dict.fromkeys(item.strip() for item in value if item.strip()))


def _snippet(given: Mapping[str, Any]) -> str:
    value = given.get("snippet")
    if value is None or value == "":
        return ""
    if not isinstance(value, str):
        raise Wrong("`snippet` must be a text.")
    if len(value.strip()) < LEAST_SNIPPET:
        raise Wrong(
            f"the snippet is too short; quote at least {LEAST_SNIPPET} characters that stand in one "
            "message only."
        )
    return value


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        value = value.strip().lower() == "true"
    if value is None or isinstance(value, bool):
        return bool(value)
    raise Wrong(f"`{name}` must be true or false.")
