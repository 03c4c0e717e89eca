"""What tests of single policies share: a context of words, a long talk, good answers to what they ask."""

from __future__ import annotations

from typing import Any

from redraft.context import Live, Revision
from redraft.dialects import OpenAIChat
from redraft.policies import Policy, Summarize, View
from redraft.tokens import Meter

CHAT = OpenAIChat()


class Words:
    """One token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def start(*messages: Any) -> Live:
    frame, contents = CHAT.split({"messages": list(messages)})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def talk() -> Live:
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for at in range(10):
        text = f"answer {at} on commit 3f2a91c07be{at} {'w ' * 100}"
        messages.append({"role": "assistant", "content": text})
    messages.append({"role": "user", "content": "and now?"})
    return start(*messages)


def asked_by(policy: Policy, live: Live) -> Summarize:
    need = policy.decide(View(live, live.tokens))
    assert isinstance(need, Summarize)
    return need


def decided_by(policy: Policy, live: Live, answer: str) -> Revision:
    """What it proposes once its question has this answer."""
    given = {asked_by(policy, live).key: answer}
    revision = policy.decide(View(live, live.tokens, given))
    assert isinstance(revision, Revision)
    return revision


def good(need: Summarize) -> str:
    """A summary of the shape that was asked for."""
    return "\n".join(["all went well", *(f"## {name}\n- well" for name in need.sections)])
