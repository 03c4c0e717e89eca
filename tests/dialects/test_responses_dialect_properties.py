"""What must always hold of the Responses dialect, whatever is in `input` and whatever is edited."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from block_world import NO_LIMIT, Letters, edited, shown, texts, wire, words
from hypothesis import given
from hypothesis import strategies as st
from responses_world import RESPONSES, bodies, faults, inputs, pairs_of

from redraft.context import Change, Commit, Live, Origin, Revision, commit, invert, obstacles
from redraft.dialects import Content
from redraft.errors import DialectError
from redraft.tokens import Meter

Json = dict[str, Any]

WORDLESS = ("computer_call_output", "tool_search_output", "mcp_approval_response")


def live_of(body: Json) -> Live:
    frame, contents = RESPONSES.split(body)
    return Live.start(RESPONSES, Meter(Letters()), frame, contents)


def carriers(contents: Sequence[Content]) -> list[Any]:
    return [native for content in contents for native in content.carriers]


def type_of(content: Content) -> str:
    return str(content.carriers[0].get("type", "message"))


@given(bodies())
def test_an_untouched_request_is_the_same_bytes(body: Json) -> None:
    before = wire(body)
    frame, contents = RESPONSES.split(body)
    assert wire(RESPONSES.join(frame, contents)) == wire(body) == before


@given(bodies())
def test_an_untouched_item_is_the_same_object_in_every_request(body: Json) -> None:
    frame, contents = RESPONSES.split(body)
    first, second = (RESPONSES.join(frame, contents)["input"] for _ in range(2))
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert all(one is other for one, other in zip(first, carriers(contents), strict=True))


@given(bodies())
def test_splitting_what_was_joined_gives_the_same_turns(body: Json) -> None:
    frame, contents = RESPONSES.split(body)
    again, once_more = RESPONSES.split(RESPONSES.join(frame, contents))
    assert again == frame
    assert shown(once_more) == shown(contents)


@given(bodies())
def test_nobody_elses_change_reaches_an_item_that_was_split(body: Json) -> None:
    frame, contents = RESPONSES.split(body)
    before = wire(RESPONSES.join(frame, contents))
    _vandalise(body)
    assert wire(RESPONSES.join(frame, contents)) == before


def _vandalise(value: Any) -> None:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            _vandalise(item)
        value.clear()


@given(bodies())
def test_a_run_of_the_models_items_is_one_turn(body: Json) -> None:
    _, contents = RESPONSES.split(body)
    roles = [content.role for content in contents]
    assert all(pair != ("assistant", "assistant") for pair in pairwise(roles))
    assert all(len(c.carriers) == 1 for c in contents if c.role != "assistant")


@given(bodies())
def test_calls_and_parts_are_numbered_in_their_order(body: Json) -> None:
    for content in RESPONSES.split(body)[1]:
        assert [call.index for call in content.calls] == list(range(len(content.calls)))
        assert [part.index for part in content.parts] == list(range(len(content.parts)))


@given(bodies())
def test_a_turn_written_as_it_was_is_itself(body: Json) -> None:
    for content in RESPONSES.split(body)[1]:
        assert RESPONSES.write(content, content.text, content.calls, content.parts) is content


@given(st.data())
def test_a_written_turn_shows_what_was_asked(data: st.DataObject) -> None:
    _, contents = RESPONSES.split(data.draw(bodies()))
    editable = [c for c in contents if c.role != "system" and type_of(c) not in WORDLESS]
    content = data.draw(st.sampled_from(editable))
    text = data.draw(texts | st.just(content.text[1:]))
    calls = [call for call in content.calls if data.draw(st.booleans())]
    parts = [part for part in content.parts if data.draw(st.booleans())]
    written = RESPONSES.write(content, text, calls, parts)
    assert written.text == text
    asked = [(call.id, call.arguments) for call in calls]
    assert [(call.id, call.arguments) for call in written.calls] == asked
    assert [part.label for part in written.parts] == [part.label for part in parts]
    assert (written.role, written.answers) == (content.role, content.answers)


@given(st.data())
def test_what_stays_of_a_written_turn_is_the_very_item_it_was_less_at_most_its_id(
    data: st.DataObject,
) -> None:
    _, contents = RESPONSES.split(data.draw(bodies()))
    turns = [content for content in contents if content.role == "assistant"]
    content = data.draw(st.sampled_from(turns))
    calls = [call for call in content.calls if data.draw(st.booleans())]
    new = RESPONSES.write(content, "other words", calls, content.parts).carriers
    old = list(content.carriers)
    strangers = [item for item in new if not any(item is one for one in old)]
    bare = [{k: v for k, v in item.items() if k != "id"} for item in old]
    changed = [item for item in strangers if item not in bare]
    assert all(item["role"] == "assistant" and "id" not in item for item in changed)
    assert sum("other words" in wire(item) for item in new) == 1


@given(st.data())
def test_writing_never_leaves_reasoning_or_an_id_without_its_other_half(
    data: st.DataObject,
) -> None:
    items = data.draw(inputs())
    pairs = pairs_of(items)
    _, contents = RESPONSES.split({"input": items})
    content = data.draw(st.sampled_from([c for c in contents if c.role == "assistant"]))
    calls = [call for call in content.calls if data.draw(st.booleans())]
    parts = [part for part in content.parts if data.draw(st.booleans())]
    written = RESPONSES.write(content, data.draw(texts), calls, parts)
    found = faults(written.carriers, pairs)
    assert [fault for fault in found if "following item" in fault] == []
    orphans = {fault.split()[0] for fault in found if "without its reasoning" in fault}
    assert not orphans & {item.get("id") for item in written.carriers if _free(item)}


def _free(item: Any) -> bool:
    return item.get("type", "message") in (
        "message",
        "function_call",
        "custom_tool_call",
        "shell_call",
    )


@given(bodies())
def test_without_its_reasoning_a_turn_shows_the_same(body: Json) -> None:
    pairs = pairs_of(body["input"])
    for content in RESPONSES.split(body)[1]:
        bare = RESPONSES.without_reasoning(content)
        assert shown([bare]) == shown([content])
        assert RESPONSES.without_reasoning(bare) is bare
        assert not any("reasoning" in f or "following" in f for f in faults(bare.carriers, pairs))
        if content.role == "assistant" and not content.parts and not _needs_its_id(content):
            assert not any(item.get("type") == "reasoning" for item in bare.carriers)


def _needs_its_id(content: Content) -> bool:
    bound = ("computer_call", "local_shell_call", "mcp_approval_request")
    return any(item.get("type") in bound for item in content.carriers)


@given(st.data())
def test_any_edits_through_the_door_leave_a_list_that_the_server_takes(data: st.DataObject) -> None:
    body = data.draw(bodies(legal=True))
    pairs = pairs_of(body["input"])
    assert faults(body["input"], pairs) == []
    live = first = live_of(body)
    natives = carriers([turn.content for turn in live.turns])
    copies = copy.deepcopy(natives)
    commits: list[Commit] = []
    for _ in range(data.draw(st.integers(1, 3))):
        done = edited(live, data)
        if done is not None:
            commits.append(done)
            live = done.live
        items = live.body()["input"]
        bound = [f for f in faults(items, pairs) if not _is_served(f)]
        assert bound == []
        assert live.recount() == live.tokens
        untouched = [t.content for t in live.turns if any(t is one for one in first.turns)]
        assert {id(native) for native in carriers(untouched)} <= {id(item) for item in items}
    assert natives == copies
    for done in reversed(commits):
        assert not obstacles(live, done)
        answer = commit(live, invert(live, done), NO_LIMIT)
        assert isinstance(answer, Commit)
        live = answer.live
    assert wire(live.body()) == wire(body)


def _is_served(fault: str) -> bool:
    """An item of the server's own tools keeps its id whatever goes: the API takes it with no other."""
    return "without its reasoning" in fault and not fault.startswith(("msg_", "fc_", "ctc_", "sh_"))


