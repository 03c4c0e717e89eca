"""A small context with tool results, on a native route or a fenced one, and the tools applied to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redraft.context import Commit, Live, Refusal, commit
from redraft.dialects import OpenAIChat
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import Piece, results_message
from redraft.tokens import Meter
from redraft.tools import Intent, Outline, PinBoard, Planned, intent_of, revision_of
from redraft.tools.intents import ReadIntent, StatusIntent

CHAT = OpenAIChat()
FENCED = Fenced()
Message = dict[str, Any]


class Words:
    """One token a word; a turn of n words costs n + 4."""

    def count(self, text: str) -> int:
        return len(text.split())


def start(*messages: Any, dialect: OpenAIChat = CHAT) -> Live:
    frame, contents = dialect.split({"messages": list(messages)})
    return Live.start(dialect, Meter(Words()), frame, contents)


def system(text: str = "rules of the house") -> Message:
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str | None, *ids: str, tool: str = "bash") -> Message:
    calls = [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": "{}"}}
        for name in ids
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def result(name: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def body(word: str, count: int = 300) -> str:
    """A result of so many words, each its own."""
    return " ".join(f"{word}{at}" for at in range(count))


def native() -> Live:
    """A task, three results in two rounds, an answer."""
    return start(
        system(),
        user("find the fault"),
        said("looking", "call_1", "call_2"),
        result("call_1", body("alpha")),
        result("call_2", body("beta")),
        said(None, "call_3"),
        result("call_3", body("gamma")),
        said("it is in gamma"),
        user("thanks"),
        said("you are welcome"),
    )


def fenced_said(text: str, count: int = 1, tool: str = "bash") -> Message:
    fences = [call_fence(tool, json.dumps({"command": f"ls {at}"})) for at in range(count)]
    return {"role": "assistant", "content": "\n\n".join((text, *fences))}


def fenced_results(number: int, *texts: str) -> Message:
    pieces = [Piece(f"r{number}.{at}", "bash", text) for at, text in enumerate(texts, start=1)]
    return results_message(number, pieces)


def fenced() -> Live:
    """The same on a fenced route."""
    return start(
        system(),
        user("find the fault"),
        fenced_said("looking", 2),
        fenced_results(1, body("alpha"), body("beta")),
        fenced_said("looking further"),
        fenced_results(2, body("gamma")),
        said("it is in gamma"),
        user("thanks"),
        said("you are welcome"),
        dialect=FENCED,
    )


def intended(name: str, **arguments: Any) -> Intent:
    intent = intent_of(name, arguments)
    assert not isinstance(intent, Outline), intent.text
    return intent


def planned(live: Live, name: str, board: PinBoard | None = None, **arguments: Any) -> Planned:
    """What a call comes to."""
    intent = intended(name, **arguments)
    assert not isinstance(intent, (StatusIntent, ReadIntent))
    return revision_of(intent, live, board or PinBoard())


def done(live: Live, plan: Planned) -> Live:
    """The context once the door has let it in."""
    assert plan.revision is not None, plan.declined
    answer = commit(live, plan.revision, 10**9)
    assert isinstance(answer, Commit), answer.receipt
    return answer.live


def refused(live: Live, plan: Planned, limit: int = 10**9) -> Refusal:
    assert plan.revision is not None
    answer = commit(live, plan.revision, limit)
    assert isinstance(answer, Refusal)
    return answer


def why(plan: Planned) -> dict[str, str]:
    return {item.handle: item.why for item in plan.declined}


def texts(live: Live) -> list[str]:
    return [turn.content.text for turn in live.turns]


def outputs(live: Live) -> list[str]:
    return [turn.content.text for turn in live.turns if turn.role == "tool"]


def pinned(live: Live, numbers: Sequence[int]) -> Live:
    return live.pin(numbers)
