"""What an error of any client says, collected without importing the client. Pure.

Clients agree on little: `status_code` or `code` or `status`; a decoded `body`, a `response` with
text, a `response` that is a mapping, or only `str(error)`. Servers and gateways wrap one error in
another, as JSON inside a string. Only the fields that describe the error are read: a validation
error may echo the whole request (FastAPI's `input`), and a user's words must not be taken for the
server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Evidence", "evidence_of"]

_DEPTH = 8
# Long enough for any wording with a traceback around it, short enough for a slow pattern.
_LONGEST = 20_000
_TELLING = frozenset(
    {
        "body",
        "description",
        "detail",
        "details",
        "error",
        "error_message",
        "errormessage",
        "errors",
        "message",
        "metadata",
        "msg",
        "raw",
        "reason",
    }
)
_NAMING = frozenset({"code", "type", "error_type", "error_code", "status", "__type"})


@dataclass(frozen=True)
class Evidence:
    """What is known of one failed call.

    Attributes:
        status: the HTTP status, if there is one.
        codes: the words that servers use as codes and types, in lower case.
        texts: what the server or the client wrote for a reader.
        numbers: integer fields of the error object, such as llama.cpp's `n_ctx`.
        kinds: names of the error's classes.
    """

    status: int | None
    codes: frozenset[str]
    texts: tuple[str, ...]
    numbers: Mapping[str, int]
    kinds: frozenset[str]


def evidence_of(error: BaseException) -> Evidence:
    """Collect what `error` says; reads attributes, never raises."""
    response = _attribute(error, "response")
    body = _attribute(error, "body")
    if body is None:
        body = response if isinstance(response, Mapping) else _attribute(response, "text")
    found = _Found()
    found.walk(body, _DEPTH)
    for name in ("code", "type"):
        found.name(_attribute(error, name))
    if not found.texts:
        message = _attribute(error, "message")
        found.walk(message if isinstance(message, str) else _text_of(error), _DEPTH)
    status = _first_status(
        _attribute(error, "status_code"),
        _attribute(error, "http_status"),
        _attribute(error, "status"),
        _attribute(response, "status_code"),
        _attribute(error, "code"),
        found.numbers.get("code"),
    )
    return Evidence(
        status,
        frozenset(found.codes),
        tuple(dict.fromkeys(found.texts)),
        found.numbers,
        frozenset(kind.__name__ for kind in type(error).__mro__),
    )


class _Found:
    """What a walk through an error body has gathered so far."""

    def __init__(self) -> None:
        self.codes: set[str] = set()
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}

    def name(self, value: object) -> None:
        if isinstance(value, str):
            self.codes.add(value.lower())

    def walk(self, value: object, depth: int) -> None:
        """Gather from a body: a mapping, a list of them, or text that may itself be JSON."""
        if depth <= 0:
            return
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str):
            self._text(value, depth)
        elif isinstance(value, list | tuple):
            for item in value[:_DEPTH]:
                self.walk(item, depth - 1)
        elif isinstance(value, Mapping):
            for key, item in _fields(value):
                self._field(key, item, depth)

    def _field(self, key: str, item: object, depth: int) -> None:
        if isinstance(item, int) and not isinstance(item, bool):
            self.numbers.setdefault(key, item)
        elif key in _NAMING:
            self.name(item)
        elif key in _TELLING:
            self.walk(item, depth - 1)

    def _text(self, text: str, depth: int) -> None:
        inner = _json_of(text)
        if inner is None:
            if text.strip():
                self.texts.append(text[:_LONGEST])
        else:
            self.walk(inner, depth - 1)


def _fields(value: Mapping[object, object]) -> Iterator[tuple[str, object]]:
    for key, item in value.items():
        if isinstance(key, str):
            yield key.lower(), item


def _json_of(text: str) -> object | None:
    """The JSON object or list that `text` is, if it is one."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        inner: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return inner


def _attribute(owner: object, name: str) -> object:
    """An attribute, or None. Some are properties that raise, such as an unread response's text."""
    value: object = None
    with suppress(Exception):
        value = getattr(owner, name, None)
    return value


def _text_of(error: BaseException) -> str:
    text = ""
    with suppress(Exception):
        text = str(error)
    return text


def _first_status(*values: object) -> int | None:
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
            return value
    return None
