"""Gemini's rules on calls and results: as many results as calls, in one content right behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Native
from redraft.dialects.chat_natives import dump
from redraft.dialects.frames import INTERRUPTED
from redraft.dialects.gemini_parts import field_of, key_of
from redraft.dialects.pairs_blocks import Spelling, find_pairs, framed_blocks, mend_pairs
from redraft.dialects.profile import Rule, Violation

__all__ = [
    "RESPONSES",
    "RESPONSE_NAMES",
    "holds",
    "is_models",
    "parts_of",
    "response_text",
    "text_part",
]

_RULE = "responses"


def parts_of(content: Native) -> Sequence[Native]:
    """The parts of a content; the API reads one part as a list of one."""
    parts = content.get("parts")
    if isinstance(parts, Mapping):
        return (parts,)
    return parts if isinstance(parts, (list, tuple)) else ()


def is_models(content: Native) -> bool:
    """Whether a content is the model's."""
    return content.get("role") == "model"


def holds(part: Native, name: str) -> bool:
    """Whether a part's data is of this kind, in whichever spelling."""
    return isinstance(field_of(part, name), Mapping)


def response_text(response: object) -> str:
    """What a function gave, as text: the words themselves where they are all there is, else JSON."""
    if isinstance(response, Mapping) and len(response) == 1:
        response = next(iter(response.values()))
    if isinstance(response, str):
        return response
    return dump(response) if response else ""


def text_part(text: str) -> dict[str, Any]:
    """A new part of text."""
    return {"text": text}


class _Gemini(Spelling):
    together = True

    def speaks(self, message: Native) -> bool:
        return is_models(message)

    def hears(self, message: Native) -> bool:
        return not is_models(message)

    def blocks(self, message: Native) -> Sequence[Native]:
        return parts_of(message)

    def with_blocks(self, message: Native, blocks: list[Native]) -> Native:
        return {**message, "parts": blocks}

    def new(self, blocks: list[Native]) -> Native:
        return {"role": "user", "parts": blocks}

    def asks(self, block: Native) -> bool:
        return holds(block, "functionCall")

    def answers(self, block: Native) -> bool:
        return holds(block, "functionResponse")

    def names(self, calls: Sequence[Native]) -> list[str]:
        """The ids of calls, and of those without the place among the calls of that name."""
        numbers: Counter[str] = Counter()
        names: list[str] = []
        for block in calls:
            call = field_of(block, "functionCall")
            name = str(call.get("name") or "")
            numbers[name] += 1
            names.append(str(call.get("id") or "") or f"{name}#{numbers[name]}")
        return names

    def pairing(self, calls: Sequence[Native]) -> Callable[[Native], str]:
        return _Pairing(calls, self.names(calls))

    def far_name(self, block: Native) -> str:
        return str(field_of(block, "functionResponse").get("id") or "")

    def interrupted(self, call: Native) -> Native:
        data = field_of(call, "functionCall")
        named = {key: data[key] for key in ("id", "name") if data.get(key)}
        key = "function_response" if "function_call" in call else "functionResponse"
        return {key: {**named, "response": {"error": INTERRUPTED}}}

    def joined(self, one: Native, other: Native) -> Native:
        """The final one, with the first under a key of its own."""
        first, second = field_of(one, "functionResponse"), field_of(other, "functionResponse")
        earlier, later = first.get("response"), second.get("response")
        key = key_of(other, "functionResponse")
        if not isinstance(later, Mapping) or not earlier or "earlier" in later:
            return other
        return {**other, key: {**second, "response": {**later, "earlier": earlier}}}

    def as_text(self, result: Native) -> list[Native]:
        data = field_of(result, "functionResponse")
        parts = data.get("parts")
        images = [p for p in parts if isinstance(p, Mapping)] if isinstance(parts, list) else []
        return framed_blocks(
            [text_part(response_text(data.get("response"))), *images], "text", text_part
        )


class _Pairing:
    """Pairs results with calls: by id, else the next of that name without a result, else the last."""

    def __init__(self, calls: Sequence[Native], names: Sequence[str]) -> None:
        self._calls = [field_of(block, "functionCall") for block in calls]
        self._names = names
        self._open = list(range(len(calls)))

    def __call__(self, part: Native) -> str:
        result = field_of(part, "functionResponse")
        name, wanted = str(result.get("name") or ""), str(result.get("id") or "")
        at = self._take(lambda call: bool(wanted) and call.get("id") == wanted)
        if at is None:
            at = self._take(
                lambda call: call.get("name") == name and not (wanted and call.get("id"))
            )
        return self._names[at] if at is not None else wanted or name

    def _take(self, fits: Callable[[Mapping[str, Any]], bool]) -> int | None:
        at = next((at for at in self._open if fits(self._calls[at])), None)
        if at is None:
            every = reversed(range(len(self._calls)))
            return next((at for at in every if fits(self._calls[at])), None)
        self._open.remove(at)
        return at


_SPELLING = _Gemini()


def _find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    return find_pairs(_RULE, _SPELLING, messages, start)


def _mend(messages: Sequence[Native]) -> list[Native]:
    return mend_pairs(_SPELLING, messages)


def _find_names(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for (at, _), _ in _misnamed(messages, start).items():
        yield Violation("response-names", at, "a response has not the name and the id of its call")


def _misnamed(messages: Sequence[Native], start: int) -> dict[tuple[int, int], Native]:
    """Responses that must take over the name and the id of their call, as they should be."""
    named: dict[tuple[int, int], Native] = {}
    calls: list[Native] = []
    for at in range(start, len(messages)):
        parts = parts_of(messages[at])
        if is_models(messages[at]):
            asked = [part for part in parts if holds(part, "functionCall")]
            calls = asked if at == start or not is_models(messages[at - 1]) else calls + asked
            continue
        name_of, names = _Pairing(calls, _SPELLING.names(calls)), _SPELLING.names(calls)
        for place, part in enumerate(parts):
            if not holds(part, "functionResponse"):
                continue
            name = name_of(part)
            new = _named(part, calls[names.index(name)]) if name in names else part
            if new is not part:
                named[at, place] = new
        calls = []
    return named


def _named(part: Native, call: Native) -> Native:
    key = key_of(part, "functionResponse")
    wanted = {k: v for k, v in field_of(call, "functionCall").items() if k in ("id", "name") and v}
    old = part[key]
    if all((old.get(k) or None) == wanted.get(k) for k in ("id", "name")):
        return part
    return {**part, key: {**{k: v for k, v in old.items() if k not in ("id", "name")}, **wanted}}


def _mend_names(messages: Sequence[Native]) -> list[Native]:
    named = _misnamed(messages, 0)
    touched = {at for at, _ in named}
    return [
        {**m, "parts": [named.get((at, p), part) for p, part in enumerate(parts_of(m))]}
        if at in touched
        else m
        for at, m in enumerate(messages)
    ]


RESPONSE_NAMES = Rule(
    "response-names",
    "API reference, FunctionResponse: `name` is required and is the call's, `id` matches the call's",
    _find_names,
    _mend_names,
)
RESPONSES = Rule(
    _RULE,
    "Gemini API: 'Please ensure that the number of function response parts is equal to the number of "
    "function call parts of the function call turn', 'function response turn comes immediately after a "
    "function call turn' (google-gemini/gemini-cli#4105)",
    _find,
    _mend,
    pairs=True,
)
