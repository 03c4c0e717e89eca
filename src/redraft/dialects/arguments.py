"""The arguments of a tool call: what every reader takes for a JSON object."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["is_json_object", "parse_object"]


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that `text` is, or None. `NaN` and `Infinity` are no JSON (RFC 8259, 6)."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_json_object(text: str) -> bool:
    """Whether `text` is a JSON object."""
    return parse_object(text) is not None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
