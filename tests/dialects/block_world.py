"""What the tests of the two block formats share: dialects, and ways to change what they hold.

The bodies come from `redraft.testing.strategies`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from redraft.context import (
    Change,
    Commit,
    Draft,
    Gate,
    Insert,
    Live,
    Origin,
    Revision,
    Turn,
    commit,
)
from redraft.context.turn import edited_origin
from redraft.dialects.anthropic import Anthropic
from redraft.dialects.blocks import BlockDialect
from redraft.dialects.gemini import Gemini
from redraft.testing.strategies import Plan, anthropic_body, gemini_body, plans
from redraft.testing.strategies.texts import png, stock
from redraft.testing.strategies.texts import words as some_words
from redraft.tokens import Meter

Json = dict[str, Any]

PNG = png(640, 480).partition(",")[2]
NO_LIMIT = 10**9

texts = stock()
words = some_words()


class Letters:
    """A counter that is fast and never wrong: one token a character."""

    def count(self, text: str) -> int:
        return len(text)


@dataclass(frozen=True)
class World:
    """A dialect and the bodies it meets."""

    make: Callable[[], BlockDialect]
    body: Callable[[Plan], Json]

    def bodies(self, *, legal: bool = False) -> SearchStrategy[Json]:
        return plans(legal=legal).map(self.body)


WORLDS = {"anthropic": World(Anthropic, anthropic_body), "gemini": World(Gemini, gemini_body)}


def live_of(dialect: BlockDialect, body: Json) -> Live:
    frame, contents = dialect.split(body)
    return Live.start(dialect, Meter(Letters()), frame, contents)


def draft(live: Live, turn: Turn, data: DataObject) -> Draft | None:
    """What a random edit makes of one turn: None where it goes."""
    if data.draw(st.booleans(), label=f"delete {turn.number}"):
        return None
    content = turn.content
    text = data.draw(st.just(content.text) | texts | texts.map(lambda t: f"{content.text}{t}"))
    calls = [call for call in content.calls if data.draw(st.booleans(), label="keep call")]
    if calls and data.draw(st.booleans(), label="edit arguments"):
        new = data.draw(st.sampled_from(('{"command":"pwd"}', "{}", '{ "a" : 1 }', "[1")))
        calls[0] = replace(calls[0], arguments=new)
    parts = [part for part in content.parts if data.draw(st.booleans(), label="keep part")]
    written = live.dialect.write(content, text, calls, parts)
    return live.draft(written, edited_origin(turn))


def edited(live: Live, data: DataObject) -> Commit | None:
    """A random revision through the door; None where it was refused."""
    changes, inserts = [], []
    for turn in live.editable():
        if data.draw(st.integers(0, 2), label="touch") == 0:
            changes.append(Change(turn.number, turn.digest, draft(live, turn, data)))
        if data.draw(st.integers(0, 5), label="note") == 0:
            role = data.draw(st.sampled_from(("user", "assistant")))
            note = live.dialect.note(role, data.draw(words))
            inserts.append(Insert(turn.number, live.draft(note, Origin.NOTE)))
    revision = Revision("model", "file", tuple(changes), tuple(inserts), Gate.FIT)
    answer = commit(live, revision, NO_LIMIT)
    return answer if isinstance(answer, Commit) else None


def shown(contents: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a reader sees of turns."""
    return [
        (
            content.role,
            content.text,
            [(call.name, call.arguments) for call in content.calls],
            [part.label for part in content.parts],
            content.answers,
        )
        for content in contents
    ]


def wire(value: object) -> str:
    return json.dumps(value)


def blocks_of(messages: Sequence[Json], key: str) -> list[Any]:
    """All blocks of a list of messages, plain text left out."""
    return [block for m in messages if not isinstance(m[key], str) for block in m[key]]


def _is_call(block: Json) -> bool:
    return block.get("type") == "tool_use" or bool({"functionCall", "function_call"} & set(block))


def result_id(block: Json) -> Any:
    """What names the call that a result answers: an id, or the function where there is none."""
    if block.get("type") == "tool_result":
        return block["tool_use_id"]
    result = block.get("functionResponse") or block.get("function_response")
    return result and (result.get("id") or result["name"])


def _call_id(block: Json) -> Any:
    call = block.get("functionCall") or block.get("function_call") or block
    return call.get("id") or call["name"]


def faults(messages: list[Json], key: str) -> list[str]:
    """Where a list breaks the rule of both formats: the results of all calls stand right behind them,
    in one message, before any words, and nowhere else."""
    found = []
    for at, message in enumerate(messages):
        blocks = [] if isinstance(message[key], str) else message[key]
        before = messages[at - 1][key] if at and not isinstance(messages[at - 1][key], str) else []
        asked = sorted(_call_id(block) for block in before if _is_call(block))
        kinds = [result_id(block) is not None for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            found.append(f"{at}: words before a result")
        if sorted(result_id(block) for block in blocks if result_id(block)) != asked:
            found.append(f"{at}: {asked} unanswered or strangers answered")
    return found
