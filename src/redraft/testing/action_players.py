"""Scripted players for the policies that let a model act: remember and look up, compact, branch off.

They play `redraft.testing.alerts`. Like every player each is a pure function of the request: what has left
the context it cannot know, but for what its own tools give back. Not offered its tools, it reads on until
it is told to stop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects import Native
from redraft.testing.players import calls_message, text_of

__all__ = ["branching_player", "compacting_player", "memory_player"]

Json = dict[str, Any]
Asked = tuple[str, Json]
"""A call: the tool's name and its arguments."""

_LAST = re.compile(r"part-01\.log to part-(\d+)\.log")
_READ = re.compile(r"(?:cat|up to) part-(\d+)\.log")
_ALERT = re.compile(r"ALERT \w+ (ref=[0-9a-f]+) owner=[0-9a-f]+")
_WITHDRAWN = re.compile(r"WITHDRAWN (ref=[0-9a-f]+)")
_ENDED = re.compile(r"^\[my result of the branch `(.*?)`", re.MULTILINE)
_LACKS = re.compile(r"^- (\S+)$", re.MULTILINE)
_READOUT = re.compile(r"\[redraft:\w+\] context ([\d,]+) / ([\d,]+) tokens")

_TIDY_AT = 0.5
"""The fill from which a player compacts, whether it is reminded or not."""

_INNER, _OUTER = 3, 12
"""Parts that one branch reads, and that a branch around such branches does."""


def memory_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Stores what each part said while it reads the next; looks up how far it came where turns of its own
    were taken away, and all of it at the end."""
    seen = _Seen(request)
    if seen.last_turn or not seen.has("memory_store"):
        return seen.reading_on()
    if "Rolled back" in seen.newest:
        return seen.calls(("memory_fetch", {"query": "how far the log is read", "limit": 20}))
    read = max([seen.read, *seen.numbers(seen.results("memory_fetch"))])
    kept = ("memory_store", {"text": _fact(seen.newest, read), "tags": ["log"]})
    fresh = seen.newest_of("bash")
    if fresh and "output left out here" in seen.newest:
        return seen.calls(("bash", {"command": f"grep -E 'ALERT|WITHDRAWN' part-{read:02}.log"}))
    if read < seen.parts:
        asked = ("bash", {"command": f"cat part-{read + 1:02}.log"})
        return seen.calls(kept, asked) if fresh else seen.calls(asked)
    if fresh:
        return seen.calls(kept)
    if not seen.newest_of("memory_fetch"):
        return seen.calls(("memory_fetch", {"query": "how far the log is read", "limit": 20}))
    return seen.answer()


def _fact(part: str, number: int) -> str:
    alerts = [found.group() for found in _ALERT.finditer(part)]
    alerts += [found.group() for found in _WITHDRAWN.finditer(part)]
    said = "; ".join(alerts) or "no alert"
    return f"How far the log is read: up to part-{number:02}.log, which has {said}."


def compacting_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Compacts when it is reminded or fairly full, and mends a summary that was refused."""
    seen = _Seen(request)
    if seen.last_turn or not seen.has("compact_context"):
        return seen.reading_on()
    lacks = "It lacks these exact values" in seen.newest
    if lacks or (seen.newest_of("bash") and (seen.reminded or seen.fill >= _TIDY_AT)):
        more = _LACKS.findall(seen.newest) if lacks else ()
        return seen.calls(("compact_context", {"summary": seen.summary(more), "keep": 1}))
    return seen.reading_on()


