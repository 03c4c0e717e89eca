"""Texts from outside that must be fit to send: a person's words, and a model's replies. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from redraft.errors import SettingsError

__all__ = ["mended", "usable_text"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def usable_text(name: str, value: object, *, empty: bool = False) -> str:
    """`value`, if it is text that can be sent to a server.

    Args:
        name: what it is, for the error, e.g. `the task`.
        value: what was given.
        empty: whether it may be empty.

    Raises:
        SettingsError: it is no `str`, empty, or not Unicode text: a NUL or a lone surrogate, which is
            what Python makes of bytes on the command line that are not UTF-8, has no place in a
            request.
    """
    if not isinstance(value, str):
        raise SettingsError(f"{name} is {type(value).__name__}, not text; decode it first")
    if not value.strip() and not empty:
        raise SettingsError(f"{name} is empty; say in words what is wanted")
    at = value.find("\0")
    if at >= 0:
        raise SettingsError(
            f"{name} holds a NUL at character {at}, so it looks like binary data; give text, and put "
            "binary data in a file that the commands can read"
        )
    broken = _SURROGATE.search(value)
    if broken:
        raise SettingsError(
            f"{name} is not valid UTF-8 (at character {broken.start()}); convert it to UTF-8, or put it "
            "in a file that the commands can read"
        )
    return value


def mended(response: object) -> object:
    """A model's reply in which nothing is unfit to be sent back.

    A reply may hold half of a surrogate pair, as a JSON escape; it cannot be written as UTF-8, so
    every later request would fail.

    Args:
        response: what the model returned.

    Returns:
        the very object where there is nothing to mend; else a mapping with U+FFFD in each such place.
    """
    dump = getattr(response, "model_dump", None)
    body = response
    if not isinstance(response, Mapping) and callable(dump):
        body = dump(exclude_unset=True)
    return _replaced(body) if _broken(body) else response


def _broken(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(_broken(key) or _broken(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(map(_broken, value))


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub(_REPLACEMENT, value)
    if isinstance(value, Mapping):
        return {_replaced(key): _replaced(item) for key, item in value.items()}
    return [_replaced(item) for item in value] if isinstance(value, list | tuple) else value
