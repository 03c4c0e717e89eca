"""What chat templates and some servers of Chat Completions ask for besides: who speaks when, and how.

Templates of open weights raise an error for a list that they do not expect; the server passes it on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Native
from redraft.dialects.frames import (
    BRIDGE,
    CONTINUE,
    FRAME,
    NO_OUTPUT,
    OPENING,
    demoted,
)
from redraft.dialects.naming import Names, digested
from redraft.dialects.profile import Rule, Violation

__all__ = [
    "ALTERNATION",
    "LAST_IS_HEARD",
    "NINE_LETTERS",
    "ONE_CALL_EACH",
    "SYSTEM_FIRST",
    "TOOL_IMAGES",
    "USER_ANYWHERE",
    "USER_BEHIND_MODEL",
    "USER_FIRST",
]

_HEARD = ("user", "tool", "function")
_AUTHORITY = ("system", "developer")


def _role(message: Native) -> str:
    return str(message.get("role"))


def _members(message: Native) -> list[Any]:
    """The content as members of a list."""
    body = message.get("content")
    if isinstance(body, (list, tuple)):
        return list(body)
    return [{"type": "text", "text": body}] if body else []


def _text(message: Native) -> str:
    texts = [str(member.get("text")) for member in _members(message) if member.get("text")]
    return "\n".join(texts)


def _user(text: str) -> Native:
    return {"role": "user", "content": text}


# -- system messages -------------------------------------------------------------------------------


def _head(messages: Sequence[Native]) -> int:
    """How many system messages open the list."""
    at = 0
    while at < len(messages) and _role(messages[at]) in _AUTHORITY:
        at += 1
    return at


def _find_system(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        role = _role(messages[at])
        if role == "developer" or (role == "system" and at > 0):
            says = "a system message may stand at the start alone, once, under that name"
            yield Violation("system-first", at, says)


def _mend_system(messages: Sequence[Native]) -> list[Native]:
    """Those that open the list become one; a later one becomes a user's, which says what it was."""
    head = _head(messages)
    rest = [
        _user(demoted(_text(message))) if _role(message) in _AUTHORITY else message
        for message in messages[head:]
    ]
    return [_one_system(messages[:head]), *rest] if head else rest


def _one_system(head: Sequence[Native]) -> Native:
    if len(head) == 1 and _role(head[0]) == "system":
        return head[0]
    bodies = [message.get("content") for message in head]
    if all(isinstance(body, str) for body in bodies):
        return {**head[0], "role": "system", "content": "\n\n".join(map(str, bodies))}
    members = [member for message in head for member in _members(message)]
    return {**head[0], "role": "system", "content": members}


# -- the user's turns ------------------------------------------------------------------------------


