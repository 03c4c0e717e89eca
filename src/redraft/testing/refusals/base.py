"""What the checks of all providers share: a complaint, and how to look into a body. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Body", "Complaint", "broken_text", "is_object_text", "members", "strings"]

Body = Mapping[str, Any]

_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a provider refuses a request.

    Attributes:
        message: what the provider says, in its own words.
        param: the field it points to, as OpenAI's errors do; "" for none.
        code: the provider's code; "" for none.
    """

    message: str
    param: str = ""
    code: str = ""


def strings(value: object) -> Iterator[str]:
    """Every string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


def broken_text(value: object) -> bool:
    """Whether a string in it holds half of a surrogate pair, which no server can write down again."""
    return any(not text.isascii() and _LONE.search(text) for text in strings(value))


def members(value: object, kind: str = "text") -> Sequence[Any]:
    """A `content` field as a list: text becomes one member; what is no content gives none."""
    if isinstance(value, str):
        return [{"type": kind, "text": value}]
    return value if isinstance(value, (list, tuple)) else ()


def is_object_text(text: object) -> bool:
    """Whether it is a JSON object written as text, without a lone surrogate in it."""
    if not isinstance(text, str):
        return False
    try:
        value = json.loads(text, parse_constant=lambda name: json.loads(f"<{name}>"))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not broken_text(value)
