"""Recorded runs of real agents, untouched: the same objects and the same bytes."""

from __future__ import annotations

import pytest
from chat_world import contents, joined, wire

from redraft.dialects import OPENAI_CHAT, check, repair
from shared import RECORDINGS, recording


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_goes_out_as_it_came_in(name: str) -> None:
    messages = recording(name)
    split = contents(*messages)
    sent = joined(split)
    assert wire(sent) == wire(messages)
    assert all(content.carriers == (native,) for content, native in zip(split, sent, strict=True))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_is_legal_as_it_is(name: str) -> None:
    messages = recording(name)
    assert check(messages, OPENAI_CHAT) == []
    assert repair(messages, OPENAI_CHAT) is messages
