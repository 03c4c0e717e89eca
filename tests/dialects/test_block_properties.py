"""What must always hold of both block formats, whatever is in the messages and whatever is edited."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from block_world import (
    NO_LIMIT,
    WORLDS,
    Exchange,
    Plan,
    Round,
    World,
    blocks_of,
    edited,
    live_of,
    shown,
    texts,
    wire,
)
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import Change, Commit, Origin, Revision, commit, groups, invert, obstacles

Json = dict[str, Any]

both = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))


def _is_call(block: Json) -> bool:
    return block.get("type") == "tool_use" or bool({"functionCall", "function_call"} & set(block))


def _result_id(block: Json) -> Any:
    """What names the call that a result answers: an id, or the function where there is none."""
    if block.get("type") == "tool_result":
        return block["tool_use_id"]
    result = block.get("functionResponse") or block.get("function_response")
    return result and (result.get("id") or result["name"])


def _call_id(block: Json) -> Any:
    call = block.get("functionCall") or block.get("function_call") or block
    return call.get("id") or call["name"]


def faults(messages: list[Json], key: str) -> list[str]:
    """Where a list breaks the rule of both formats: the results of all calls stand right behind them,
    in one message, before any words, and nowhere else."""
    found = []
    for at, message in enumerate(messages):
        blocks = [] if isinstance(message[key], str) else message[key]
        before = messages[at - 1][key] if at and not isinstance(messages[at - 1][key], str) else []
        asked = sorted(_call_id(block) for block in before if _is_call(block))
        kinds = [_result_id(block) is not None for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            found.append(f"{at}: words before a result")
        if sorted(_result_id(block) for block in blocks if _result_id(block)) != asked:
            found.append(f"{at}: {asked} unanswered or strangers answered")
    return found


@both
@given(data=st.data())
def test_an_untouched_request_is_the_same_bytes(world: World, data: st.DataObject) -> None:
    body = data.draw(world.bodies())
    before = wire(body)
    dialect = world.make()
    frame, contents = dialect.split(body)
    joined = dialect.join(frame, contents)
    assert wire(joined) == wire(body) == before


@both
@given(data=st.data())
def test_an_untouched_message_is_the_same_object_in_every_request(
    world: World, data: st.DataObject
) -> None:
    dialect = world.make()
    frame, contents = dialect.split(data.draw(world.bodies()))
    first = dialect.join(frame, contents)[dialect.turns_field]
    second = dialect.join(frame, contents)[dialect.turns_field]
    carriers = {id(native) for content in contents for native in content.carriers}
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert {id(message) for message in first} == carriers


@both
@given(data=st.data())
def test_splitting_what_was_joined_gives_the_same_turns(world: World, data: st.DataObject) -> None:
    dialect = world.make()
    frame, contents = dialect.split(data.draw(world.bodies()))
    again, once_more = dialect.split(dialect.join(frame, contents))
    assert again == frame
    assert shown(once_more) == shown(contents)
    assert [content.seat for content in once_more] == [content.seat for content in contents]


@both
@given(data=st.data())
def test_nobody_elses_change_reaches_a_message_that_was_split(
    world: World, data: st.DataObject
) -> None:
    body = data.draw(world.bodies())
    dialect = world.make()
    frame, contents = dialect.split(body)
    before = wire(dialect.join(frame, contents))
    _vandalise(body)
    assert wire(dialect.join(frame, contents)) == before


def _vandalise(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _vandalise(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            _vandalise(item)
        value.clear()


@both
@given(data=st.data())
def test_each_turn_can_be_left_out_or_moved_and_none_is_sent_twice(
    world: World, data: st.DataObject
) -> None:
    """`join` is total: whatever turns it is given, it sends each block of theirs once, and in a
    message that it makes itself no word stands before a result."""
    dialect = world.make()
    frame, contents = dialect.split(data.draw(world.bodies()))
    chosen = data.draw(st.permutations(contents))[: data.draw(st.integers(0, len(contents)))]
    messages = dialect.join(frame, chosen)[dialect.turns_field]
    sent = [id(block) for block in blocks_of(messages, dialect.blocks_field)]
    assert len(sent) == len(set(sent))
    wanted = [
        id(block)
        for c in chosen
        for block in dialect._own(c)
        if _came(c, block, dialect.blocks_field)
    ]
    assert sorted(sent) == sorted(wanted)
    carriers = {id(native) for content in contents for native in content.carriers}
    for message in (m for m in messages if id(m) not in carriers):
        kinds = [_result_id(block) is not None for block in message[dialect.blocks_field]]
        assert kinds == sorted(kinds, reverse=True)


def _came(content: Any, block: Json, key: str) -> bool:
    return any(block is one for native in content.carriers for one in native[key])


@both
@given(data=st.data())
def test_a_written_turn_shows_exactly_what_was_written(world: World, data: st.DataObject) -> None:
    dialect = world.make()
    _, contents = dialect.split(data.draw(world.bodies()))
    content = data.draw(st.sampled_from(contents))
    text = data.draw(texts | st.just(content.text[1:]))
    calls = [call for call in content.calls if data.draw(st.booleans())]
    parts = [part for part in content.parts if data.draw(st.booleans())]
    written = dialect.write(content, text, calls, parts)
    assert written.text == text
    assert [(call.id, call.arguments) for call in written.calls] == [
        (call.id, call.arguments) for call in calls
    ]
    assert [part.label for part in written.parts] == [part.label for part in parts]
    assert (written.role, written.answers) == (content.role, content.answers)


@both
@given(data=st.data())
def test_a_turn_written_as_it_was_is_itself(world: World, data: st.DataObject) -> None:
    dialect = world.make()
    _, contents = dialect.split(data.draw(world.bodies()))
    for content in contents:
        assert dialect.write(content, content.text, content.calls, content.parts) is content


@both
@given(data=st.data())
def test_what_stays_of_a_written_turn_is_the_very_block_it_was(
    world: World, data: st.DataObject
) -> None:
    dialect = world.make()
    _, contents = dialect.split(data.draw(world.bodies()))
    content = data.draw(st.sampled_from([c for c in contents if c.role != "tool"]))
    calls = [call for call in content.calls if data.draw(st.booleans())]
    written = dialect.write(content, "other words", calls, content.parts)
    old, new = dialect._own(content), dialect._own(written)
    changed = [block for block in new if not any(block is one for one in old)]
    assert all("text" in block for block in changed)
    assert len(changed) <= 1
    order = [next(at for at, one in enumerate(old) if one is b) for b in new if b not in changed]
    assert order == sorted(order)


@both
@given(data=st.data())
def test_without_its_reasoning_a_turn_shows_the_same(world: World, data: st.DataObject) -> None:
    dialect = world.make()
    _, contents = dialect.split(data.draw(world.bodies()))
    for content in contents:
        bare = dialect.without_reasoning(content)
        assert shown([bare]) == shown([content])
        assert not bare.hidden
        assert dialect.without_reasoning(bare) is bare
        assert (bare is content) == (
            content.role != "assistant"
            or all(one is other for one, other in zip(bare.carriers, content.carriers, strict=True))
        )


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
