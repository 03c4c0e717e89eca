"""`offload`: bodies go to the store, pointers stay."""

from __future__ import annotations

from typing import Any

from redraft.context import Commit, Live, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.dialects.stubs import stubs_in
from redraft.policies import Offload, View
from redraft.policies.sliding_window import NOTHING_ELSE
from redraft.store import spills_of
from redraft.tokens import Meter

CHAT = OpenAIChat()


class Words:
    """One token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def rounds(*sizes: int) -> Live:
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for at, size in enumerate(sizes):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": f"{at} " * size})
    messages.append({"role": "assistant", "content": "done"})
    frame, contents = CHAT.split({"messages": messages})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def moved(live: Live, policy: Offload) -> Revision:
    revision = policy.decide(View(live, live.tokens))
    assert isinstance(revision, Revision)
    return revision


def test_old_bodies_become_pointers_down_to_the_target() -> None:
    live = rounds(*[300] * 8)
    revision = moved(live, Offload())
    assert [change.number for change in revision.changes] == [3, 5, 7, 9, 11]
    done = commit(live, revision, live.tokens)
    assert isinstance(done, Commit)
    pointers = [stub for turn in done.live.turns for stub in stubs_in(turn.content.text)]
    assert [(stub.tool, stub.call_id) for stub in pointers][:2] == [("cat", "c0"), ("cat", "c1")]


def test_every_body_is_named_for_the_store_before_it_leaves() -> None:
    live = rounds(*[300] * 8)
    revision = moved(live, Offload())
    assert [spill.body for spill in spills_of(revision, live)] == [
        f"{at} " * 300 for at in range(5)
    ]


def test_small_bodies_stay() -> None:
    live = rounds(10, 900, 900, 10, 10, 10)
    assert [one.number for one in moved(live, Offload(target=0)).changes] == [5, 7]


def test_below_its_trigger_it_does_nothing() -> None:
    live = rounds(*[300] * 8)
    assert Offload().decide(View(live, live.tokens * 2)) is None


def test_where_pointers_free_nothing_the_window_slides() -> None:
    revision = moved(rounds(*[100] * 9), Offload())
    assert revision.source == "offload"
    assert revision.notes == (NOTHING_ELSE,)
    assert all(change.new is None for change in revision.changes)