def branching_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reads a few parts in each branch, some branches in one around them, and returns with the alerts."""
    seen = _Seen(request)
    if seen.last_turn or not seen.has("branch"):
        return seen.reading_on()
    branches = seen.open_branches()
    for start in reversed(branches):
        size = _INNER if start != branches[0] or len(branches) > 1 else _OUTER
        done = seen.read_since(start)
        if done >= size or seen.read >= seen.parts:
            if seen.newest_of("branch"):
                break
            return seen.calls(("return_from_branch", {"result": seen.summary(since=start)}))
        break
    if len(branches) < 2 and seen.read < seen.parts:
        first, size = seen.read + 1, (_OUTER, _INNER)[len(branches)]
        about = f"parts from part-{first:02}.log on, {size} of them"
        goal = "which alerts are opened and which withdrawn"
        return seen.calls(("branch", {"description": about, "goal": goal}))
    return seen.reading_on()


class _Seen:
    """What a player sees of the conversation."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.messages: Sequence[Native] = request["messages"]
        self.texts = [text_of(message) for message in self.messages]
        self.newest = self.texts[-1]
        self._tools = {tool["function"]["name"] for tool in request.get("tools") or ()}
        found = _LAST.search("\n".join(self.texts))
        self.parts = int(found[1]) if found else 0
        self.start = next((at for at, m in enumerate(self.messages) if m["role"] == "user"), 0) + 1
        self.read = max(self.numbers(self._own(self.start)), default=0)

    def has(self, tool: str) -> bool:
        return tool in self._tools

    @property
    def last_turn(self) -> bool:
        return "This is your last turn" in self.newest

    @property
    def reminded(self) -> bool:
        return "Then `compact_context`" in self.newest

    @property
    def fill(self) -> float:
        found = _READOUT.search(self.newest)
        used, limit = (int(one.replace(",", "")) for one in found.groups()) if found else (0, 1)
        return used / limit

    # -- what was said ---------------------------------------------------------------------------

    def _own(self, start: int, stop: int | None = None) -> Iterator[str]:
        """The player's own notes and calls."""
        for message in self.messages[start:stop]:
            if message["role"] == "assistant":
                yield text_of(message)
                for call in message.get("tool_calls") or ():
                    yield call["function"]["arguments"]

    @staticmethod
    def numbers(texts: Iterator[str]) -> list[int]:
        """Numbers of the parts that some texts say were read."""
        return [int(number) for text in texts for number in _READ.findall(text)]

    def _steps(self) -> Iterator[tuple[int, str, str]]:
        """Place of the message, name and id of each call."""
        for at, message in enumerate(self.messages):
            for call in message.get("tool_calls") or ():
                yield at, call["function"]["name"], call["id"]

    def results(self, tool: str) -> Iterator[str]:
        """The results of a tool's calls."""
        ids = {name for _, one, name in self._steps() if one == tool}
        for message, text in zip(self.messages, self.texts, strict=True):
            if message.get("tool_call_id") in ids:
                yield text

    def newest_of(self, tool: str) -> bool:
        """Whether the newest message is a result of this tool."""
        ids = {name for _, one, name in self._steps() if one == tool}
        return self.messages[-1].get("tool_call_id") in ids

    def open_branches(self) -> list[int]:
        """Where each open branch began, outermost first. One whose result stands has ended, also where the
        call that ended it was taken away."""
        ended = set(_ENDED.findall("\n".join(self._own(self.start))))
        begun: list[int] = []
        for at, message in enumerate(self.messages):
            for call in message.get("tool_calls") or ():
                given = call["function"]["arguments"]
                if call["function"]["name"] == "branch":
                    begun.append(at)
                    if json.loads(given)["description"] in ended:
                        begun.pop()
        return begun

    def read_since(self, start: int) -> int:
        """How many parts were read behind a message, in branches within too."""
        before = max(self.numbers(self._own(self.start, start)), default=0)
        return self.read - before

    def summary(self, more: Sequence[str] = (), *, since: int | None = None) -> str:
        """What there is to carry forward: how far it read, and what it found."""
        said = self._said(self.start if since is None else since)
        gone = list(dict.fromkeys(_WITHDRAWN.findall(said)))
        alerts = dict.fromkeys(found.group() for found in _ALERT.finditer(said))
        still = [one for one in alerts if _ALERT.fullmatch(one)[1] not in gone]  # type: ignore[index]
        lines = [f"Everything up to part-{self.read:02}.log is read, in order.", *still]
        lines += [f"WITHDRAWN {ref}" for ref in gone]
        return "\n".join([*lines, *more])

    def _said(self, start: int) -> str:
        return "\n".join([*self.texts[start:], *self._own(start)])

    # -- what to say -----------------------------------------------------------------------------

    def calls(self, *asked: Asked) -> Json:
        """An assistant message with these calls."""
        place = len(self.messages)
        return calls_message((f"call_{place}_{at}", *one) for at, one in enumerate(asked))

    def reading_on(self) -> Json:
        """The next part, or the answer where there is none."""
        if self.last_turn or self.read >= self.parts:
            return self.answer()
        return self.calls(("bash", {"command": f"cat part-{self.read + 1:02}.log"}))

    def answer(self) -> Json:
        """The references of the alerts that are open."""
        said = self._said(self.start)
        gone = set(_WITHDRAWN.findall(said))
        refs = [ref for ref in dict.fromkeys(_ALERT.findall(said)) if ref not in gone]
        return {"role": "assistant", "content": "\n".join(refs) or "No alert is open."}
