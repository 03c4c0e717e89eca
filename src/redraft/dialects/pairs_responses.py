"""The Responses API's rules on calls and results: each call has its output, right behind the model's items.

The server asks for an output of the call's own kind somewhere behind the call. Here it stands right
behind the run of items that the model made, which is also where an edit looks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redraft.dialects.base import Native
from redraft.dialects.boundaries import item_speaks
from redraft.dialects.frames import INTERRUPTED, framed
from redraft.dialects.naming import Names, lettered
from redraft.dialects.pairs_blocks import framed_blocks
from redraft.dialects.profile import Rule, Violation
from redraft.dialects.responses_calls import call_of, new_result, result_of
from redraft.dialects.responses_items import (
    Kind,
    call_id_of,
    is_hosted,
    kind_of,
    members_of,
    type_of,
)

__all__ = ["CALL_IDS", "OUTPUTS", "OUTPUTS_ON_SERVER"]

_RULE = "outputs"
_LIMIT = 64
_CLIENT_RUN = ("fc_", "ctc_", "cu_", "lsh_")
Key = tuple[str, str]
"""The kind of result that a call asks for, and the id that names both."""

_ANSWERED_BY = {
    "tool_search_call": "tool_search_output",
    "mcp_approval_request": "mcp_approval_response",
}


@dataclass(slots=True)
class _Run:
    """Items of the model's that follow each other, and the results right behind them.

    Attributes:
        first, end: where its items begin, and the place behind the last; the same for results alone.
        calls: places of calls that the client answers.
        references: how many of its items refer to a call whose id nobody knows.
        hosted: places of results that the server made itself, among its items.
        results: places of the client's results.
    """

    first: int
    end: int
    calls: list[int] = field(default_factory=list)
    references: int = 0
    hosted: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def takes(self, items: Sequence[Native], at: int) -> bool:
        """Put an item in if it belongs there; whether it does."""
        item, kind = items[at], kind_of(items[at])
        hosted = (
            kind is Kind.RESULT and not self.results and is_hosted(item, items[self.first : at])
        )
        if kind is Kind.RESULT and not hosted:
            self.results.append(at)
            return True
        if self.results or not (hosted or item_speaks(item)):
            return False
        self.end = at + 1
        if hosted:
            self.hosted.append(at)
        elif kind is Kind.CALL:
            self.calls.append(at)
        elif type_of(item) == "item_reference" and _names_call(item):
            self.references += 1
        return True


def _runs(items: Sequence[Native], start: int) -> Iterator[_Run]:
    run = _Run(start, start)
    for at in range(start, len(items)):
        if run.takes(items, at):
            continue
        yield run
        run = _Run(at, at)
        if not run.takes(items, at):  # somebody else's words: what follows begins behind them
            run = _Run(at + 1, at + 1)
    yield run


def _names_call(item: Native) -> bool:
    return str(item.get("id")).startswith(_CLIENT_RUN)


def _wanted(call: Native) -> Key:
    kind = type_of(call)
    return _ANSWERED_BY.get(kind, f"{kind}_output"), call_id_of(call)


def _given(result: Native) -> Key:
    return type_of(result), call_id_of(result)


def _finder(on_server: bool) -> Callable[[Sequence[Native], int], Iterator[Violation]]:
    def find(items: Sequence[Native], start: int) -> Iterator[Violation]:
        spoken = _spoken_before(items, start) if on_server else True
        for run in _runs(items, start):
            yield from _faults(items, run, on_server and not spoken)
            spoken = spoken or run.end > run.first

    return find


def _spoken_before(items: Sequence[Native], start: int) -> bool:
    return any(item_speaks(item) for item in items[:start])


def _faults(items: Sequence[Native], run: _Run, on_server: bool) -> Iterator[Violation]:
    """What is wrong in one run.

    Args:
        on_server: whether its results may answer calls that the server keeps.
    """
    waiting = [_wanted(items[at]) for at in run.calls]
    known = set(waiting)
    strangers = run.references
    answered: set[Key] = set()
    for at in run.results:
        key = _given(items[at])
        if key in waiting:
            waiting.remove(key)
        elif key in known or key in answered:
            yield Violation(_RULE, at, f"call {key[1]!r} has an output already")
        elif strangers > 0 or (on_server and run.end == run.first):
            strangers -= 1
            answered.add(key)
        else:
            yield Violation(_RULE, at, f"output {key[1]!r} answers no call right before it")
    for key in waiting:
        at = next(at for at in run.calls if _wanted(items[at]) == key)
        yield Violation(_RULE, at, f"call {key[1]!r} has no output behind it")


def _mender(on_server: bool) -> Callable[[Sequence[Native]], list[Native]]:
    def mend(items: Sequence[Native]) -> list[Native]:
        places = _Places(items)
        spoken = not on_server
        made: dict[int, list[Native]] = {}  # results, by the place in front of which they belong
        for run in _runs(items, 0):
            places.kept.update(run.hosted)
            if next(_faults(items, run, not spoken), None) is None:
                places.kept.update(run.results)
            else:
                made[run.end] = _outputs(items, run, places, not spoken)
            spoken = spoken or run.end > run.first
        return _together(items, places, made)

    return mend


def _together(
    items: Sequence[Native], places: _Places, made: Mapping[int, list[Native]]
) -> list[Native]:
    out: list[Native] = []
    for at, item in enumerate(items):
        out += made.get(at, [])
        if kind_of(item) is not Kind.RESULT or at in places.kept:
            out.append(item)
        elif at not in places.taken:
            out.append(_as_message(item))
    return out + made.get(len(items), [])


class _Places:
    """Where calls and results stand, by their key; which results have found their call, and which stay
    where they are."""

    def __init__(self, items: Sequence[Native]) -> None:
        self.taken: set[int] = set()
        self.kept: set[int] = set()
        self._calls: dict[Key, list[int]] = {}
        self._results: dict[Key, list[int]] = {}
        for at, item in enumerate(items):
            kind = kind_of(item)
            if kind is Kind.CALL:
                self._calls.setdefault(_wanted(item), []).append(at)
            elif kind is Kind.RESULT:
                self._results.setdefault(_given(item), []).append(at)

    def later(self, key: Key, at: int) -> int | None:
        """The next free result behind a place; one behind the next use of the id belongs to that."""
        calls, results = self._calls.get(key, []), self._results.get(key, [])
        following = bisect_right(calls, at)
        stop = calls[following] if following < len(calls) else None
        for place in results[bisect_right(results, at) :]:
            if stop is not None and place > stop:
                return None
            if place not in self.taken:
                return place
        return None


def _outputs(items: Sequence[Native], run: _Run, places: _Places, on_server: bool) -> list[Native]:
    """The results of a run: those right behind it, those found further on, those that are missing."""
    waiting = [(_wanted(items[at]), at) for at in run.calls]
    known = {key for key, _ in waiting}
    strangers = run.references
    found: list[Native] = []
    for at in run.results:
        key = _given(items[at])
        if at in places.taken:
            continue
        match = next((pair for pair in waiting if pair[0] == key), None)
        if match is not None:
            waiting.remove(match)
            found.append(items[at])
        elif key in known or any(_given(item) == key for item in found):
            _join(found, key, items[at])
        elif strangers > 0 or (on_server and run.end == run.first):
            strangers -= 1
            found.append(items[at])
        else:
            continue
        places.taken.add(at)
    missing: list[Native] = []
    for key, at in waiting:
        moved = places.later(key, run.results[-1] if run.results else run.end - 1)
        if moved is None:
            missing.append(new_result(call_of(items[at], 0, {}), INTERRUPTED))
        else:
            places.taken.add(moved)
            found.append(items[moved])
    return found + missing


def _join(found: list[Native], key: Key, second: Native) -> None:
    """Put a second result into the one before it: first pending or aborted, then final. Where a result
    has no place for words, the final one stands."""
    at = max(place for place, item in enumerate(found) if _given(item) == key)
    one, other = found[at].get("output"), second.get("output")
    if isinstance(one, str) and isinstance(other, str):
        output: object = "\n\n".join(text for text in (one, other) if text)
    elif isinstance(one, (str, list)) and isinstance(other, (str, list)) and _is_function(second):
        output = [*members_of(found[at]), *members_of(second)]
    else:
        found[at] = second
        return
    found[at] = {**found[at], "output": output}


def _is_function(item: Native) -> bool:
    return type_of(item) in ("function_call_output", "custom_tool_call_output")


def _as_message(item: Native) -> Native:
    """A result without its call, as a user's message that says what it is, with its images."""
    message = {"type": "message", "role": "user"}
    output = item.get("output")
    if not _is_function(item) or not isinstance(output, (list, tuple)):
        return {**message, "content": framed(result_of(item).text)}
    return {**message, "content": framed_blocks(output, "text", _text_member)}


