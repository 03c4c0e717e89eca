"""Any sequence of edits, by file, tool, policy or rollback, leaves a list that its provider takes.

The provider's side is `redraft.testing.judge`, which knows nothing of `redraft.dialects.rules`.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from fuzz_world import DIALECTS, dialect_of, list_of, live_of, wire
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.context import reconcile
from redraft.contextfile.format import Parsed, parse, render
from redraft.testing.edits import Play
from redraft.testing.strategies import conversations, edit_scripts, requests
from redraft.testing.trials import door_trial

Json = dict[str, Any]

every = pytest.mark.parametrize("name", DIALECTS)


def same_bytes(name: str, one: Json, other: Json) -> bool:
    """The list to the byte; the SDK decides where it stands among the other fields."""
    return one == other and wire(list_of(name, one)) == wire(list_of(name, other))


@every
@settings(max_examples=40)
@given(data=st.data())
def test_no_script_of_edits_yields_a_list_that_the_provider_refuses(
    name: str, data: st.DataObject
) -> None:
    assert door_trial(name, data.draw(requests(name)), data.draw(edit_scripts())) == []


@pytest.mark.slow
@every
@settings(max_examples=1500)
@given(data=st.data())
def test_no_long_script_of_edits_yields_a_list_that_the_provider_refuses(
    name: str, data: st.DataObject
) -> None:
    body = data.draw(requests(name, max_exchanges=3))
    assert door_trial(name, body, data.draw(edit_scripts(max_size=14))) == []


@every
@settings(max_examples=40)
@given(data=st.data())
def test_a_file_that_nobody_edited_is_the_same_turns(name: str, data: st.DataObject) -> None:
    """Rendering and parsing back, whatever stands in the texts: forged headers too."""
    field = dialect_of(name).turns_field
    live = live_of(name, {field: data.draw(conversations(name, max_exchanges=2))})
    window = live.editable()
    parsed = parse(render(window))
    assert isinstance(parsed, Parsed)
    assert [block.number for block in parsed.blocks] == [turn.number for turn in window]
    assert not reconcile(live, window, parsed.blocks)


@every
@settings(max_examples=25)
@given(data=st.data())
def test_a_file_whose_newlines_changed_is_the_same_turns(name: str, data: st.DataObject) -> None:
    live = live_of(name, data.draw(requests(name)))
    window = live.editable()
    parsed = parse(re.sub(rb"\r\n|\r|\n", b"\r\n", render(window)))
    assert isinstance(parsed, Parsed)
    assert not reconcile(live, window, parsed.blocks)


@every
@settings(max_examples=25)
@given(data=st.data())
def test_an_untouched_request_is_the_same_bytes(name: str, data: st.DataObject) -> None:
    body = data.draw(requests(name))
    assert same_bytes(name, live_of(name, body).body(), body)


@every
@settings(max_examples=25)
@given(data=st.data())
def test_undoing_everything_gives_the_same_bytes_back(name: str, data: st.DataObject) -> None:
    body = data.draw(requests(name))
    script = [step for step in data.draw(edit_scripts()) if step.kind not in ("append", "undo")]
    play = Play(live_of(name, body)).run(script)
    for done in reversed(list(play.commits)):
        play.take_back(done)
    assert same_bytes(name, play.live.body(), body)
