"""What the tests of this room share: entries of every kind, and entries as values that compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from redraft.context import (
    Change,
    Commit,
    Gate,
    Insert,
    Live,
    Origin,
    Refusal,
    Revision,
    Row,
    Turn,
    commit,
)
from redraft.dialects import Content, Frame, OpenAIChat, Usage
from redraft.events import CommandStarted, PhaseChanged, RequestMade, RolledBack
from redraft.store import (
    Account,
    Answered,
    Appended,
    Asked,
    Committed,
    Decided,
    EditSpan,
    Entry,
    Handed,
    Held,
    Mended,
    Opened,
    Output,
    Pinned,
    Refused,
    Rehomed,
    Released,
    Seen,
    Sent,
    SQLiteJournal,
    Started,
    Stated,
    Told,
)
from redraft.tokens import Meter

CHAT = OpenAIChat()
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]


class Letters:
    """One token a character: fast, and nobody can be wrong about it."""

    def count(self, text: str) -> int:
        return len(text)


METER = Meter(Letters())


def journal(directory: Path, **options: Any) -> SQLiteJournal:
    return SQLiteJournal(directory, **{"meter": METER, **options})


def live_of(messages: Sequence[Mapping[str, Any]], dialect: Any = CHAT, **more: Any) -> Live:
    frame, contents = dialect.split({dialect.turns_field: messages, **more})
    return Live.start(dialect, METER, frame, contents)


def started(live: Live) -> Started:
    return Started(live.frame, live.turns, live.head, live.frame_tokens, live.made)


def contents(*messages: Mapping[str, Any]) -> tuple[Content, ...]:
    return CHAT.split({"messages": messages})[1]


def call(command: str, at: int) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"id": f"call_{at}", "type": "function", "function": function}


def rounds(count: int, output: str = "output ") -> list[dict[str, Any]]:
    """A system prompt, a task, and so many rounds."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Do the task."},
    ]
    for at in range(count):
        calls = [call(f"look {at}", at)]
        messages.append({"role": "assistant", "content": f"step {at}", "tool_calls": calls})
        messages.append(
            {"role": "tool", "tool_call_id": f"call_{at}", "content": output * (at + 1)}
        )
    return messages


def edited(live: Live, number: int, text: str, **more: Any) -> Commit:
    """A commit that puts one note in the place of a turn's group."""
    turn = next(turn for turn in live.turns if turn.number == number)
    note = live.draft(live.dialect.note("assistant", text), Origin.NOTE)
    revision = Revision(
        "model",
        "file",
        (Change(number, turn.digest, None),),
        (Insert(live.turns[1].number, note, plan=True),),
        plan_tokens=7,
        notes=("kept",),
        **more,
    )
    done = commit(live, revision, 1_000_000)
    assert isinstance(done, Commit)
    return done


def refused(live: Live, number: int) -> Refusal:
    """A revision that the conservation gate refuses."""
    turn = next(turn for turn in live.turns if turn.number == number)
    longer = live.draft(live.dialect.note("assistant", "longer " * 99), Origin.EDITED)
    change = Change(number, turn.digest, longer)
    revision = Revision("policy", "mask", (change,), gate=Gate.CONSERVE)
    answer = commit(live, revision, 1_000_000)
    assert isinstance(answer, Refusal)
    assert answer.violation is not None
    return answer


