"""The rules on the final list: what a server refuses, how to say so, and the smallest mend.

Run on what is sent, after every path. A mend works on a copy of the list and never in place; what is
legal already comes back as the same object. It never drops a user's words, never raises a role, and
says in plain text what it put in.

To add a provider, write a `Profile` that names its rules; to add a rule, write a `Rule` with a source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.dialects.base import Native

__all__ = [
    "OPENAI_CHAT",
    "Profile",
    "Rule",
    "Violation",
    "boundary",
    "check",
    "framed",
    "repair",
]

INTERRUPTED = "[no result: the call was interrupted before it finished]"
"""The result that a mend puts in for a call without one; it claims nothing about side effects."""

_FRAME = ("[tool output, kept as text]", "[end of tool output]")

_SURROGATE = re.compile("[\ud800-\udfff]")


def framed(text: str) -> str:
    """How a result without its call stands: as text that nobody takes for a user's words."""
    return "\n".join((_FRAME[0], text, _FRAME[1]))


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    Attributes:
        rule: the rule's name.
        at: the index of the message that breaks it.
        says: what is wrong, for a person.
    """

    rule: str
    at: int
    says: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `find` explains, `mend` returns a list that keeps it.

    Attributes:
        name: short and stable.
        source: where the rule is written down or was observed.
        find: yields violations of a list from an index on.
        mend: returns a mended copy of a list.
    """

    name: str
    source: str
    find: Callable[[Sequence[Native], int], Iterator[Violation]]
    mend: Callable[[Sequence[Native]], list[Native]]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one provider demands of a list; rules are mended in this order."""

    name: str
    rules: tuple[Rule, ...]


def check(messages: Sequence[Native], profile: Profile, start: int = 0) -> list[Violation]:
    """Every broken rule of `profile` in `messages`.

    Args:
        messages: the list as it will be sent.
        profile: the provider's rules.
        start: an index known to be a `boundary`, before which the list was checked already.
    """
    return [violation for rule in profile.rules for violation in rule.find(messages, start)]


def repair(messages: Sequence[Native], profile: Profile) -> Sequence[Native]:
    """The nearest legal list; `messages` itself where it is legal. Deterministic and idempotent."""
    for rule in profile.rules:
        if next(rule.find(messages, 0), None) is not None:
            messages = rule.mend(messages)
    return messages


def boundary(messages: Sequence[Native], at: int) -> int:
    """The nearest index at or before `at` where no call is waiting for its result."""
    at = min(at, len(messages))
    while at > 0 and (at == len(messages) or messages[at].get("role") in ("tool", "function")):
        at -= 1
    return at


def _call_ids(message: Native) -> list[str]:
    """The ids that results must answer. The legacy `function_call` is answered by name."""
    if message.get("role") != "assistant":
        return []
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        return [f"function_call:{legacy.get('name', '')}"]
    return [str(call.get("id", "")) for call in message.get("tool_calls") or ()]


def _answer_id(message: Native) -> str | None:
    match message.get("role"):
        case "tool":
            return str(message.get("tool_call_id", ""))
        case "function":
            return f"function_call:{message.get('name', '')}"
        case _:
            return None


def _find_pairs(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    waiting: list[str] = []
    ids: list[str] = []
    owner = start
    for at in range(start, len(messages)):
        answer = _answer_id(messages[at])
        if answer is None:
            if waiting:
                yield Violation("pairs", owner, f"call {waiting[0]!r} has no result after it")
            ids = _call_ids(messages[at])
            waiting, owner = list(ids), at
        elif answer in waiting:
            waiting.remove(answer)
        elif answer not in ids:
            yield Violation("pairs", at, f"result {answer!r} answers no call right before it")
    if waiting:
        yield Violation("pairs", owner, f"call {waiting[0]!r} has no result after it")


def _mend_pairs(messages: Sequence[Native]) -> list[Native]:
    """Results go right behind their call; a missing one is put in, a stray one becomes text."""
    later: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        answer = _answer_id(message)
        if answer is not None:
            later.setdefault(answer, []).append(at)
    taken: set[int] = set()
    out: list[Native] = []
    for at, message in enumerate(messages):
        if at in taken:
            continue
        if _answer_id(message) is not None:
            out.append(_as_text(message))
            continue
        out.append(message)
        ids = _call_ids(message)
        found = _results(messages, at, ids, later, taken)
        taken.update(found)
        out.extend(messages[place] for place in found)
        answered = {_answer_id(messages[place]) for place in found}
        out.extend(_interrupted(message, name) for name in ids if name not in answered)
    return out


def _results(
    messages: Sequence[Native],
    at: int,
    ids: Sequence[str],
    later: Mapping[str, list[int]],
    taken: set[int],
) -> list[int]:
    """Where the results of the calls at `at` stand: right behind it, else the next ones with the id."""
    found: list[int] = []
    end = at + 1
    while end < len(messages) and _answer_id(messages[end]) is not None:
        if _answer_id(messages[end]) in ids and end not in taken:
            found.append(end)
        end += 1
    answered = {_answer_id(messages[place]) for place in found}
    for name in ids:
        if name not in answered:
            place = next((p for p in later.get(name, ()) if p >= end and p not in taken), None)
            # A result behind the next use of the same id belongs to that one.
            if place is not None and not any(
                name in _call_ids(message) for message in messages[end:place]
            ):
                found.append(place)
    return found


def _interrupted(message: Native, name: str) -> Native:
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        return {"role": "function", "name": legacy.get("name", ""), "content": INTERRUPTED}
    return {"role": "tool", "tool_call_id": name, "content": INTERRUPTED}


def _as_text(message: Native) -> Native:
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return {"role": "user", "content": framed(content or "")}
    first, last = ({"type": "text", "text": line} for line in _FRAME)
    return {"role": "user", "content": [first, *content, last]}


def _find_empty(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        message = messages[at]
        if message.get("role") == "assistant" and "tool_calls" in message:
            if not message["tool_calls"]:
                yield Violation("not-empty", at, "`tool_calls` is there and empty")
        elif message.get("role") == "assistant" and _says_nothing(message):
            yield Violation("not-empty", at, "an assistant message says nothing and calls nothing")
        elif isinstance(message.get("content"), list) and not message["content"]:
            yield Violation("not-empty", at, "`content` is an empty list")
        elif message.get("role") != "assistant" and message.get("content") is None:
            yield Violation("not-empty", at, "`content` is missing")


def _says_nothing(message: Native) -> bool:
    if message.get("function_call") or message.get("audio") or message.get("refusal"):
        return False
    return message.get("content") in (None, "", [])


def _mend_empty(messages: Sequence[Native]) -> list[Native]:
    out: list[Native] = []
    for message in messages:
        if message.get("role") == "assistant" and "tool_calls" in message:
            if not message["tool_calls"]:
                message = {k: v for k, v in message.items() if k != "tool_calls"}
                if _says_nothing(message):
                    continue
        elif message.get("role") == "assistant":
            if _says_nothing(message):
                continue
        elif message.get("content") is None or message.get("content") == []:
            message = {**message, "content": ""}
        out.append(message)
    return out


def _bad_calls(message: Native) -> list[int]:
    """Calls whose arguments no chat template or server can parse."""
    bad = []
    for at, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("arguments"), str):
            try:
                good = isinstance(json.loads(function["arguments"]), dict)
            except (ValueError, RecursionError):
                good = False
            if not good:
                bad.append(at)
    return bad


def _find_arguments(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        for place in _bad_calls(messages[at]):
            yield Violation("arguments", at, f"the arguments of call {place} are no JSON object")


def _mend_arguments(messages: Sequence[Native]) -> list[Native]:
    """`{}` for arguments that were cut off: what was cut off was not run either."""
    out: list[Native] = []
    for message in messages:
        bad = _bad_calls(message)
        if bad:
            calls = [
                {**call, "function": {**call["function"], "arguments": "{}"}} if at in bad else call
                for at, call in enumerate(message["tool_calls"])
            ]
            message = {**message, "tool_calls": calls}
        out.append(message)
    return out


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


PAIRS = Rule(
    "pairs",
    "OpenAI API: 'An assistant message with tool_calls must be followed by tool messages "
    "responding to each tool_call_id' and its converse",
    _find_pairs,
    _mend_pairs,
)
NOT_EMPTY = Rule(
    "not-empty",
    "OpenAI API reference: content is required unless tool_calls is given; tool_calls has at "
    "least one entry",
    _find_empty,
    _mend_empty,
)
ARGUMENTS = Rule(
    "arguments",
    "observed: chat templates of open-weight models parse the arguments as JSON and fail the request",
    _find_arguments,
    _mend_arguments,
)
UTF8 = Rule(
    "utf-8", "RFC 8259, section 8.1: JSON on the wire is UTF-8", _find_surrogates, _mend_surrogates
)

OPENAI_CHAT = Profile("openai-chat", (UTF8, ARGUMENTS, NOT_EMPTY, PAIRS))
"""Chat Completions as OpenAI and OpenAI-compatible servers take it."""
