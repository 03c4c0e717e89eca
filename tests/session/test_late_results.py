"""A client that owns its loop may be late, and a model's reasoning is bound to the very list that it was
made under: no server refuses what goes out, and what was sent stays as it was sent."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from late_world import FIELDS, Late, Turn
from session_world import balanced

from redraft.context import Origin, void
from redraft.dialects.frames import CONTINUE, FRAME, INTERRUPTED

formats = pytest.mark.parametrize("name", sorted(FIELDS))
both = pytest.mark.parametrize("whole", [True, False], ids=["request", "messages"])

LATE = [
    Turn(calls=1, now=0),  # nobody has its result yet, and the model goes on
    Turn(calls=1),
    Turn(calls=1, late=1),  # here it comes
    Turn(calls=1),
]


def said(messages: list[Any]) -> str:
    return json.dumps(messages)


def read(messages: list[Any]) -> list[Any]:
    """The list as a server reads it: it does not matter how blocks are spread over messages."""
    blocks: list[Any] = []
    for message in messages:
        key = "parts" if "parts" in message else "content"
        inner = message.get(key)
        spread = isinstance(inner, list) and message.get("type") is None
        blocks += [(message["role"], block) for block in inner] if spread else [message]
    return blocks


def grows(sent: list[list[Any]]) -> bool:
    """Whether each list goes on from the one before, so that a prefix cache serves all of it."""
    return all(read(new)[: len(read(old))] == read(old) for old, new in pairwise(sent))


def played(name: str, path: Path, script: list[Turn], **options: Any) -> Late:
    with Late(name, path, **options) as late:
        late.run(script)
        assert balanced(late.session)
        return late


@formats
@both
def test_a_late_result_is_told_behind_what_was_said_without_it(
    name: str, whole: bool, tmp_path: Path
) -> None:
    late = played(name, tmp_path, LATE, whole=whole)
    assert late.refused == []
    last = said(late.sent[-1])
    assert last.count(INTERRUPTED) == 1
    assert last.count("out call_1_0") == 1
    place = [last.index(words) for words in (INTERRUPTED, "step 2", FRAME[0], "out call_1_0")]
    assert place == sorted(place)
    assert grows(late.sent)


@both
def test_no_reasoning_is_lost_for_it(whole: bool, tmp_path: Path) -> None:
    late = played("anthropic", tmp_path, LATE, whole=whole)
    for number in range(1, 5):
        assert f"thought {number}" in said(late.sent[-1])
    assert not void(late.session.live)


@formats
def test_what_stood_in_for_a_result_is_a_turn_once_the_model_has_answered(
    name: str, tmp_path: Path
) -> None:
    with Late(name, tmp_path) as late:
        late.turn(LATE[0])
        late.view()
        assert all(turn.origin is Origin.ORIGINAL for turn in late.session.live.turns)
        late.turn(LATE[1])
        late.view()
        ours = [t for t in late.session.live.turns if t.origin is Origin.HARNESS]
        assert [(t.role, t.content.answers, t.content.text) for t in ours] == [
            ("tool", "call_1_0", INTERRUPTED)
        ]


@formats
def test_a_result_that_comes_before_the_model_goes_on_takes_its_place(
    name: str, tmp_path: Path
) -> None:
    with Late(name, tmp_path) as late:
        late.turn(Turn(calls=2, now=1))
        assert INTERRUPTED in said(late.view()[late.dialect.turns_field])
        late.answer("call_1_1")
        late.turn(Turn())
        assert late.refused == []
        assert INTERRUPTED not in said(late.sent[-1])
        assert FRAME[0] not in said(late.sent[-1])


@formats
def test_a_late_result_behind_the_last_word_is_no_reason_to_say_more(
    name: str, tmp_path: Path
) -> None:
    late = played(name, tmp_path, [Turn(calls=2, now=1), Turn(late=1), Turn(calls=1)])
    assert late.refused == []
    assert CONTINUE not in said(late.sent[-1])
    assert grows(late.sent)


@both
@pytest.mark.parametrize("early", ["words", "result"])
def test_what_joins_the_history_in_front_of_the_reply_was_not_in_its_request(
    whole: bool, early: str, tmp_path: Path
) -> None:
    script = [Turn(calls=1, now=0), Turn(calls=1, now=0, early=early), Turn(), Turn(calls=1)]
    late = played("anthropic", tmp_path, script, whole=whole)
    assert late.refused == []
    assert len(late.sent) == 5


@formats
def test_the_next_process_sends_it_as_the_last_one_did(name: str, tmp_path: Path) -> None:
    script = [*LATE[:2], Turn(calls=1, late=1, ends=True), Turn(calls=2, now=1), Turn(ends=True)]
    late = played(name, tmp_path, script)
    assert late.refused == []
    assert grows(late.sent)


def test_an_edit_that_is_taken_back_leads_to_the_very_list(tmp_path: Path) -> None:
    with Late("anthropic", tmp_path) as late:
        late.run([*LATE, Turn(), Turn(calls=1), Turn()])
        before = late.view()
        turns = late.session.live.turns
        late.session.edit_context(edits=[{"turn": turns[1].number, "text": "noted"}])
        assert late.view()["messages"] != before["messages"]
        late.session.undo(1)
        assert late.view() == before
        late.turn(Turn())
        assert late.refused == []


# -- whatever happens -------------------------------------------------------------------------------

rarely = st.integers(0, 5).map(lambda number: number == 0)
turns = st.builds(
    Turn,
    calls=st.integers(0, 3),
    now=st.sampled_from((7, 7, 0, 1, 2, 5)),
    late=st.integers(0, 2),
    thinks=st.integers(0, 3).map(bool),
    early=st.sampled_from(("", "", "", "words", "result")),
    words=rarely,
    asks=st.sampled_from((1, 1, 2)),
    edit=st.sampled_from((0, 0, 0, 1, 2, 5, 12)),
    undo=st.sampled_from((0, 0, 0, 1, 2)),
    ends=rarely,
    same=rarely,
    silent=rarely,
)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(FIELDS)), st.booleans(), st.lists(turns, min_size=2, max_size=7))
@example("anthropic", False, [Turn(calls=2, now=1, early="words"), Turn()])
@example(
    "anthropic", True, [Turn(calls=1, now=0, same=True), *LATE, Turn(calls=1, same=True, now=0)]
)
def test_no_server_refuses_what_a_late_client_sends(
    name: str, whole: bool, script: list[Turn]
) -> None:
    with TemporaryDirectory() as path, Late(name, Path(path), whole=whole) as late:
        late.run(script)
        assert late.refused == []
        assert late.session.live.recount() == late.session.live.tokens
        assert late.session.ledger.total().after is not None
