"""Live contexts that a test can write down, and what the context file would show of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.context import (
    Block,
    CallMark,
    Change,
    Commit,
    Draft,
    Insert,
    Live,
    Origin,
    Refusal,
    Revision,
    Turn,
    canonical,
    commit,
    mark,
    visible,
)
from redraft.dialects import Content, OpenAIChat
from redraft.tokens import Meter

CHAT = OpenAIChat()
PLENTY = 10**9
"""A limit that nothing reaches."""

Message = dict[str, Any]


class Words:
    """One token a word: sizes that a test can write down. A turn of n words costs n + 4."""

    def count(self, text: str) -> int:
        return len(text.split())


METER = Meter(Words())


def words(count: int, word: str = "w") -> str:
    return " ".join([word] * count)


def user(text: Any = "task") -> Message:
    return {"role": "user", "content": text}


def said(text: Any = "hello", **fields: Any) -> Message:
    return {"role": "assistant", "content": text, **fields}


def calls(*names: str, text: str | None = None, arguments: str = "{}", **fields: Any) -> Message:
    function = {"name": "bash", "arguments": arguments}
    asked = [{"id": name, "type": "function", "function": function} for name in names]
    return said(text, tool_calls=asked, **fields)


def result(name: str = "a", text: Any = "out") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def contents(*messages: Message) -> tuple[Content, ...]:
    return CHAT.split({"messages": list(messages)})[1]


def start(*messages: Message, head: int | None = None, meter: Meter = METER, **fields: Any) -> Live:
    frame, split = CHAT.split({"messages": list(messages), **fields})
    return Live.start(CHAT, meter, frame, split, head=head)


def grown(live: Live, *messages: Message) -> Live:
    return live.append(contents(*messages))


def turn(live: Live, number: int) -> Turn:
    return next(turn for turn in live.turns if turn.number == number)


def texts(live: Live) -> list[str]:
    return [turn.content.text for turn in live.turns]


def numbers(live: Live) -> list[int]:
    return [turn.number for turn in live.turns]


# -- proposals ------------------------------------------------------------------------------------


def note(live: Live, text: str, role: Any = "user", origin: Origin = Origin.NOTE) -> Draft:
    return live.draft(CHAT.note(role, text), origin)


def insert(live: Live, after: int, text: str, **fields: Any) -> Insert:
    return Insert(after, note(live, text, **fields))


def drop(live: Live, number: int) -> Change:
    return Change(number, turn(live, number).digest, None)


def edit(
    live: Live,
    number: int,
    text: str,
    calls: Sequence[int] | None = None,
    origin: Origin = Origin.EDITED,
) -> Change:
    """Another text for a turn; of its calls those with these indexes stay, by default all."""
    old = turn(live, number)
    kept = [c for c in old.content.calls if calls is None or c.index in calls]
    content = CHAT.write(old.content, text, kept, old.content.parts)
    return Change(number, old.digest, live.draft(content, origin))


def revise(
    live: Live, *steps: Change | Insert, author: Any = "model", limit: int = PLENTY, **fields: Any
) -> Commit | Refusal:
    changes = tuple(step for step in steps if isinstance(step, Change))
    inserts = tuple(step for step in steps if isinstance(step, Insert))
    return commit(live, Revision(author, "test", changes, inserts, **fields), limit)


def applied(answer: Commit | Refusal) -> Commit:
    assert isinstance(answer, Commit), answer.receipt
    return answer


def refused(answer: Commit | Refusal) -> Refusal:
    assert isinstance(answer, Refusal), answer.receipt
    return answer


# -- the context file, without the file -----------------------------------------------------------


def block(turn: Turn) -> Block:
    """A turn as the context file shows it."""
    content = turn.content
    return Block(
        "\n".join(canonical(visible(content.text))),
        turn.number,
        turn.role,
        tuple(CallMark(mark(c.id), mark(c.name), visible(c.arguments)) for c in content.calls),
        tuple(part.index + 1 for part in content.parts),
    )


def file(live: Live) -> list[Block]:
    return [block(turn) for turn in live.editable()]
