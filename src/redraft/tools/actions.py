"""What a call of an action tool asks for: its arguments checked, as an intent or as words on what is wrong.

Pure, like the other intents: what becomes of one is planned by `redraft.policies` and done by the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from redraft.tools.action_catalogue import (
    DEFAULT_ITEMS,
    MOST_GOAL,
    MOST_ITEM_TEXT,
    MOST_ITEMS,
    MOST_QUERY,
    MOST_RESULT,
    MOST_SUMMARY,
    MOST_TITLE,
)
from redraft.tools.edit_context import Outline
from redraft.tools.slips import Wrong, from_text, known_only, number, words

__all__ = [
    "Action",
    "BranchIntent",
    "CompactIntent",
    "FetchIntent",
    "ReturnIntent",
    "StoreIntent",
    "action_of",
]

_NUMBER = re.compile(r"(?:memory|item|id|#)?\s*[:#]?\s*(\d{1,11})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoreIntent:
    """Remember a text.

    Attributes:
        text: the fact.
        tags: words to find it by, each once.
        task_type: the kind of task that it serves; "" for any.
    """

    text: str
    tags: tuple[str, ...] = ()
    task_type: str = ""


@dataclass(frozen=True, slots=True)
class FetchIntent:
    """Look something up, by question or by number.

    Attributes:
        query: what to look for; "" where one item is asked for.
        id: the item's number; 0 where there is a question.
        limit: items at most.
    """

    query: str = ""
    id: int = 0
    limit: int = DEFAULT_ITEMS


@dataclass(frozen=True, slots=True)
class CompactIntent:
    """Replace the older part of the context.

    Attributes:
        summary: the model's words.
        keep: how many of the newest groups stay; None for the policy's own number.
    """

    summary: str
    keep: int | None = None


@dataclass(frozen=True, slots=True)
class BranchIntent:
    """Begin a branch.

    Attributes:
        description: what it is about, in one line.
        goal: what is wanted of it.
    """

    description: str
    goal: str


@dataclass(frozen=True, slots=True)
class ReturnIntent:
    """End the newest branch.

    Attributes:
        result: what stands for its turns.
    """

    result: str


Action = StoreIntent | FetchIntent | CompactIntent | BranchIntent | ReturnIntent


def action_of(name: str, arguments: Mapping[str, Any]) -> Action | Outline:
    """What a call of an action tool asks for.

    Args:
        name: the tool's name.
        arguments: the call's arguments, parsed.

    Returns:
        an intent, or a text for the model that says why there is none.

    Raises:
        KeyError: no action tool has this name.
    """
    takes, read = _READERS[name]
    try:
        known_only(arguments, takes)
        return read(arguments)
    except Wrong as error:
        return Outline(f"{name}: nothing was done: {error}", failed=True)


def _store(given: Mapping[str, Any]) -> Action:
    text = words(given, "text", MOST_ITEM_TEXT, "write the fact in words that stand alone")
    kind = given.get("task_type")
    if kind is not None and not isinstance(kind, str):
        raise Wrong("`task_type` must be a text, such as `deploy`.")
    return StoreIntent(text, _tags(given), (kind or "").strip())


def _tags(given: Mapping[str, Any]) -> tuple[str, ...]:
    value = given.get("tags")
    if isinstance(value, str):
        value = from_text(value)
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise Wrong('`tags` must be a list of texts, such as ["database", "staging"].')
    return tuple(dict.fromkeys(item.strip() for item in value if item.strip()))


def _fetch(given: Mapping[str, Any]) -> Action:
    query, limit = given.get("query"), number(given, "limit", DEFAULT_ITEMS, 1)
    if query is not None and not isinstance(query, str):
        raise Wrong("`query` must be a text: what you need to know.")
    query, item = (query or "").strip(), _item(given)
    if bool(query) == bool(item):
        raise Wrong("give `query` or `id`, one of the two.")
    if len(query) > MOST_QUERY:
        raise Wrong(f"`query` has {len(query):,} characters; {MOST_QUERY:,} at most. Shorten it.")
    # More than the most is a wish for all there is, so it gets the most.
    return FetchIntent(query, item, min(limit, MOST_ITEMS))


def _item(given: Mapping[str, Any]) -> int:
    """The number of an item; 0 where none was given. Models copy the mark in front of it too."""
    value = given.get("id")
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip().strip("[]"))
        value = int(found[1]) if found else (None if not value.strip() else value)
    return 0 if value is None else number({"id": value}, "id", 0, 1)


def _compact(given: Mapping[str, Any]) -> Action:
    hint = "write down what you still need of the older part of your context"
    keep = None if given.get("keep") is None else number(given, "keep", 0, 0)
    return CompactIntent(words(given, "summary", MOST_SUMMARY, hint), keep)


def _branch(given: Mapping[str, Any]) -> Action:
    title = words(given, "description", MOST_TITLE, "say in one line what the branch is about")
    goal = words(given, "goal", MOST_GOAL, "say what you want to have when you return")
    return BranchIntent(" ".join(title.split()), goal)


def _return(given: Mapping[str, Any]) -> Action:
    hint = "write down all that you still need of the branch"
    return ReturnIntent(words(given, "result", MOST_RESULT, hint))


_Reader = Callable[[Mapping[str, Any]], Action]

_READERS: Mapping[str, tuple[tuple[str, ...], _Reader]] = MappingProxyType(
    {
        "memory_store": (("text", "tags", "task_type"), _store),
        "memory_fetch": (("query", "id", "limit"), _fetch),
        "compact_context": (("summary", "keep"), _compact),
        "branch": (("description", "goal"), _branch),
        "return_from_branch": (("result",), _return),
    }
)
