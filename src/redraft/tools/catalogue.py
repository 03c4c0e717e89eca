"""The context tools that a model is offered: their names, what they take, what they say of themselves.

In the form of Chat Completions; `redraft.tools.declared` gives the form of the other formats. The
descriptions are short on purpose: on a local model every token of a tool list is read in each request
that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = [
    "CONTEXT_TOOLS",
    "LEAST_SNIPPET",
    "MOST_NOTE",
    "MOST_READ",
    "MOST_TOP",
    "TOOL_ARGUMENTS",
    "function_tool",
]

MOST_TOP = 30
"""Results that `context_status` lists at most (`seeds/001_*`)."""

LEAST_SNIPPET = 12
"""Characters that a snippet must have (`seeds/001_*`)."""

MOST_NOTE = 4_000
"""Characters that a note may have (`seeds/001_*`)."""

MOST_READ = 16_000
"""Characters that one `read_overflow` shows at most: about 4,000 tokens."""

_HANDLES: Mapping[str, Any] = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "description": (
        "Handles of tool results, as context_status shows them: a tool call id, `r3.1` for a result "
        "of a round, `r3` for the whole round, or `m` and eight digits."
    ),
}
_SNIPPET: Mapping[str, Any] = {
    "type": "string",
    "minLength": LEAST_SNIPPET,
    "description": (
        f"A piece of text of at least {LEAST_SNIPPET} characters that stands in exactly one message."
    ),
}


def function_tool(
    name: str, description: str, properties: Mapping[str, Any], *required: str
) -> Mapping[str, Any]:
    """A function tool in the form of Chat Completions.

    Args:
        name: the tool's name.
        description: what the model is told of it.
        properties: JSON Schema of each argument, by name.
        required: the arguments that must be there.
    """
    parameters: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        parameters["required"] = list(required)
    parameters["additionalProperties"] = False
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


_STATUS = function_tool(
    "context_status",
    "Show how full your context is: size and window, the largest tool results with their handles, "
    "what is pinned, what was moved to the overflow store.",
    {
        "top": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_TOP,
            "description": "How many of each to list; 8 by default.",
        }
    },
)
_PIN = function_tool(
    "context_pin",
    "Keep tool results, or the one message that holds a snippet, exactly as they are: never "
    "summarized, never moved out.",
    {"handles": _HANDLES, "snippet": _SNIPPET},
)
_UNPIN = function_tool(
    "context_unpin",
    "Take back pins that you set.",
    {
        "handles": _HANDLES,
        "snippet": _SNIPPET,
        "all": {"type": "boolean", "description": "Take back every pin that you set."},
    },
)
_DROP = function_tool(
    "context_drop",
    "Move tool results that you need no more out of your context; a one-line stub stays, and "
    "read_overflow shows the body again.",
    {"handles": _HANDLES},
    "handles",
)
_NOTE = function_tool(
    "context_note",
    "Replace tool results by one note in your own words: write down what you still need of them. "
    "The originals go to the overflow store.",
    {
        "handles": _HANDLES,
        "note": {
            "type": "string",
            "minLength": 1,
            "maxLength": MOST_NOTE,
            "description": f"The note, at most {MOST_NOTE:,} characters.",
        },
    },
    "handles",
    "note",
)
_READ = function_tool(
    "read_overflow",
    "Show a part of a body in the overflow store, or where in it a text stands.",
    {
        "id": {"type": "string", "description": "The id in the stub."},
        "start": {
            "type": "integer",
            "minimum": 0,
            "description": "The first character; 0 by default.",
        },
        "length": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_READ,
            "description": "Characters to show; 4,000 by default.",
        },
        "find": {"type": "string", "description": "A text to look for, in any case of letters."},
    },
    "id",
)

CONTEXT_TOOLS: tuple[Mapping[str, Any], ...] = (_STATUS, _PIN, _UNPIN, _DROP, _NOTE, _READ)
"""All of them, in the order in which they are offered."""

TOOL_ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        tool["function"]["name"]: tuple(tool["function"]["parameters"]["properties"])
        for tool in CONTEXT_TOOLS
    }
)
"""The names of each tool's arguments, by the tool's name."""
