"""`append-only`: nothing is ever changed. And the least that a policy is: a view in, an answer out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from summary_world import CHAT, start

from redraft.context import Insert, Origin, Revision
from redraft.policies import AppendOnly, Need, Policy, Summarize, View
from redraft.testing.strategies import conversations


@given(conversations(), st.integers(1, 10_000))
def test_append_only_never_changes_anything(messages: Any, limit: int) -> None:
    policy: Policy = AppendOnly()
    assert policy.name == "append-only"
    assert policy.decide(View(start(*messages), limit)) is None


def test_a_policy_that_needs_a_summary_asks_and_is_asked_again() -> None:
    """The shape of a policy with a need: no model is called to decide."""

    class Summary:
        name = "summary"

        def decide(self, view: View) -> Revision | Need | None:
            if "old" not in view.given:
                return Summarize("old", view.live.turns[1].content.text, max_tokens=50)
            note = view.live.draft(CHAT.note("assistant", view.given["old"]), Origin.SUMMARY)
            return Revision("policy", self.name, (), (Insert(1, note),))

    policy: Policy = Summary()
    live = start({"role": "user", "content": "task"}, {"role": "assistant", "content": "old words"})
    assert policy.decide(View(live, 100)) == Summarize("old", "old words", 50)
    answer = policy.decide(View(live, 100, {"old": "in short"}))
    assert isinstance(answer, Revision)
    assert answer.inserts[0].new.content.text == "in short"
