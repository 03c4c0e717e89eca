"""The shipped strategies make what they say, and the checks of the fake servers agree with the rules."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fuzz_world import DIALECTS, list_of, profile, wire
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.dialects import check, repair
from redraft.testing import complaints
from redraft.testing.strategies import broken_lists, conversations, requests

Json = dict[str, Any]

every = pytest.mark.parametrize("name", DIALECTS)


@every
@settings(max_examples=40)
@given(data=st.data())
def test_a_legal_request_is_taken_by_the_server_and_breaks_no_rule(
    name: str, data: st.DataObject
) -> None:
    body = data.draw(requests(name))
    assert complaints(name, body) == []
    assert check(list_of(name, body), profile(name)) == []


@every
@settings(max_examples=30)
@given(data=st.data())
def test_repairing_a_legal_list_returns_the_same_object(name: str, data: st.DataObject) -> None:
    messages = list_of(name, data.draw(requests(name)))
    assert repair(messages, profile(name)) is messages


@every
@settings(max_examples=60)
@given(data=st.data())
def test_a_repaired_list_breaks_no_rule_and_is_repaired_only_once(
    name: str, data: st.DataObject
) -> None:
    messages = data.draw(broken_lists(name))
    before = copy.deepcopy(messages)
    once = repair(messages, profile(name))
    assert messages == before, "a repair works on a copy"
    assert check(once, profile(name)) == []
    assert repair(once, profile(name)) is once


@every
@settings(max_examples=60)
@given(data=st.data())
def test_the_server_takes_a_repaired_list(name: str, data: st.DataObject) -> None:
    messages = repair(data.draw(broken_lists(name)), profile(name))
    if messages:
        assert complaints(name, _around(name, messages)) == []


@every
@settings(max_examples=40)
@given(data=st.data())
def test_whatever_the_server_refuses_breaks_a_rule(name: str, data: st.DataObject) -> None:
    messages = data.draw(broken_lists(name))
    if messages and complaints(name, _around(name, messages)):
        assert check(messages, profile(name)) != []


def _around(name: str, messages: Any) -> Json:
    body = {"model": "m", "max_tokens": 9}
    body[{"gemini": "contents", "openai-responses": "input"}.get(name, "messages")] = messages
    return body


@every
@settings(max_examples=15)
@given(data=st.data())
def test_a_test_may_spoil_what_it_was_given(name: str, data: st.DataObject) -> None:
    strategy = conversations(name, max_exchanges=1)
    messages = data.draw(strategy)
    _vandalise(messages)
    assert "spoilt" not in wire(data.draw(strategy))


def _vandalise(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _vandalise(item)
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            _vandalise(item)
        value.append("spoilt")


def test_an_unknown_format_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match="no wire format is named 'morse'; name one of anthropic"):
        conversations("morse")
