"""Arguments as models send them: small slips are forgiven where the meaning is clear, a list or a number
written as text among them; the rest is said in a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["Wrong", "from_text", "known_only", "number", "words"]


class Wrong(Exception):
    """Says what is wrong with an argument, and what to do."""


def known_only(given: Mapping[str, Any], takes: Iterable[str]) -> None:
    """Raise `Wrong` where there is an argument that the tool does not take."""
    takes = tuple(takes)
    strangers = sorted(map(str, set(given) - set(takes)))
    if strangers:
        known = ", ".join(f"`{key}`" for key in takes)
        raise Wrong(f"there is no argument `{strangers[0][:60]}`; it takes {known}.")


def number(given: Mapping[str, Any], name: str, default: int, least: int) -> int:
    """A whole number.

    Args:
        given: the call's arguments.
        name: the argument.
        default: what it is where it was left out.
        least: the smallest that it may be.

    Raises:
        Wrong: it is none, or smaller.
    """
    value = given.get(name)
    if value is None:
        return default
    if isinstance(value, str) and len(value) < 12 and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Wrong(f"`{name}` must be a whole number from {least}.")
    return value


def words(given: Mapping[str, Any], name: str, most: int, hint: str) -> str:
    """A text that says something.

    Args:
        given: the call's arguments.
        name: the argument.
        most: characters that it may have.
        hint: what to write, as a clause.

    Raises:
        Wrong: it is missing, empty or too long.
    """
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Wrong(f"`{name}` is missing; {hint}.")
    if len(value) > most:
        raise Wrong(f"`{name}` has {len(value):,} characters; {most:,} at most. Shorten it.")
    return value.strip()


def from_text(text: str) -> object:
    """A list that came as text: JSON, or items with commas between them."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text.split(",")
