"""JSON and structured payloads are kept whole or not at all, whoever takes them out of the context."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spectrum_world import Words, decided, eager, holds, start

from redraft.context import Live, Origin
from redraft.dialects import OpenAIChat
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import Piece, results_message
from redraft.dialects.stubs import OverflowStub, body_bytes, body_id, stubs_in
from redraft.policies import extract
from redraft.policies.units import units
from redraft.prompts import masked_result
from redraft.tokens import Meter

CHAT = OpenAIChat()
METER = Meter(Words())
NAMES = sorted(eager())

words = st.text(st.characters(codec="utf-8", exclude_characters="`~"), max_size=30)
json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)
payloads = st.builds(
    json.dumps,
    st.dictionaries(words, json_values, min_size=1, max_size=5) | st.lists(json_values, min_size=1),
    indent=st.sampled_from((None, 1, 4)),
    ensure_ascii=st.booleans(),
)
fences = st.builds(
    lambda mark, kind, lines: "\n".join((f"{mark}{kind}", *lines, mark)),
    st.sampled_from(("```", "~~~~")),
    st.sampled_from(("", "json", "python")),
    st.lists(st.text("ab{}[]\" :,\\'", max_size=30), max_size=5),
)
prose = st.lists(
    st.sampled_from(("It works.", "Row 8812934 failed!", "so", "You must never do this.")),
    min_size=1,
    max_size=6,
).map(" ".join)


def results(least: int, most: int) -> st.SearchStrategy[list[str]]:
    """Results of tools: a payload again and again, so that some of them are large."""
    return st.builds(
        lambda some, times: [f"{one}\n" * times for one in some],
        st.lists(payloads, min_size=least, max_size=most),
        st.integers(1, 60),
    )


def after(name: str, live: Live) -> Live:
    """The context after one step of a policy."""
    revision, _ = decided(eager()[name](), live, live.tokens, "good")
    return holds(live, revision, live.tokens) if revision else live


def shaped(pieces: list[str]) -> str:
    return "\n".join(f"Step {at} said so.\n{piece}" for at, piece in enumerate(pieces))


@settings(max_examples=60)
@given(st.lists(payloads | fences | prose, min_size=1, max_size=6), st.integers(1, 150))
def test_the_built_in_summarizer_never_cuts_a_payload(pieces: list[str], most: int) -> None:
    text = shaped(pieces)
    whole = [unit.text for unit in units(text) if unit.structured]
    found = extract(text, most, METER.text)
    assert METER.text(found) <= most
    kept = [unit.text for unit in units(found) if unit.structured]
    assert all(one in whole for one in kept)


@settings(max_examples=60)
@given(payloads, st.integers(0, 40), st.sampled_from(((), ("Facts", "Goals"))))
def test_a_payload_alone_is_kept_whole_or_gives_nothing(
    payload: str, most: int, sections: tuple[str, ...]
) -> None:
    found = extract(payload, most, METER.text, sections)
    assert not found or payload.strip() in found


@settings(max_examples=60)
@given(st.text(max_size=300), st.integers(0, 30))
def test_no_word_of_prose_is_cut_either(text: str, most: int) -> None:
    known = set(text.split())
    assert set(extract(text, most, METER.text).split()) <= known


def talked(bodies: list[str]) -> Any:
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for at, body in enumerate(bodies):
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat {at}"})}
        call = {"id": f"c{at}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": body},
        ]
    return {"messages": [*messages, {"role": "assistant", "content": "done"}]}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(results(1, 5))
def test_whatever_a_policy_does_a_result_stands_whole_or_is_a_stub_for_all_of_it(
    name: str, bodies: list[str]
) -> None:
    live = start(CHAT, talked(bodies), METER)
    for turn in after(name, live).turns:
        for call in turn.content.calls:
            assert json.loads(call.arguments)["command"].startswith("cat ")
        if turn.role != "tool":
            continue
        body = bodies[int((turn.content.answers or "c0")[1:])]
        text = turn.content.text
        if text == body:
            continue
        assert turn.origin is Origin.HARNESS
        stub = OverflowStub.parse(text)
        if stub is None:
            assert text == masked_result(live.turns[live.positions()[turn.number]].tokens)
        else:
            assert stub == OverflowStub(
                body_id(body), "bash", len(body_bytes(body)), turn.content.answers or "", "disk"
            )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(results(2, 4))
def test_on_the_fenced_route_a_result_goes_alone_and_its_neighbours_stay_as_they_are(
    name: str, bodies: list[str]
) -> None:
    fence = call_fence("bash", '{"command": "cat"}')
    pieces = [Piece(f"r1.{at + 1}", "bash", body) for at, body in enumerate(bodies)]
    said = {
        "role": "assistant",
        "content": "\n\n".join([f"look\n\n{fence}", *[fence] * (len(bodies) - 1)]),
    }
    messages = [{"role": "user", "content": "task"}, said, results_message(1, pieces)]
    body = {"messages": [*messages, {"role": "assistant", "content": "done"}]}
    live = start(Fenced(), body, METER)
    before = {turn.number: turn.content.text for turn in live.turns}
    changed = after(name, live)
    sent = "\n".join(message["content"] for message in changed.body()["messages"])
    for turn in changed.turns:
        assert turn.content.text.strip() in sent
        if turn.role == "tool" and turn.content.text != before[turn.number]:
            assert stubs_in(turn.content.text) or turn.content.text.startswith("[")
            assert len(turn.content.text.splitlines()) == 1
