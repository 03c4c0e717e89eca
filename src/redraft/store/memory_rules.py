"""What a memory takes in: nothing transient, nothing without bounds. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from redraft.errors import MemoryFormatError
from redraft.store.memory_base import Draft, ItemQuery

__all__ = [
    "MOST_CHARACTERS",
    "MOST_STATE",
    "check_draft",
    "check_query",
    "name",
    "state_text",
    "transient",
]

MOST_CHARACTERS = 16_000
"""Characters of one item; what is longer is a document and belongs into the overflow store."""

MOST_STATE = 1_000_000
"""Bytes of one version of a session's state, as JSON."""

_MOST_NAME = 200
_MOST_TAGS = 32
_MOST_SOURCES = 64
_LARGE_JSON = 600
_BLOB = 400

_STAMP = r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?\S*\]?|\[?\d\d:\d\d:\d\d\S*\]?)"
_SYSLOG = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |[IWEF]\d{4} \d\d:\d\d:\d\d|(?:\S+ )?level=[a-z]+ "
_ACCESS = r'\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:[^\]]*\] "'
_LEVEL = r"\W{0,2}(?:DEBUG|TRACE|VERBOSE|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
_LOGGED = re.compile(rf"^\s*(?:{_STAMP}|{_SYSLOG}|{_ACCESS}|{_LEVEL}[\s:\]|-])")
# A line that begins with such a word alone may be a sentence: "DEBUG must be off in production."
_DEBUG = re.compile(
    rf"^\s*(?:{_ACCESS}|(?:{_STAMP}\W{{0,3}}|\W{{1,2}})(?:DEBUG|TRACE|VERBOSE)\b|(?:DEBUG|TRACE|VERBOSE)\s?[:|])"
)
_HTTP = re.compile(r"^\s*HTTP/\d(?:\.\d)? \d{3}\b")
_MARKUP = re.compile(r"^\s*(?:<!doctype\b|<html\b|<\?xml\b)", re.IGNORECASE)
_TRACE = re.compile(
    r"^Traceback \(most recent call last\):|^\s+at [\w.$<>]+\(.*:\d+\)"
    r"|^\s+at [\w.$<> \[\]]+ \([^()\n]*[/\\.][^()\n]*:\d+\)"
    r"|^goroutine \d+ \[[^\]\n]+\]:|^thread '[^'\n]*' panicked at |^#\d+ +0x[0-9a-f]+ in ",
    re.MULTILINE,
)
_RUN = re.compile(rf"[A-Za-z0-9+/=_-]{{{_BLOB},}}|\bdata:[\w.+-]+/[\w.+-]+;base64,")
_PROGRESS = re.compile(r"\r(?!\n)|^\s*\d{1,3}%[\s|]|\[ *\d{1,3}%\]", re.MULTILINE)
_BAR = re.compile(r"\d%\|[^|\n]*\| *\d+/\d+ \[")
_STREAM = re.compile(r"^data: ?(?:[\[{].*)$", re.MULTILINE)
_RECORD = (frozenset({"level", "severity", "loglevel"}), frozenset({"msg", "message"}))
_ENVELOPE = frozenset(
    {"choices", "usage", "headers", "status_code", "statuscode", "request_id", "requestid"}
    | {"next_page", "next_cursor", "has_more", "pagination", "etag"}
)


def transient(text: str) -> str:
    """Why a text is nothing to remember, and what to do instead; "" where it may be kept.

    Args:
        text: the text of a draft.
    """
    if not text.strip():
        return "there is nothing in it; say in a sentence what a later task must know."
    if len(text) > MOST_CHARACTERS:
        return (
            f"it has {len(text):,} characters, and an item at most {MOST_CHARACTERS:,}; keep the document "
            "in a file or the overflow store, and remember where it is and what it says."
        )
    kind = _kind(text)
    return f"it is {kind}; say in a sentence what a later task must know of it." if kind else ""