def _find_first(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    head = _head(messages)
    if start <= head and (head >= len(messages) or _role(messages[head]) != "user"):
        yield Violation("user-first", head, "behind the system message the user must speak first")


def _mend_first(messages: Sequence[Native]) -> list[Native]:
    head = _head(messages)
    return [*messages[:head], _user(OPENING), *messages[head:]]


def _find_anywhere(messages: Sequence[Native], _: int) -> Iterator[Violation]:
    # Found near the head as a rule, so that it costs nothing to look every time.
    if not any(_role(message) == "user" for message in messages):
        yield Violation("user-anywhere", 0, "no message is the user's")


def _find_last(messages: Sequence[Native], _: int) -> Iterator[Violation]:
    if messages and not (_role(messages[-1]) in _HEARD or messages[-1].get("prefix")):
        yield Violation("last", len(messages) - 1, "the last message must be a user's or a result")


def _mend_last(messages: Sequence[Native]) -> list[Native]:
    return [*messages, _user(CONTINUE)]


def _find_bridge(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(max(start, 1), len(messages)):
        if _role(messages[at]) == "user" and _role(messages[at - 1]) in ("tool", "function"):
            yield Violation("bridge", at, "a user's message may not stand right behind a result")


def _mend_bridge(messages: Sequence[Native]) -> list[Native]:
    """A word of the model's between a result and the user's; nobody's words change."""
    out: list[Native] = []
    for message in messages:
        if out and _role(message) == "user" and _role(out[-1]) in ("tool", "function"):
            out.append({"role": "assistant", "content": BRIDGE})
        out.append(message)
    return out


def _find_neighbours(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(max(start, 1), len(messages)):
        if _are_neighbours(messages[at - 1], messages[at]):
            yield Violation(
                "alternation", at, f"two messages of the {_role(messages[at])}'s in a row"
            )


def _are_neighbours(one: Native, other: Native) -> bool:
    return _role(one) == _role(other) and _role(other) in ("user", "assistant")


def _mend_neighbours(messages: Sequence[Native]) -> list[Native]:
    """Neighbours go into one message. What each said stays a member of its own, so that nobody's words
    become part of another's."""
    out: list[Native] = []
    for message in messages:
        if out and _are_neighbours(out[-1], message):
            out[-1] = _merged(out[-1], message)
        else:
            out.append(message)
    return out


def _merged(one: Native, other: Native) -> Native:
    content = [*_members(one), *_members(other)]
    nothing = "" if _role(other) == "user" else None
    new = {**one, **other, "content": content or nothing}
    calls = [*(one.get("tool_calls") or ()), *(other.get("tool_calls") or ())]
    return {**new, "tool_calls": calls} if calls else new


# -- calls -----------------------------------------------------------------------------------------


def _calls(message: Native) -> Sequence[Native]:
    calls: Sequence[Native] = message.get("tool_calls") or ()
    return calls if _role(message) == "assistant" else ()


def _find_parallel(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        if len(_calls(messages[at])) > 1:
            yield Violation("one-call-each", at, "a message may make one call and no more")


def _mend_parallel(messages: Sequence[Native]) -> list[Native]:
    """Calls side by side become calls in a row, each with its result behind it."""
    out: list[Native] = []
    at = 0
    while at < len(messages):
        calls = _calls(messages[at])
        if len(calls) < 2:
            out.append(messages[at])
            at += 1
            continue
        end = at + 1
        while end < len(messages) and _role(messages[end]) == "tool":
            end += 1
        out += _in_a_row(messages[at], calls, list(messages[at + 1 : end]))
        at = end
    return out


def _in_a_row(message: Native, calls: Sequence[Native], results: list[Native]) -> Iterator[Native]:
    for place, call in enumerate(calls):
        said = message if place == 0 else {"role": "assistant", "content": None}
        yield {**said, "tool_calls": [call]}
        result = next((r for r in results if r.get("tool_call_id") == call.get("id")), None)
        if result is not None:
            results.remove(result)
            yield result
    yield from results


_NINE = re.compile(r"[a-zA-Z0-9]{9}")


def _find_letters(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        for call in _calls(messages[at]):
            if not _NINE.fullmatch(str(call.get("id") or "")):
                says = f"the call id {call.get('id')!r} is not nine letters and digits"
                yield Violation("nine-letters", at, says)


def _mend_letters(messages: Sequence[Native]) -> list[Native]:
    out: list[Native] = []
    renamed: dict[str, str] = {}
    for message in messages:
        calls = _calls(message)
        if calls:
            names = Names(digested)
            renamed = {str(call.get("id") or ""): "" for call in calls}
            renamed = {name: names.new(name) for name in renamed}
            message = {**message, "tool_calls": [_under(call, "id", renamed) for call in calls]}
        elif _role(message) == "tool":
            message = _under(message, "tool_call_id", renamed)
        out.append(message)
    return out


def _under(native: Native, key: str, renamed: Mapping[str, str]) -> Native:
    name = str(native.get(key) or "")
    new = renamed.get(name, name)
    return native if new == native.get(key) else {**native, key: new}


# -- images ----------------------------------------------------------------------------------------


def _find_images(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        if _images(messages[at]):
            yield Violation("tool-images", at, "a result holds something else than text")


def _images(message: Native) -> list[Any]:
    body = message.get("content")
    if _role(message) != "tool" or not isinstance(body, (list, tuple)):
        return []
    return [member for member in body if member.get("type") != "text"]


def _mend_images(messages: Sequence[Native]) -> list[Native]:
    """The images of a round's results go into one user's message behind them, which says what they are."""
    out: list[Native] = []
    waiting: list[Any] = []
    for message in messages:
        if waiting and _role(message) != "tool":
            out.append(_shown(waiting))
            waiting = []
        images = _images(message)
        out.append(_of_text(message) if images else message)
        waiting += images
    return [*out, _shown(waiting)] if waiting else out


def _of_text(message: Native) -> Native:
    texts = [member for member in message["content"] if member.get("type") == "text"]
    return {**message, "content": texts or NO_OUTPUT}


def _shown(images: Sequence[Any]) -> Native:
    first, last = ({"type": "text", "text": line} for line in FRAME)
    return {"role": "user", "content": [first, *images, last]}


# -- the rules -------------------------------------------------------------------------------------

SYSTEM_FIRST = Rule(
    "system-first",
    "Qwen3.5 chat template: 'System message must be at the beginning.'; Mistral and Llama templates "
    "read messages[0] alone as one, and know no developer (bytedance/deer-flow#1299)",
    _find_system,
    _mend_system,
)
USER_FIRST = Rule(
    "user-first",
    "Llama 2 and Mistral chat templates: 'Conversation roles must alternate "
    "user/assistant/user/assistant/...', from the user's on; google-gemini/gemini-cli#11814",
    _find_first,
    _mend_first,
)
USER_ANYWHERE = Rule(
    "user-anywhere",
    "Qwen3.5 chat template: 'No user query found in messages.'",
    _find_anywhere,
    _mend_first,
)
ALTERNATION = Rule(
    "alternation",
    "chat templates: 'conversation roles must alternate user and assistant roles except for tool calls "
    "and results' (charmbracelet/crush#279)",
    _find_neighbours,
    _mend_neighbours,
)
USER_BEHIND_MODEL = Rule(
    "bridge",
    "mistral-common, validator up to v13: \"Unexpected role 'user' after role 'tool'\" "
    "(NousResearch/hermes-agent#20154)",
    _find_bridge,
    _mend_bridge,
)
LAST_IS_HEARD = Rule(
    "last",
    "mistral-common: 'Expected last role User or Tool (or Assistant with prefix True) for serving'",
    _find_last,
    _mend_last,
)
ONE_CALL_EACH = Rule(
    "one-call-each",
    "Llama 3.1 to 3.3 chat template: 'This model only supports single tool-calls at once!'",
    _find_parallel,
    _mend_parallel,
)
NINE_LETTERS = Rule(
    "nine-letters",
    "mistral-common, validator v3: 'Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9.'",
    _find_letters,
    _mend_letters,
)
TOOL_IMAGES = Rule(
    "tool-images",
    "Chat Completions reference: of the parts of a tool message only `text` is supported; 'Image URLs "
    "are only allowed for messages with role user'",
    _find_images,
    _mend_images,
)
