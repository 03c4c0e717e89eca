"""Function tools in words, for a model that is sent no schemas: on the fenced route the system prompt
describes the tools, and a note those that come later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from redraft.dialects.base import Native
from redraft.errors import DialectError

__all__ = ["described", "in_words", "signature"]

_DEEPEST = 3
"""Levels of arguments that are described in words; below them stands the schema itself."""

_WORDED = ("description", "type", "properties", "items", "required", "additionalProperties")


def in_words(dialect: str) -> bool:
    """Whether requests of a wire format hold no tools, so that these are described in words.

    Args:
        dialect: the wire format's name.
    """
    return dialect == "fenced-chat"


def signature(tool: Native) -> str:
    """A tool's name with those of its arguments, optional ones with a question mark:
    `bash(command, timeout?)`.

    Args:
        tool: the tool as Chat Completions write it.
    """
    function = _function(tool)
    parameters = function.get("parameters") or {}
    required = parameters.get("required") or ()
    names = parameters.get("properties") or {}
    listed = ", ".join(name if name in required else f"{name}?" for name in names)
    return f"{function['name']}({listed})"


def described(tool: Native) -> str:
    """A tool in words: what it does, and under it a line for each argument.

    Args:
        tool: the tool as Chat Completions write it.

    Raises:
        DialectError: it is no function tool of that form.
    """
    function = _function(tool)
    said = _line(function.get("description"))
    head = f"- `{signature(tool)}`{': ' if said else ''}{said}"
    return "\n".join([head, *_arguments(function.get("parameters") or {}, 1)])


def _function(tool: Native) -> Mapping[str, Any]:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise DialectError(
            "a tool that is described in words must be a function as Chat Completions write it: "
            '{"type": "function", "function": {"name": ..., "parameters": {...}}}.'
        )
    return function


def _arguments(schema: Mapping[str, Any], depth: int) -> Iterator[str]:
    required = schema.get("required") or ()
    for name, about in (schema.get("properties") or {}).items():
        about = about if isinstance(about, Mapping) else {}
        need = "" if name in required else ", optional"
        said = _line(about.get("description"))
        rest = _rest(about, depth)
        words = " ".join(filter(None, (f"{_type(about)}{need}.", said, rest)))
        yield f"{'  ' * depth}- `{name}`: {words}"
        if depth < _DEEPEST:
            yield from _arguments(_inner(about), depth + 1)


def _inner(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the object that an argument is or lists."""
    items = about.get("items")
    return items if isinstance(items, Mapping) and "properties" in items else about


def _type(about: Mapping[str, Any]) -> str:
    kind = about.get("type", "any value")
    if isinstance(kind, (list, tuple)):
        return " or ".join(map(str, kind))
    items = about.get("items")
    if kind == "array" and isinstance(items, Mapping) and "type" in items:
        return f"array of {items['type']}s"
    return str(kind)


def _rest(about: Mapping[str, Any], depth: int) -> str:
    """What of a schema the words do not say, as it is: bounds, choices, what lies too deep."""
    rest = {key: value for key, value in about.items() if key not in _WORDED}
    if depth >= _DEEPEST:
        rest |= {key: about[key] for key in ("properties", "items") if key in about}
    return f"({json.dumps(rest, ensure_ascii=False)})" if rest else ""


def _line(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""