def _kind(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    logged = sum(_LOGGED.match(line) is not None for line in lines)
    if _DEBUG.match(text) or _is_record(text) or (len(lines) >= 3 and 2 * logged > len(lines)):
        return "a log, which is true for the moment only"
    if _HTTP.match(text) or len(_STREAM.findall(text)) >= 2 or _is_response(text):
        return "a raw API response"
    if _MARKUP.match(text):
        return "a page of markup"
    if _TRACE.search(text):
        return "a stack trace"
    if _RUN.search(text):
        return "encoded data"
    if _BAR.search(text) or len(_PROGRESS.findall(text)) >= 3:
        return "a progress display"
    return ""


def _is_record(text: str) -> bool:
    """Whether the first line is a log's entry as JSON."""
    try:
        value = json.loads(text.strip().split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and all(keys & value.keys() for keys in _RECORD)


def _is_response(text: str) -> bool:
    if text.strip()[:1] not in ("{", "["):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # A response that was cut is one still: much of it is keys and braces.
        return len(text) > _LARGE_JSON and text.count('":') > 8
    if isinstance(value, list):
        return len(text) > _LARGE_JSON
    return len(text) > _LARGE_JSON or bool(_ENVELOPE & {str(key).lower() for key in value})


def name(value: str, what: str) -> str:
    """A session, task type or tag, as it was given.

    Raises:
        MemoryFormatError: it is too long, or holds what cannot be written.
    """
    if len(value) > _MOST_NAME or any(not one.isprintable() for one in value):
        raise MemoryFormatError(
            f"the {what} {value[:40]!a} cannot be used: it may have {_MOST_NAME} characters, all of them "
            "printable; give another."
        )
    return value


def _time(value: float | None, what: str) -> None:
    if value is not None and not math.isfinite(value):
        raise MemoryFormatError(f"{what} is no time ({value}); give seconds since the epoch.")


def check_draft(draft: Draft) -> None:
    """Raises `MemoryFormatError` where a field has a value that no item can have."""
    for value, what in ((draft.task_type, "task type"), (draft.session, "session")):
        name(value, what)
    if len(draft.tags) > _MOST_TAGS or not all(draft.tags):
        raise MemoryFormatError(
            f"an item has up to {_MOST_TAGS} tags, none of them empty; leave some out."
        )
    for tag in draft.tags:
        name(tag, "tag")
    _time(draft.at, "the time of an item")
    _time(draft.expires, "the expiry of an item")
    if len(draft.sources) > _MOST_SOURCES:
        raise MemoryFormatError(f"an item has up to {_MOST_SOURCES} sources; leave some out.")
    for source in draft.sources:
        name(source.session, "session")
        _time(source.at, "the time of a source")


def check_query(query: ItemQuery) -> None:
    """Raises `MemoryFormatError` where a query asks for what cannot be."""
    if query.limit < 1:
        raise MemoryFormatError(f"a limit of {query.limit} finds nothing; give 1 or more.")
    if query.floor is not None and not 0 <= query.floor <= 1:
        raise MemoryFormatError(
            f"a floor of {query.floor} is no relevance; give a value from 0 to 1."
        )
    for tag in query.tags:
        name(tag, "tag")
    name(query.task_type or "", "task type")
    name(query.session or "", "session")
    _time(query.since, "the start of the range")
    _time(query.until, "the end of the range")


def state_text(state: Mapping[str, Any]) -> str:
    """A state as JSON.

    Raises:
        MemoryFormatError: it is no object of plain JSON values, or too large.
    """
    try:
        text = json.dumps(dict(state), allow_nan=False, separators=(",", ":"))
        same = json.loads(text) == dict(state)
    except (TypeError, ValueError, RecursionError) as error:
        raise MemoryFormatError(
            f"the state is not plain JSON ({error}); give objects, lists, texts, "
            "numbers, true, false and null."
        ) from error
    if not same:
        raise MemoryFormatError(
            "the state would read back as another (keys that are no texts, tuples); give plain JSON values."
        )
    if len(text) > MOST_STATE:
        raise MemoryFormatError(
            f"the state has {len(text):,} bytes, and may have {MOST_STATE:,}; keep what is long in a file "
            "or the overflow store, and its place in the state."
        )
    return text