def _text_member(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


# -- ids -------------------------------------------------------------------------------------------

_NAMED = frozenset(
    {
        *("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"),
        *("apply_patch_call", "tool_search_call"),
    }
)


def _find_ids(items: Sequence[Native], start: int) -> Iterator[Violation]:
    taken: set[str] = set()
    for at, item in enumerate(items):  # an id may have been used anywhere before
        if type_of(item) not in _NAMED or kind_of(item) is not Kind.CALL:
            continue
        name = call_id_of(item)
        if at >= start and (name in taken or not 0 < len(name) <= _LIMIT):
            says = f"the call id {name!r} is empty, longer than {_LIMIT}, or was used before"
            yield Violation("call-ids", at, says)
        taken.add(name)


def _mend_ids(items: Sequence[Native]) -> list[Native]:
    names = Names(_fitting)
    out = list(items)
    for run in _runs(items, 0):
        renamed: dict[Key, list[str]] = {}
        for at in run.calls:
            if type_of(items[at]) in _NAMED:
                key = _wanted(items[at])
                renamed.setdefault(key, []).append(names.new(key[1]))
                out[at] = _under(items[at], renamed[key][-1])
        for at in run.results:
            waiting = renamed.get(_given(items[at]))
            if waiting:
                out[at] = _under(items[at], waiting.pop(0))
    return out


_LETTERED = lettered(_LIMIT)


def _fitting(name: str, number: int) -> str:
    """An id of the right length is left as it is, whatever letters it has."""
    return name if number == 1 and 0 < len(name) <= _LIMIT else _LETTERED(name, number)


def _under(item: Native, name: str) -> Native:
    return item if call_id_of(item) == name else {**item, "call_id": name}


_SOURCE = (
    "Responses API: 'No tool output found for function call ...', 'No tool call found for function call "
    "output with call_id ...' (langchain-ai/langchain#34282)"
)
OUTPUTS = Rule(_RULE, _SOURCE, _finder(on_server=False), _mender(on_server=False), pairs=True)
OUTPUTS_ON_SERVER = Rule(
    _RULE,
    f"{_SOURCE}; behind `previous_response_id` the first outputs answer calls on the server",
    _finder(on_server=True),
    _mender(on_server=True),
    pairs=True,
)
CALL_IDS = Rule(
    "call-ids",
    "API reference: `call_id` has 1 to 64 characters; 'string too long. Expected a string with maximum "
    "length 64'",
    _find_ids,
    _mend_ids,
)