@given(st.data())
def test_an_emptied_result_whose_call_stands_stays_an_answer(data: st.DataObject) -> None:
    body = data.draw(bodies(legal=True))
    live = live_of(body)
    editable = {turn.number for turn in live.editable()}
    results = [turn for turn in live.turns if turn.role == "tool" and turn.number in editable]
    if not results:
        return
    turn = data.draw(st.sampled_from(results))
    revision = Revision("model", "file", (Change(turn.number, turn.digest, None),))
    answer = commit(live, revision, NO_LIMIT)
    assert isinstance(answer, Commit)
    stub = next(t for t in answer.live.turns if t.number == turn.number)
    assert stub.origin is Origin.HARNESS
    assert (type_of(stub.content), stub.content.answers) == (
        type_of(turn.content),
        turn.content.answers,
    )
    assert faults(answer.live.body()["input"], pairs_of(body["input"])) == []


@given(words, st.lists(bodies(), min_size=1, max_size=2))
def test_the_section_is_added_once_however_often_asked(section: str, requests: list[Json]) -> None:
    section = f"[section] {section}"
    for body in requests:
        for instructions in ("Help.", None):
            frame, contents = RESPONSES.split({**body, "instructions": instructions})
            told = RESPONSES.instruct(frame, contents, section)
            assert wire(RESPONSES.join(*told)).count("[section]") == 1
            assert RESPONSES.instruct(*told, section) == told


_KEYS = ("id", "call_id", "role", "content", "output", "name", "arguments", "action", "summary")
_TYPES = ("message", "reasoning", "function_call", "computer_call_output", "shell_call_output", "x")
_LEAVES = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(("", "rs_1", "user"))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("type"), inner),
    max_leaves=4,
)
_JUNK = st.builds(
    lambda fields, kind: {"type": kind, **fields},
    st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4),
    st.sampled_from(_TYPES) | _VALUES,
)


@given(st.lists(_JUNK, max_size=3))
def test_junk_is_refused_or_goes_out_as_it_came(items: list[Json]) -> None:
    try:
        frame, contents = RESPONSES.split({"input": items})
    except DialectError:
        return
    assert wire(RESPONSES.join(frame, contents)) == wire({"input": items})
    for content in contents:
        RESPONSES.without_reasoning(RESPONSES.write(content, "other", (), ()))
