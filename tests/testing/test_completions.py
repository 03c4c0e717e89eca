"""The fake server's bodies: prefixes, streams, halves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.testing.completions import (
    chat_completion,
    common_prefix,
    prefix_tokens,
    rendering,
    stream_events,
    usage,
)
from redraft.testing.faults import OVERFLOWS, cut_message

MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text()}),
    max_size=5,
)


def count(request: Mapping[str, Any]) -> int:
    return 3 + sum(len(message["content"]) for message in request["messages"])


@given(st.binary(), st.binary(), st.binary())
def test_the_common_prefix_is_where_the_first_difference_is(
    start: bytes, left: bytes, right: bytes
) -> None:
    length = common_prefix(start + left, start + right)
    one, other = start + left, start + right
    assert one[:length] == other[:length]
    assert length in (len(one), len(other)) or one[length] != other[length]


@given(MESSAGES)
def test_a_whole_rendering_costs_what_the_request_costs(messages: list[dict[str, str]]) -> None:
    request = {"model": "m", "messages": messages}
    assert prefix_tokens(request, len(b"".join(rendering(request))), count) == count(request)


@given(MESSAGES, st.data())
def test_a_longer_prefix_never_costs_less(
    messages: list[dict[str, str]], data: st.DataObject
) -> None:
    request = {"model": "m", "messages": messages}
    length = len(b"".join(rendering(request)))
    shorter = data.draw(st.integers(0, length))
    longer = data.draw(st.integers(shorter, length))
    assert (
        0
        <= prefix_tokens(request, shorter, count)
        <= prefix_tokens(request, longer, count)
        <= count(request)
    )


@given(MESSAGES, MESSAGES)
def test_whole_messages_in_the_prefix_are_counted_exactly(
    old: list[dict[str, str]], new: list[dict[str, str]]
) -> None:
    request = {"model": "m", "messages": old + new}
    before = {"model": "m", "messages": old}
    equal = len(b"".join(rendering(before)))
    assert prefix_tokens(request, equal, count) == count(before)


def test_other_tools_leave_nothing_of_the_messages_in_the_prefix() -> None:
    messages = [{"role": "user", "content": "x" * 1000}]
    one = b"".join(rendering({"model": "m", "messages": messages}))
    request = {"model": "m", "tools": [{"type": "function"}], "messages": messages}
    equal = common_prefix(one, b"".join(rendering(request)))
    assert prefix_tokens(request, equal, count) < 3


@given(st.text(), st.dictionaries(st.text(min_size=1), st.text(), max_size=3), st.booleans())
def test_the_pieces_of_a_stream_make_the_whole_message(
    text: str, arguments: dict[str, str], with_usage: bool
) -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": text, "tool_calls": [call]}
    whole = chat_completion(1, "m", message, "tool_calls", usage(5, 2, 3))
    lines = b"".join(stream_events(whole, with_usage=with_usage)).split(b"\n\n")
    assert lines[-2:] == [b"data: [DONE]", b""]
    events = [json.loads(line.removeprefix(b"data: ")) for line in lines[:-2]]
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == text
    pieces = [part for delta in deltas for part in delta.get("tool_calls", ())]
    assert "".join(part["function"]["arguments"] for part in pieces) == json.dumps(arguments)
    assert [event["usage"] for event in events if "usage" in event] == (
        [whole["usage"]] if with_usage else []
    )


def test_a_cut_halves_the_text() -> None:
    assert cut_message({"content": "abcd"}) == {"content": "ab"}
    assert cut_message({"content": None}) == {"content": ""}


def test_a_cut_halves_the_arguments_of_the_last_call_and_leaves_the_message_alone() -> None:
    calls = [{"id": str(n), "function": {"name": "f", "arguments": "{}12"}} for n in (1, 2)]
    message = {"content": "kept", "tool_calls": calls}
    cut = cut_message(message)
    assert [call["function"]["arguments"] for call in cut["tool_calls"]] == ["{}12", "{}"]
    assert cut["content"] == "kept"
    assert calls[1]["function"] == {"name": "f", "arguments": "{}12"}


@pytest.mark.parametrize("server", sorted(OVERFLOWS))
def test_every_overflow_is_a_client_error_in_json(server: str) -> None:
    answer = OVERFLOWS[server](9000, 8192)
    assert answer.status == 400
    json.loads(answer.body)
