"""`sliding-window`: the oldest groups go, what is held stays, and it slides rarely and far."""

from __future__ import annotations

from typing import Any

from redraft.context import Commit, Live, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.dialects.preserve import Approval, approval_line
from redraft.policies import SlidingWindow, View
from redraft.tokens import Meter

CHAT = OpenAIChat()


class Words:
    """One token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def start(*messages: Any) -> Live:
    frame, contents = CHAT.split({"messages": list(messages)})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def said(at: int, words: int = 100) -> Any:
    return {"role": "assistant", "content": f"answer {at} {'w ' * words}"}


def result(name: str, text: str) -> list[Any]:
    call = {"id": name, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": text},
    ]


def slid(live: Live, limit: int, policy: SlidingWindow) -> Live:
    revision = policy.decide(View(live, limit))
    assert isinstance(revision, Revision)
    done = commit(live, revision, limit)
    assert isinstance(done, Commit), done.receipt
    return done.live


def test_it_waits_for_its_trigger() -> None:
    live = start(user("task"), *(said(at) for at in range(8)))
    assert SlidingWindow().decide(View(live, live.tokens * 100 // 74)) is None


def test_the_oldest_go_until_the_target_is_reached() -> None:
    live = start(user("task"), *(said(at) for at in range(8)))
    after = slid(live, live.tokens, SlidingWindow())
    assert [turn.number for turn in after.turns] == [1, 7, 8, 9]
    assert SlidingWindow().decide(View(after, live.tokens)) is None


def test_calls_go_with_their_results() -> None:
    pairs = [one for at in range(6) for one in result(f"c{at}", "w " * 100)]
    live = start(user("task"), *pairs, said(9))
    after = slid(live, live.tokens, SlidingWindow())
    calls = [call.id for turn in after.turns for call in turn.content.calls]
    assert calls == [turn.content.answers for turn in after.turns if turn.role == "tool"]
    assert 0 < len(calls) < 6


def test_system_constraints_pins_questions_and_approvals_stay() -> None:
    waits = f"{'w ' * 50}\n{approval_line(Approval('ap_1', 'push'))}"
    live = start(
        {"role": "system", "content": "Be kind."},
        user("task"),
        said(0),
        user("Never touch the main branch."),
        *result("c", waits),
        user("go on"),
        said(1),
        said(2),
        user("and now?"),
    ).pin([8])
    after = slid(live, 100, SlidingWindow(0.01, 0, keep=0))
    assert [turn.number for turn in after.turns] == [1, 2, 4, 5, 6, 8, 10]


def test_results_that_the_model_has_not_read_stay() -> None:
    live = start(user("task"), said(0), *result("c", "w " * 100))
    after = slid(live, 100, SlidingWindow(0.01, 0, keep=0))
    assert [turn.number for turn in after.turns] == [1, 3, 4]


def test_where_nothing_may_go_it_does_nothing() -> None:
    live = start(user("task " * 300), said(0))
    assert SlidingWindow().decide(View(live, 100)) is None
