"""Rules on what stands inside of one message: UTF-8, arguments, and nothing empty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects.arguments import is_json_object
from redraft.dialects.base import Native
from redraft.dialects.profile import Rule, Violation

__all__ = ["ARGUMENTS", "NOT_EMPTY", "NOT_EMPTY_BUT_CALLS", "UTF8", "better_arguments"]

_SURROGATE = re.compile("[\ud800-\udfff]")
# A pair of surrogate escapes, a lone one, or any other escape.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.",
    re.DOTALL,
)
_LONE = len(r"\ud99c")


def _find_surrogates(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        if _has_surrogate(messages[at]):
            yield Violation("utf-8", at, "a lone surrogate cannot be sent as UTF-8")


def _has_surrogate(value: object) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(_has_surrogate(key) or _has_surrogate(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return any(_has_surrogate(item) for item in value)
    return False


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_scrubbed(key): _scrubbed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scrubbed(item) for item in value]
    return value


def _mend_surrogates(messages: Sequence[Native]) -> list[Native]:
    return [_scrubbed(m) if _has_surrogate(m) else m for m in messages]


def _find_arguments(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        for place, function in enumerate(_functions(messages[at])):
            if function is not None and better_arguments(function) is not None:
                yield Violation(
                    "arguments", at, f"the arguments of call {place} are no JSON object"
                )


def _functions(message: Native) -> list[Mapping[str, Any] | None]:
    """The function of each call; None for a custom tool, whose input is free text."""
    functions = [call.get("function") for call in message.get("tool_calls") or ()]
    functions.append(message.get("function_call"))
    return [item if isinstance(item, Mapping) else None for item in functions]


def better_arguments(function: Mapping[str, Any]) -> str | None:
    """Arguments that can be sent in place of these; None where these can be.

    What was cut off becomes `{}`: it was not run either. An escape such as `\\ud99c` is good JSON and
    still no text that a server can write down once it has parsed it.
    """
    text = function.get("arguments")
    if not isinstance(text, str):  # some servers take the object itself
        return "{}" if text is None else None
    if not is_json_object(text):
        return "{}"
    mended = _ESCAPE.sub(_whole_escape, text) if "\\u" in text else text
    return None if mended == text else mended


def _whole_escape(found: re.Match[str]) -> str:
    return "\\ufffd" if len(found.group()) == _LONE else found.group()


def _mend_arguments(messages: Sequence[Native]) -> list[Native]:
    return [_with_better(message) for message in messages]


def _with_better(message: Native) -> Native:
    better = [None if f is None else better_arguments(f) for f in _functions(message)]
    if not any(text is not None for text in better):
        return message
    mended = dict(message)
    *calls, legacy = better
    if any(text is not None for text in calls):
        mended["tool_calls"] = [
            call if text is None else {**call, "function": {**call["function"], "arguments": text}}
            for call, text in zip(message["tool_calls"], calls, strict=True)
        ]
    if legacy is not None:
        mended["function_call"] = {**message["function_call"], "arguments": legacy}
    return mended


def _not_empty(without: bool) -> Rule:
    """The rule on what is there and holds nothing.

    Args:
        without: whether the fields for calls may be there without any.
    """

    def find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
        for at in range(start, len(messages)):
            says = _emptiness(messages[at], without)
            if says:
                yield Violation("not-empty", at, says)

    def mend(messages: Sequence[Native]) -> list[Native]:
        filled = (m if not _emptiness(m, without) else _filled(m) for m in messages)
        return [message for message in filled if message is not None]

    return Rule("not-empty", _SOURCE, find, mend)


def _emptiness(message: Native, without: bool) -> str:
    """What is there and holds nothing, or ""."""
    for key in ("tool_calls", "function_call"):
        if key in message and not message[key] and not without:
            return f"`{key}` is there and empty"
    if message.get("role") == "assistant" and _says_nothing(message):
        return "an assistant message says nothing and calls nothing"
    content = message.get("content")
    if isinstance(content, (list, tuple)) and not content:
        return "`content` is an empty list"
    if message.get("role") != "assistant" and content is None:
        return "`content` is missing"
    return ""


_SAYING = ("tool_calls", "function_call", "audio", "refusal")


def _says_nothing(message: Native) -> bool:
    if any(message.get(key) for key in _SAYING):
        return False
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        return not any(map(_says, content))
    return not content


def _says(member: object) -> bool:
    """Whether a content member holds anything; only a text member can be empty."""
    return (
        not isinstance(member, Mapping) or member.get("type") != "text" or bool(member.get("text"))
    )


def _filled(message: Native) -> Native | None:
    """The message less its empty fields; None for one of the model's that then says nothing. Others keep
    their place."""
    new = {
        key: value
        for key, value in message.items()
        if value or key not in ("tool_calls", "function_call")
    }
    of_model = new.get("role") == "assistant"
    if of_model and _says_nothing(new):
        return None
    if new.get("content") in ([], ()) or (not of_model and not new.get("content")):
        new["content"] = None if of_model else ""
    return new


_SOURCE = (
    "OpenAI API reference: content is required unless tool_calls is given; tool_calls has at least "
    "one entry; neither it nor function_call is null (openai/openai-openapi#348, "
    "openai/openai-python#777)"
)

UTF8 = Rule(
    "utf-8", "RFC 8259, section 8.1: JSON on the wire is UTF-8", _find_surrogates, _mend_surrogates
)
ARGUMENTS = Rule(
    "arguments",
    "observed: chat templates of open-weight models parse the arguments as JSON and fail the "
    "request; anthropics/claude-code#68325 for escaped surrogates in them",
    _find_arguments,
    _mend_arguments,
)
NOT_EMPTY = _not_empty(without=False)
NOT_EMPTY_BUT_CALLS = _not_empty(without=True)
"""The same for a server that takes `tool_calls: []`, as Mistral's own client sends it."""
