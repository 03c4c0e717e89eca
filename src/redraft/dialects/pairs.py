"""Rules on calls and results: each call has one result, right behind it, and an id of its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence

from redraft.dialects.base import Native
from redraft.dialects.frames import FRAME, INTERRUPTED, framed
from redraft.dialects.naming import Names
from redraft.dialects.profile import Rule, Violation

__all__ = ["DISTINCT_IDS", "PAIRS", "UNIQUE_IDS"]


def _call_ids(message: Native) -> list[str]:
    """The ids that results must answer. The legacy `function_call` is answered by name."""
    if message.get("role") != "assistant":
        return []
    calls = message.get("tool_calls")
    if calls:
        return [str(call.get("id") or "") for call in calls]
    legacy = message.get("function_call")
    return [f"function_call:{legacy.get('name', '')}"] if isinstance(legacy, Mapping) else []


def _answer_id(message: Native) -> str | None:
    match message.get("role"):
        case "tool":
            return str(message.get("tool_call_id") or "")
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
        elif answer in ids:
            yield Violation("pairs", at, f"call {answer!r} has a result already")
        else:
            yield Violation("pairs", at, f"result {answer!r} answers no call right before it")
    if waiting:
        yield Violation("pairs", owner, f"call {waiting[0]!r} has no result after it")


def _mend_pairs(messages: Sequence[Native]) -> list[Native]:
    """Results go right behind their call; a missing one is put in, a second one joins the first, a
    stray one becomes text."""
    places = _Places(messages)
    out: list[Native] = []
    for at, message in enumerate(messages):
        if at in places.taken:
            continue
        if _answer_id(message) is not None:
            out.append(_as_text(message))
            continue
        out.append(message)
        ids = _call_ids(message)
        if ids:
            out.extend(_results(messages, at, ids, places))
    return out


class _Places:
    """Where calls and results stand, by id, and which results have found their call."""

    def __init__(self, messages: Sequence[Native]) -> None:
        self.taken: set[int] = set()
        self._calls: dict[str, list[int]] = {}
        self._results: dict[str, list[int]] = {}
        for at, message in enumerate(messages):
            answer = _answer_id(message)
            if answer is not None:
                self._results.setdefault(answer, []).append(at)
            for name in _call_ids(message):
                self._calls.setdefault(name, []).append(at)

    def later(self, name: str, at: int) -> int | None:
        """The next free result for a call at `at`: one behind the next use of the id belongs to that."""
        calls, results = self._calls[name], self._results.get(name, [])
        following = bisect_right(calls, at)
        stop = calls[following] if following < len(calls) else None
        for index in range(bisect_right(results, at), len(results)):
            place = results[index]
            if stop is not None and place > stop:
                return None
            if place not in self.taken:
                return place
        return None


def _results(
    messages: Sequence[Native], at: int, ids: Sequence[str], places: _Places
) -> list[Native]:
    """The results of the calls at `at`: those right behind them as they stand, then what was found
    further on, then what is missing."""
    waiting = list(ids)
    found: list[Native] = []
    place = at + 1
    while place < len(messages) and (answer := _answer_id(messages[place])) is not None:
        if answer in ids:
            places.taken.add(place)
            if answer in waiting:
                waiting.remove(answer)
                found.append(messages[place])
            else:
                _join_last(found, answer, messages[place])
        place += 1
    for name in list(waiting):
        moved = places.later(name, at)
        if moved is not None:
            places.taken.add(moved)
            waiting.remove(name)
            found.append(messages[moved])
    return found + [_interrupted(messages[at], name) for name in waiting]


def _join_last(found: list[Native], answer: str, second: Native) -> None:
    """Put a second result into the one before it with this id: first pending or aborted, then final."""
    at = max(place for place, item in enumerate(found) if _answer_id(item) == answer)
    one, other = found[at].get("content"), second.get("content")
    if isinstance(one, (list, tuple)) or isinstance(other, (list, tuple)):
        content: object = [*_members(one), *_members(other)]
    else:
        content = "\n\n".join(str(text) for text in (one, other) if text)
    found[at] = {**found[at], "content": content}


def _members(content: object) -> list[object]:
    if isinstance(content, (list, tuple)):
        return list(content)
    return [{"type": "text", "text": str(content)}] if content else []


def _interrupted(message: Native, name: str) -> Native:
    if message.get("tool_calls"):
        return {"role": "tool", "tool_call_id": name, "content": INTERRUPTED}
    legacy = message["function_call"]
    return {"role": "function", "name": legacy.get("name", ""), "content": INTERRUPTED}


def _as_text(message: Native) -> Native:
    content = message.get("content")
    if not isinstance(content, (list, tuple)):
        return {"role": "user", "content": framed(str(content or ""))}
    first, last = ({"type": "text", "text": line} for line in FRAME)
    return {"role": "user", "content": [first, *map(_defused, content), last]}


def _defused(member: object) -> object:
    """A content member that cannot pass for the end of its frame."""
    if not isinstance(member, Mapping) or not isinstance(member.get("text"), str):
        return member
    text = framed(member["text"])
    return {**member, "text": text[len(FRAME[0]) + 1 : len(text) - len(FRAME[1]) - 1]}


def _find_repeats_within(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        yield from _repeats("distinct-ids", at, messages[at], set())


def _find_repeats(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    taken: set[str] = set()
    for at, message in enumerate(messages):
        if not message.get("tool_calls"):  # most messages: every request walks the whole list
            continue
        found = list(_repeats("unique-ids", at, message, taken))
        yield from found if at >= start else ()


def _repeats(rule: str, at: int, message: Native, taken: set[str]) -> Iterator[Violation]:
    for call in _calls(message):
        name = str(call.get("id") or "")
        if not name or name in taken:
            says = f"the call id {name!r} was used before" if name else "a call has no id"
            yield Violation(rule, at, says)
        taken.add(name)


def _calls(message: Native) -> Sequence[Native]:
    calls: Sequence[Native] = message.get("tool_calls") or ()
    return calls if message.get("role") == "assistant" else ()


def _mend_repeats_within(messages: Sequence[Native]) -> list[Native]:
    return _renamed(messages, Names)


def _mend_repeats(messages: Sequence[Native]) -> list[Native]:
    """What an id becomes depends on what stands before it alone: a growing list keeps its prefix."""
    names = Names()
    return _renamed(messages, lambda: names)


def _renamed(messages: Sequence[Native], names_for: Callable[[], Names]) -> list[Native]:
    """A repeated id gets a number, in the call and in its result."""
    out: list[Native] = []
    renamed: dict[str, list[str]] = {}
    for message in messages:
        calls = _calls(message)
        if calls:
            message, renamed = _distinct(message, calls, names_for())
        elif message.get("role") == "tool":
            left = renamed.get(str(message.get("tool_call_id") or ""))
            if left and left[0] != message.get("tool_call_id"):
                message = {**message, "tool_call_id": left[0]}
            if left:
                del left[0]
        out.append(message)
    return out


def _distinct(
    message: Native, calls: Sequence[Native], names: Names
) -> tuple[Native, dict[str, list[str]]]:
    """The message with ids of its own, and what each old id has become, in order."""
    renamed: dict[str, list[str]] = {}
    kept: list[Native] = []
    for call in calls:
        old = str(call.get("id") or "")
        new = names.new(old)
        renamed.setdefault(old, []).append(new)
        kept.append(call if call.get("id") == new else {**call, "id": new})
    same = all(a is b for a, b in zip(kept, calls, strict=True))
    return (message if same else {**message, "tool_calls": kept}), renamed


PAIRS = Rule(
    "pairs",
    "OpenAI API: 'An assistant message with tool_calls must be followed by tool messages "
    "responding to each tool_call_id' and its converse; 'Duplicate value for tool_call_id' "
    "(anomalyco/opencode#1211)",
    _find_pairs,
    _mend_pairs,
    pairs=True,
)
DISTINCT_IDS = Rule(
    "distinct-ids",
    "observed: 'Duplicate value for tool_call_id' for two calls of one message "
    "(charmbracelet/crush#3121, openclaw/openclaw#47136)",
    _find_repeats_within,
    _mend_repeats_within,
)
UNIQUE_IDS = Rule(
    "unique-ids",
    "observed on compatible servers that pass the list on to a stricter one: bug-ops/zeph#6501, "
    "can1357/oh-my-pi#2055. OpenAI itself takes an id again in another message",
    _find_repeats,
    _mend_repeats,
)
