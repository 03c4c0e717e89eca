"""The catalogue of events as JSON Schema, made from the classes and their docstrings.

`docs/api/events.json` is made by `python -m redraft.cli.catalogue > docs/api/events.json`; a test
compares the two.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from textwrap import dedent
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from redraft.events import approvals, catalogue, context_ops, rotations, running
from redraft.events.catalogue import Event

__all__ = ["event_catalogue", "event_kinds", "event_schema"]

_HOMES = (approvals, catalogue, context_ops, rotations, running)
"""The modules that have events. Not `Event.__subclasses__()`: a dataclass with slots is made twice."""

_TYPES = MappingProxyType({bool: "boolean", int: "integer", float: "number", str: "string"})

_LOGGED = MappingProxyType(
    {
        "seq": {
            "type": "integer",
            "description": "The place in the run's record, from 1, rising; only in a log.",
        },
        "at": {
            "type": "number",
            "description": "When it was recorded, in seconds since 1970 (UTC); only in a log.",
        },
    }
)

_ATTRIBUTE = re.compile(r"^(\w+(?:, \w+)*): (.*)$")


def event_kinds() -> tuple[type[Event], ...]:
    """Every event that redraft emits, by the name of its type.

    Events that a client defined for itself are not among them.
    """
    named = (getattr(home, name) for home in _HOMES for name in home.__all__)
    kinds = (one for one in named if isinstance(one, type) and issubclass(one, Event))
    return tuple(sorted((kind for kind in kinds if kind is not Event), key=lambda kind: kind.type))


def event_catalogue() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of every event: what `Event.as_dict` gives, and a line of
    `redraft log --json` holds.

    Returns:
        a schema that takes exactly one event; each has a definition under its `type`. The one of
        `event` is for lines that a later version of redraft wrote.
    """
    kinds: tuple[type[Event], ...] = (Event, *event_kinds())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events of redraft",
        "description": "One event of a session or a run. Sizes in tokens are as shown to the model "
        "(calibrated), unless a name says `raw`.",
        "oneOf": [{"$ref": f"#/$defs/{kind.type}"} for kind in kinds],
        "$defs": {kind.type: event_schema(kind) for kind in kinds},
    }


def event_schema(kind: type[Event]) -> dict[str, Any]:
    """JSON Schema of one event.

    Args:
        kind: its class.

    Raises:
        TypeError: a field is of a type that no line of JSON can hold.
    """
    hints, told = get_type_hints(kind), _told(kind)
    known = {
        field.name: {**_schema(hints[field.name]), "description": told.get(field.name, "")}
        for field in fields(kind)
    }
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    return {
        "title": kind.__name__,
        "description": _summary(kind),
        "type": "object",
        "properties": {"type": {"const": kind.type}, **known, **_LOGGED},
        "required": ["type", *needed],
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    if hint in _TYPES:
        return {"type": _TYPES[hint]}
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    raise TypeError(f"an event holds plain values, not {hint}; name a number, a text or a tuple.")


def _doc(kind: type) -> str:
    """A docstring without the indentation of its place."""
    first, _, rest = (kind.__doc__ or "").partition("\n")
    return f"{first}\n{dedent(rest)}".strip()


def _summary(kind: type[Event]) -> str:
    """The docstring up to its list of attributes, as one paragraph."""
    text = _doc(kind).partition("\n\nAttributes:")[0]
    return " ".join(text.split())


def _told(kind: type[Event]) -> dict[str, str]:
    """What the docstrings of a class and of those above it say of each attribute."""
    told: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        told |= _attributes(_doc(one))
    return told


def _attributes(doc: str) -> dict[str, str]:
    """The section `Attributes:` of a docstring; lines that are indented further go on from the last."""
    told: dict[str, str] = {}
    for line in doc.partition("\nAttributes:\n")[2].splitlines():
        indent = len(line) - len(line.lstrip())
        found = _ATTRIBUTE.match(line.strip())
        if indent == 4 and found:
            told[found[1]] = found[2]
        elif told and line.strip():
            last = next(reversed(told))
            told[last] = f"{told[last]} {line.strip()}"
    return told