def every_kind() -> Iterator[Entry]:
    """One entry of each kind at least, in an order that makes sense."""
    live = live_of(rounds(3), tools=TOOLS, temperature=0.5)
    yield Opened({"model": "gpt-5", "tag": "beef", "limit": 9_000, "family": 1.0, "odd": [1, None]})
    yield started(live)
    more = live.append(contents({"role": "user", "content": "And this."}))
    yield Appended(more.turns[len(live.turns) :], measured=2, plan=1, head=2)
    live = more
    yield Stated(
        3, 9_000, 1.5, 1.25, (1.0, 1.25), "final", "full", 2, 1, 9, 2, (5, 6), 1, 3, 2, ("x",)
    )
    yield Sent(4, len(live.turns), live.tokens)
    native = {"role": "user", "content": "[mended]"}
    yield Sent(
        4, len(live.turns), live.tokens, Mended(1, 2, (native, live.turns[0].content.carriers[0]))
    )
    yield Told(RequestMade(4, 100, 200, 90, 80, 70))
    yield Told(CommandStarted(4, "echo " + "long " * 99, 2.5))
    yield Told(RolledBack(4, 1, (3, 4), 100, 50))
    yield Told(PhaseChanged(4, "final", "spent \ud800"))
    yield Answered(4, None)
    yield Answered(5, Usage(1_000, 900, 10, comparable=False))
    yield Answered(6, None, paused=True)
    yield Sent(7, len(live.turns), live.tokens, added={"thinking": {"type": "enabled"}})
    done = edited(live, 5, "noted")
    yield Committed(1, done, (0, 2), (EditSpan(0, 13, 40), EditSpan(2, 0, 7)))
    live = done.live
    later = edited(live, 7, "noted later")
    yield Committed(2, later, queued=True)
    live = later.live
    yield Released()
    yield Refused("fit: too large", refused(live, 3))
    yield Refused("the file is empty", data=b"\x00\xff\nbytes")
    yield Pinned(frozenset({3, 4}))
    yield Output(5, "call_9\ud800", "whole \x00 output")
    yield Handed(5, 1, "first", 2, timed_out=True)
    yield Asked(4, 1, "a4.2", "run it", "call_9", "bash", {"command": "make"}, "Not run yet.")
    yield Decided("a4.2", "granted")
    yield Decided("a4.2", "done", "made\n" * 99, 2, True)
    yield Held(contents({"role": "user", "content": "Wait."}))
    yield Held(())
    yield Seen(2, (("ab" * 16, "cd" * 16),))
    system = live.turns[0]
    text = CHAT.write(system.content, "You are elsewhere.", (), ())
    yield Rehomed((Turn.of(live.draft(text, system.origin), 1, system.place),), "/elsewhere/file")
    frame = Frame({**live.frame.fields, "temperature": 1.0}, live.frame.counted)
    yield Rehomed((), "", frame, 7)
    made = live.append(contents({"role": "assistant", "content": "Then.", "reasoning": "hm"}))
    marked = made.turns[-1]
    yield Appended((marked,), made={marked.number: "ab"})
    yield Account(Row(5, 100, 20, 10, 5, 3, 118))


_OF_TURN = ("number", "content", "origin", "tokens", "digest", "reasoning", "place")
_OF_LIVE = (
    "frame",
    "turns",
    "head",
    "tokens",
    "next_number",
    "answered",
    "newest",
    "frame_tokens",
    "made",
)


def plain(value: Any) -> Any:
    """A value as data that compares: what a turn shows and what it sends, not which object it is."""
    if isinstance(value, Turn):
        return {name: plain(getattr(value, name)) for name in _OF_TURN}
    if isinstance(value, Live):
        parts = {name: plain(getattr(value, name)) for name in _OF_LIVE}
        return {**parts, "pins": sorted(value.pins), "plans": sorted(value.plans)}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"is": type(value).__name__, **parts}
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (bytes, BaseException)):
        return repr(value)
    return value


def agrees(now: Any, then: Any) -> bool:
    """Whether `now` says all that `then` said; it may say more, since things gain attributes."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(
            name in now and agrees(now[name], part) for name, part in then.items()
        )
    if isinstance(then, list):
        same = isinstance(now, list) and len(now) == len(then)
        return same and all(agrees(one, other) for one, other in zip(now, then, strict=True))
    return bool(now == then)


def differing(now: Iterable[object], then: Iterable[object]) -> int | None:
    """The place of the first entry that differs; None where none does. (A comparison of the whole would
    have pytest explain the difference for minutes.)"""
    pairs = zip_longest(map(plain, now), map(plain, then))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), None)


def as_bytes(live: Live) -> bytes:
    return json.dumps(live.body()).encode()
