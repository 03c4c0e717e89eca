"""Recorded runs of real agents under random edits: legal, exact, and back again."""

from __future__ import annotations

from typing import Any

import pytest
from context_world import start
from edit_scripts import Step, play, steps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.context import Commit, Live, invert, obstacles, reconcile
from redraft.contextfile.format import Parsed, parse, render
from redraft.dialects import OPENAI_CHAT, check
from shared import RECORDINGS, recording

# The recordings are read once; hypothesis plays them again and again.
recorded = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def lives() -> dict[str, Live]:
    return {name: start(*recording(name)) for name in RECORDINGS}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_run_that_nobody_edits_is_no_revision(name: str, lives: dict[str, Live]) -> None:
    live = lives[name]
    parsed = parse(render(live.editable()))
    assert isinstance(parsed, Parsed)
    assert not reconcile(live, live.editable(), parsed.blocks)
    assert live.recount() == live.tokens


@pytest.mark.parametrize("name", RECORDINGS)
@recorded
@given(script=st.lists(steps, min_size=4, max_size=12))
def test_no_script_makes_it_illegal_or_loses_count(
    name: str, script: list[Step], lives: dict[str, Live]
) -> None:
    live = lives[name]
    run = play(live, script)
    for event in run.events:
        assert event.after.recount() == event.after.tokens
        if event.after.open_at == len(event.after.turns):
            assert check(event.after.body()["messages"], OPENAI_CHAT) == []
    assert _taken_back(run)[: len(live.turns)] == live.turns


def _taken_back(run: Any) -> Any:
    """The turns once every commit is taken back, newest first."""
    for done in reversed(list(run.commits)):
        assert not obstacles(run.live, done)
        assert isinstance(run.propose(invert(run.live, done), done), Commit)
    return run.live.turns
