"""The one door over both block formats: whatever is edited, whole groups and legal lists are left."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from block_world import (
    NO_LIMIT,
    WORLDS,
    World,
    edited,
    faults,
    live_of,
    shown,
    texts,
    wire,
)
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import Change, Commit, Origin, Revision, commit, groups, invert, obstacles
from redraft.testing.strategies import Exchange, Plan, Round

Json = dict[str, Any]

both = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))


@both
@given(data=st.data())
def test_any_edits_leave_whole_groups_with_their_results_first_in_one_message(
    world: World, data: st.DataObject
) -> None:
    dialect = world.make()
    live = live_of(dialect, data.draw(world.bodies(legal=True)))
    first = live
    key = dialect.blocks_field
    natives = [native for turn in live.turns for native in turn.content.carriers]
    copies = copy.deepcopy(natives)
    commits: list[Commit] = []
    for _ in range(data.draw(st.integers(1, 3))):
        done = edited(live, data)
        if done is not None:
            commits.append(done)
            live = done.live
        messages = live.body()[dialect.turns_field]
        assert faults(messages, key) == []
        assert live.recount() == live.tokens
        _untouched_are_the_same(first, live, messages)
        again = live_of(dialect, live.body())
        assert _merged(shown(t.content for t in again.turns)) == _merged(
            shown(t.content for t in live.turns)
        )
    assert natives == copies
    for done in reversed(commits):
        assert not obstacles(live, done)
        answer = commit(live, invert(live, done), NO_LIMIT)
        assert isinstance(answer, Commit)
        live = answer.live
    assert all(one is other for one, other in zip(live.turns, first.turns, strict=True))
    assert wire(live.body()) == wire(first.body())


def _untouched_are_the_same(before: Any, after: Any, messages: list[Json]) -> None:
    """A message none of whose turns changed, with no stranger among them, is sent as it came."""
    standing = {id(turn) for turn in after.turns}
    by_carrier: dict[int, list[bool]] = {}
    for turn in before.turns:
        for native in turn.content.carriers:
            by_carrier.setdefault(id(native), []).append(id(turn) in standing)
    places = {id(turn): at for at, turn in enumerate(after.turns)}
    sent = {id(message) for message in messages}
    for turn in before.turns:
        own = turn.content.carriers[0]
        family = [t for t in before.turns if t.content.carriers[0] is own]
        if all(by_carrier[id(own)]):
            seats = [places[id(t)] for t in family]
            if seats == list(range(seats[0], seats[0] + len(seats))):
                assert id(own) in sent


def _merged(turns: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Neighbours of the model's as one turn, as a server reads them; a note beside a turn is one.

    Labels of calls without an id count within a turn, so only the names of those are compared.
    """
    merged: list[tuple[Any, ...]] = []
    for role, text, calls, parts, answers in turns:
        if role == "assistant" and merged and merged[-1][0] == "assistant":
            _, old, old_calls, old_parts, _ = merged[-1]
            merged[-1] = (
                role,
                "".join((old + text).split()),
                old_calls + calls,
                old_parts + parts,
                None,
            )
        else:
            name = None if answers is None else str(answers).partition("#")[0]
            merged.append((role, "".join(text.split()), calls, parts, name))
    return merged


@both
@given(data=st.data())
def test_results_of_one_round_are_sent_in_one_message_that_stays_the_same_object(
    world: World, data: st.DataObject
) -> None:
    dialect = world.make()
    live = live_of(dialect, data.draw(world.bodies()))
    heads = [turn for turn in live.turns if turn.content.calls]
    if not heads:
        return
    calls = heads[-1].content.calls
    answer = dialect.write(heads[-1].content, "again", calls, ())
    results = [dialect.result(call, data.draw(texts)) for call in calls]
    live = live.append([dialect.note("user", "more"), answer]).append(results)
    last = live.body()[dialect.turns_field][-1]
    assert len(last[dialect.blocks_field]) == len(calls)
    live = live.append([dialect.note("user", "and now?")])
    messages = live.body()[dialect.turns_field]
    assert messages[-2] is last
    assert list(groups(live.turns))[-2].open_calls == ()


