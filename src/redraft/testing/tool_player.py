"""A scripted player that keeps its context small with the context tools.

Like every player it is a pure function of the request: what has left the context it cannot know, but for
what `read_overflow` shows again. It plays `redraft.testing.tickets`, on the native route as it is and on
the fenced one through `redraft.testing.fenced.in_fences`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.dialects import Native
from redraft.testing.players import calls_message, text_of

__all__ = ["ticket_player"]

Json = dict[str, Any]

_TAKE = re.compile(r"\./take (\d\d)")
_PARTS = re.compile(r"go on to `\./take (\d\d)`")
_ENTRY = re.compile(r"ENTRY (ref=[0-9a-f]+) code=(K\d+)")
_BILLED = re.compile(r"^(K\d+) bill$", re.MULTILINE)
_QUESTION = re.compile(r"^QUESTION part=(\d\d) key=([0-9a-f]+)$", re.MULTILINE)
_LISTED = re.compile(r"^- (\S+): [\d,]+ tokens", re.MULTILINE)

_STATUS = "largest results in context ("
_STUB = re.compile(r"\[overflow id=([0-9a-f]{64}) tool=\S+ bytes=\d+ call_id=(\S+) ")
_OPEN = 3
"""Parts in the context, neither noted nor dropped, from which the player tidies: in batches, since each
change makes the server read what stands behind it once more."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A call that stands in the context, with its result."""

    id: str
    name: str
    command: str
    arguments: Json
    text: str


def ticket_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Plays `redraft.testing.tickets`: reads part after part. Offered the context tools, it looks at the
    status when it is told how full it is, pins the rules, notes the entries, drops what is routine, and
    looks the last question up in the overflow store. Not offered them, it reads on until it is told to
    stop.

    The numbered cases: (1) the last turn, (2) the rules are not read yet, (3) a status to act on, (4) the
    context fills, (5) the next part, (6) what was moved out before it was noted, and the question, (7) the
    answer.
    """
    messages: Sequence[Native] = request["messages"]
    steps, newest = list(_steps(messages)), text_of(messages[-1])
    texts = [text_of(message) for message in messages]
    tools = {tool["function"]["name"] for tool in request.get("tools") or ()}
    read = [int(found[1]) for step in steps if (found := _TAKE.fullmatch(step.command))]
    last = max(read, default=0)

    def calls(*wanted: tuple[str, Json]) -> Json:
        return _calls(texts, *wanted)

    if "This is your last turn" in newest:
        return _answer(texts)
    if not any(step.command == "cat rules.txt" for step in steps):
        return calls(("bash", {"command": "cat rules.txt"}))
    offered = "context_status" in tools
    if offered and _STATUS in newest:
        tidying = _tidied(steps, newest)
        if tidying:
            return calls(*tidying)
    elif offered and len(_open(steps)) >= _OPEN and steps[-1].name == "bash":
        return calls(("context_status", {"top": _OPEN + 1}))
    if last < _parts(texts):
        return calls(("bash", {"command": f"./take {last + 1:02}"}))
    looked = _looked_up(steps, texts) if "read_overflow" in tools else None
    return calls(("read_overflow", looked)) if looked else _answer(texts)


def _open(steps: Sequence[_Step]) -> list[_Step]:
    """The parts that stand in the context as they were read, but for the one that asks the question."""
    read = [step for step in steps if _TAKE.fullmatch(step.command)]
    moved = ("[overflow id=", "[note in place of", "[result folded into")
    return [s for s in read if not s.text.startswith(moved) and not _QUESTION.search(s.text)]


def _tidied(steps: Sequence[_Step], status: str) -> list[tuple[str, Json]]:
    """What to pin, to note and to drop, now that a status lists the largest results."""
    calls: list[tuple[str, Json]] = []
    rules = [step.id for step in steps if step.command == "cat rules.txt"]
    # Where a round's results share one message, a pin is the whole round's: `r1` for `r1.1`.
    called = [rules[0], rules[0].partition(".")[0]] if rules else []
    if not any(f"- {name} [model]" in status for name in called):
        calls.append(("context_pin", {"handles": rules}))
    listed = set(_LISTED.findall(status))
    parts = [step for step in _open(steps) if step.id in listed]
    telling = [step for step in parts if _ENTRY.search(step.text)]
    looks = [step for step in steps[:-1] if step.name == "context_status" and _STATUS in step.text]
    routine = [step.id for step in (*parts, *looks) if step not in telling]
    if telling:
        named = [step.id for step in telling]
        entries = [found[0] for step in telling for found in _ENTRY.finditer(step.text)]
        note = "\n".join(["Entries, letter by letter:", *entries])
        calls.append(("context_note", {"handles": named, "note": note}))
        calls.append(("context_pin", {"handles": named[:1]}))  # where the note stands now
    if routine:
        calls.append(("context_drop", {"handles": routine}))
    return calls


def _looked_up(steps: Sequence[_Step], texts: Sequence[str]) -> Json | None:
    """What to read next in the store; None where nothing is missing, or nothing can be found.

    A part that the pass spilled before it was noted may hold entries. The question's part is known by
    its command; where that is gone, each body is tried.
    """
    said = "\n".join(texts)
    stubs = {handle: name for name, handle in _STUB.findall(said)}
    mine = {h for s in steps if s.name == "context_drop" for h in s.arguments.get("handles", ())}
    tried = {(s.arguments["id"], s.arguments["find"]) for s in steps if s.name == "read_overflow"}
    mine |= {h for s in steps if s.name == "context_note" for h in s.arguments.get("handles", ())}
    wanted = [(name, "ENTRY ref=") for handle, name in stubs.items() if handle not in mine]
    question = _QUESTION.search(said)
    if question is not None and not _ticket(said):
        reader = next((s.id for s in steps if s.command == f"./take {question[1]}"), "")
        bodies = [stubs[reader]] if reader in stubs else list(stubs.values())
        wanted += [(name, f"key={question[2]}") for name in bodies]
    name, find = next((one for one in wanted if one not in tried), ("", ""))
    return {"id": name, "find": find} if name else None


def _answer(texts: Sequence[str]) -> Json:
    said = "\n".join(texts)
    billed = set(_BILLED.findall(said))
    lines = [ref for ref, code in dict.fromkeys(_ENTRY.findall(said)) if code in billed]
    return {"role": "assistant", "content": "\n".join([*lines, *_ticket(said)]) or "nothing"}


def _ticket(said: str) -> list[str]:
    question = _QUESTION.search(said)
    found = re.search(rf"key={question[2]} ticket=(T-\d+)", said) if question else None
    return [found[1]] if found else []


def _parts(texts: Sequence[str]) -> int:
    found = next((found for text in texts if (found := _PARTS.search(text))), None)
    return int(found[1]) if found else 0


def _steps(messages: Sequence[Native]) -> Iterator[_Step]:
    """The calls in the context with their results, in order."""
    results = {m["tool_call_id"]: text_of(m) for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = json.loads(function["arguments"])
            command, text = str(arguments.get("command", "")), results.get(call["id"], "")
            yield _Step(call["id"], function["name"], command, arguments, text)


def _calls(texts: Sequence[str], *calls: tuple[str, Json]) -> Json:
    """An assistant message with these calls. Their ids come from what was read, so that none comes again
    when the context has become shorter."""
    seed = hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()[:8]
    return calls_message((f"call_{seed}_{at}", *one) for at, one in enumerate(calls))
