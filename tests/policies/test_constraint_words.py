"""Which words of a user lay something down, so that no policy lets them go."""

from __future__ import annotations

import pytest
from spectrum_world import Words, start

from redraft.dialects import OpenAIChat
from redraft.policies.audit import states_constraint
from redraft.tokens import Meter


def held(text: str, role: str = "user") -> bool:
    body = {"messages": [{"role": "user", "content": "task"}, {"role": role, "content": text}]}
    return states_constraint(start(OpenAIChat(), body, Meter(Words())).turns[1])


@pytest.mark.parametrize(
    "text",
    [
        "Never write to /etc.",
        "Don\N{RIGHT SINGLE QUOTATION MARK}t delete backups.",
        "It is forbidden to use sudo.",
        "From now on call me Anna.",
        "Keep the file small, at most 10 KB.",
        "Only use port 5433.",
        "Avoid recursion.",
        "I prefer short answers.",
        "Leave the tests alone.",
    ],
)
def test_what_lays_something_down_is_held(text: str) -> None:
    assert held(text)
    assert not held(text, "assistant")


@pytest.mark.parametrize("text", ["Go on.", "What does the log say?", "Thanks, that works."])
def test_what_lays_nothing_down_may_go(text: str) -> None:
    assert not held(text)


def test_a_long_text_is_not_held_for_a_common_word() -> None:
    assert not held("The only row of the export. " * 40)
    assert held("The only row of the export. " * 40 + "You must read it.")