@both
@given(data=st.data())
def test_an_emptied_result_whose_call_stands_is_a_stub_in_the_same_message(
    world: World, data: st.DataObject
) -> None:
    dialect = world.make()
    live = live_of(dialect, data.draw(world.bodies(legal=True)))
    editable = {turn.number for turn in live.editable()}
    results = [turn for turn in live.turns if turn.role == "tool" and turn.number in editable]
    if not results:
        return
    turn = data.draw(st.sampled_from(results))
    answer = commit(
        live, Revision("model", "file", (Change(turn.number, turn.digest, None),)), NO_LIMIT
    )
    assert isinstance(answer, Commit)
    stub = next(t for t in answer.live.turns if t.number == turn.number)
    assert stub.origin is Origin.HARNESS
    assert faults(answer.live.body()[dialect.turns_field], dialect.blocks_field) == []


# -- one of each kind, by example ----------------------------------------------------------------


def _round(*results: str, also: str = "") -> Round:
    calls = [
        {"id": f"toolu_{at}", "name": "bash", "input": {"n": at}} for at in range(len(results))
    ]
    return Round("looking", "hm", False, False, calls, list(results), False, also, False)


def _worked(world: World, turn: Round) -> Any:
    plan = Plan([Exchange("task", False, [turn], "done"), Exchange("thanks", False, [], "welcome")])
    return live_of(world.make(), world.body(plan))


def _change(live: Any, at: int, new: Any) -> Change:
    turn = live.turns[at]
    return Change(turn.number, turn.digest, new and live.draft(new, Origin.EDITED))


def _committed(live: Any, *changes: Change) -> Any:
    answer = commit(live, Revision("model", "file", changes), NO_LIMIT)
    assert isinstance(answer, Commit), answer.receipt
    return answer.live


def _seen(live: Any) -> list[tuple[str, str]]:
    return [(turn.role, turn.content.text) for turn in live.turns]


@both
def test_words_that_came_with_results_stay_when_the_group_goes(world: World) -> None:
    live = _worked(world, _round("a", "b", also="also this"))
    after = _committed(live, _change(live, 1, None))
    assert _seen(after)[:3] == [("user", "task"), ("user", "also this"), ("assistant", "done")]
    assert faults(after.body()[after.dialect.turns_field], after.dialect.blocks_field) == []


@both
def test_a_result_that_was_rewritten_while_its_call_went_stays_as_framed_text(world: World) -> None:
    live = _worked(world, _round("a", "b"))
    dialect, head = live.dialect, live.turns[1].content
    after = _committed(
        live,
        _change(live, 1, dialect.write(head, "looking", head.calls[1:], ())),
        _change(live, 2, dialect.write(live.turns[2].content, "a, in short", (), ())),
    )
    assert _seen(after)[1:4] == [
        ("assistant", "looking"),
        ("tool", "b"),
        ("user", "[tool output, kept as text]\na, in short\n[end of tool output]"),
    ]
    assert after.turns[3].origin is Origin.TOOL
    messages = after.body()[dialect.turns_field]
    assert faults(messages, dialect.blocks_field) == []
    assert len(messages[2][dialect.blocks_field]) == 1


@both
def test_an_edit_and_its_undo_send_the_same_objects_again(world: World) -> None:
    live = _worked(world, _round("a", "b", also="also this"))
    before = live.body()[live.dialect.turns_field]
    answer = commit(
        live,
        Revision(
            "model",
            "file",
            (_change(live, 3, live.dialect.write(live.turns[3].content, "c", (), ())),),
        ),
        NO_LIMIT,
    )
    assert isinstance(answer, Commit)
    edited_ = answer.live.body()[live.dialect.turns_field]
    same = [one is other for one, other in zip(before, edited_, strict=True)]
    assert same == [True, True, False, True, True, True]
    undone = commit(answer.live, invert(answer.live, answer), NO_LIMIT)
    assert isinstance(undone, Commit)
    after = undone.live.body()[live.dialect.turns_field]
    assert all(one is other for one, other in zip(before, after, strict=True))


@both
def test_the_words_of_an_unanswered_user_stay_whatever_becomes_of_the_results(world: World) -> None:
    plan = Plan([Exchange("task", False, [_round("a", also="and this?")], None)])
    live = live_of(world.make(), world.body(plan))
    assert live.turns[3].role == "user"
    after = _committed(live, _change(live, 1, None), _change(live, 3, None))
    assert _seen(after) == [("user", "task"), ("user", "and this?")]
    assert len(after.body()[after.dialect.turns_field]) == 2
