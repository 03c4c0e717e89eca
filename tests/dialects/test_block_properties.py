"""What must always hold of both block formats, whatever is in the messages and whatever is edited."""

from __future__ import annotations

from typing import Any

import pytest
from block_world import (
    WORLDS,
    World,
    blocks_of,
    result_id,
    shown,
    texts,
    wire,
)
from hypothesis import given
from hypothesis import strategies as st

Json = dict[str, Any]

both = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))


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
        kinds = [result_id(block) is not None for block in message[dialect.blocks_field]]
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
