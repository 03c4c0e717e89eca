"""The tools of the policies that let a model act: remember and look up, compact, branch off and return.

In the form of Chat Completions. What a tool takes is said here; when to use it is said by
`redraft.prompts.actions`, whose words a session puts behind these (`guided`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.dialects.base import Native
from redraft.tools.catalogue import function_tool

__all__ = [
    "BRANCH",
    "COMPACT_CONTEXT",
    "DEFAULT_ITEMS",
    "MEMORY_FETCH",
    "MEMORY_STORE",
    "MOST_GOAL",
    "MOST_ITEMS",
    "MOST_ITEM_TEXT",
    "MOST_QUERY",
    "MOST_RESULT",
    "MOST_SUMMARY",
    "MOST_TITLE",
    "RETURN_FROM_BRANCH",
    "guided",
]

MOST_ITEM_TEXT = 16_000
"""Characters of an item that is stored; what is longer is a document and no fact."""

MOST_QUERY = 2_000
"""Characters of a question to the memory."""

DEFAULT_ITEMS = 5
"""Items that one look-up brings unless it asks for another number."""

MOST_ITEMS = 20
"""Items that one look-up brings at most."""

MOST_SUMMARY = 40_000
"""Characters of a summary: about 10,000 tokens."""

MOST_TITLE = 200
"""Characters of a branch's description, which is one line."""

MOST_GOAL = 2_000
"""Characters of a branch's goal."""

MOST_RESULT = 16_000
"""Characters of what a branch returns: about 4,000 tokens."""


def _text(most: int, description: str) -> Mapping[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


MEMORY_STORE: Native = function_tool(
    "memory_store",
    "Put a fact into a memory outside of your context, where memory_fetch finds it again.",
    {
        "text": _text(MOST_ITEM_TEXT, "The fact, in words that stand alone."),
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Words to find it by.",
        },
        "task_type": {
            "type": "string",
            "description": "The kind of task that it serves, e.g. `deploy`.",
        },
    },
    "text",
)
"""`memory_store(text, tags?, task_type?)`."""

MEMORY_FETCH: Native = function_tool(
    "memory_fetch",
    "Get back what the memory holds on a question, or one item by its id. Give `query` or `id`.",
    {
        "query": {
            "type": "string",
            "maxLength": MOST_QUERY,
            "description": "What you need to know, in words that the fact would have.",
        },
        "id": {"type": "integer", "minimum": 1, "description": "The number of one item."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_ITEMS,
            "description": f"Items at most; {DEFAULT_ITEMS} by default.",
        },
    },
)
"""`memory_fetch(query | id, limit?)`."""

COMPACT_CONTEXT: Native = function_tool(
    "compact_context",
    "Replace the older part of your context by a summary that you write. The task, words of the user "
    "that nobody answered or that lay down a rule, pins, and the newest steps stay as they are.",
    {
        "summary": _text(MOST_SUMMARY, "What stands in place of the older part from now on."),
        "keep": {
            "type": "integer",
            "minimum": 0,
            "description": "How many of the newest steps stay word for word.",
        },
    },
    "summary",
)
"""`compact_context(summary, keep?)`."""

BRANCH: Native = function_tool(
    "branch",
    "Begin a branch: a sub-task whose steps leave your context when you return from it.",
    {
        "description": _text(MOST_TITLE, "What the branch is about, in one line."),
        "goal": _text(MOST_GOAL, "What you want to know or have done when you return."),
    },
    "description",
    "goal",
)
"""`branch(description, goal)`."""

RETURN_FROM_BRANCH: Native = function_tool(
    "return_from_branch",
    "End the newest open branch. Its steps are replaced by your result; what stands before and after "
    "the branch stays as it is.",
    {"result": _text(MOST_RESULT, "All that you still need of the branch, in your own words.")},
    "result",
)
"""`return_from_branch(result)`."""


def guided(tool: Native, words: str) -> dict[str, Any]:
    """A tool with a word on when to use it behind its description.

    Args:
        tool: the tool as Chat Completions write it.
        words: what to add.
    """
    function = tool["function"]
    description = f"{function['description']}\n\n{words}" if words else function["description"]
    return {**tool, "function": {**function, "description": description}}
