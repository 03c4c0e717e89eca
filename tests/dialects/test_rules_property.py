"""Over every profile: a repair is legal, final, minimal, and keeps what people said."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.dialects import OPENAI_CHAT, OPENAI_RESPONSES, check, repair
from redraft.dialects.rules import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    MISTRAL,
    PROFILES,
    STRICT_CHAT,
    Profile,
)
from redraft.testing.refusals import complaints
from redraft.testing.strategies import broken_lists, legal_conversations

Messages = list[Any]

FIELDS = {"anthropic": "messages", "gemini": "contents", "openai-responses": "input"}
ENDS = {"user-last", "user-ends"}
"""Rules on the end alone, which a list that is still growing need not keep."""
FEW = settings(max_examples=25)

every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)


def body(profile: Profile, messages: Messages) -> Any:
    fields = {"model": "m", "max_tokens": 1}
    return {**fields, FIELDS.get(profile.dialect, "messages"): messages}


@every_profile
@FEW
@given(data=st.data())
def test_whatever_happened_to_a_list_its_repair_is_legal(
    profile: Profile, data: st.DataObject
) -> None:
    messages = data.draw(broken_lists(profile.dialect))
    before = copy.deepcopy(messages)
    done = repair(messages, profile)
    assert check(done, profile) == []
    assert repair(done, profile) is done
    assert messages == before
    json.dumps(done, ensure_ascii=False).encode()
    # A second opinion, which shares nothing with the rules. Mistral took `tool_calls: []`, as recorded.
    if done and profile is not MISTRAL:
        assert complaints(profile.dialect, body(profile, list(done))) == []


@pytest.mark.parametrize(
    "profile",
    [OPENAI_CHAT, STRICT_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI],
    ids=lambda profile: profile.name,
)
@FEW
@given(data=st.data())
def test_a_list_that_servers_take_is_left_alone(profile: Profile, data: st.DataObject) -> None:
    messages = data.draw(legal_conversations(profile.dialect))
    assert {violation.rule for violation in check(messages, profile)} <= ENDS
    done = repair(messages, profile)
    assert all(one is other for one, other in zip(messages, done, strict=False))
    assert len(done) <= len(messages) + 1


@every_profile
@FEW
@given(data=st.data())
def test_what_people_said_is_still_there(profile: Profile, data: st.DataObject) -> None:
    messages = data.draw(broken_lists(profile.dialect))
    sent = json.dumps(repair(messages, profile), ensure_ascii=False)
    for message in messages:
        if message.get("role") == "user":
            for text in words(message):
                assert json.dumps(text, ensure_ascii=False)[1:-1] in sent


def words(message: Any) -> Iterator[str]:
    """The texts of a user's message that hold anything, as UTF-8 can hold them; results are not words."""
    content = message.get("content", message.get("parts"))
    members = [{"text": content}] if isinstance(content, str) else content or []
    for member in [members] if isinstance(members, dict) else members:
        text = member.get("text")
        if isinstance(text, str) and text.strip() and member.get("thought") is not True:
            yield re.sub("[\ud800-\udfff]", "\ufffd", text)


@every_profile
@FEW
@given(data=st.data())
def test_checking_what_is_new_finds_what_checking_the_whole_finds(
    profile: Profile, data: st.DataObject
) -> None:
    """The list was legal once; its end was changed; only the change is looked at."""
    legal = list(repair(data.draw(broken_lists(profile.dialect)), profile))
    at = data.draw(st.integers(0, len(legal)))
    changed = legal[:at] + data.draw(broken_lists(profile.dialect))[at:]
    start = profile.boundary(changed, at)
    assert start <= at
    assert places(check(changed, profile, start)) == places(check(changed, profile))


def places(violations: Any) -> set[tuple[str, int]]:
    return {(violation.rule, violation.at) for violation in violations}


@pytest.mark.parametrize(
    "profile", [p for p in PROFILES if p is not BEDROCK], ids=lambda profile: profile.name
)
@FEW
@given(data=st.data())
def test_a_list_that_grows_keeps_its_repaired_beginning(
    profile: Profile, data: st.DataObject
) -> None:
    """So far as an exchange is closed, nothing that comes later changes what was sent."""
    first = data.draw(legal_conversations(profile.dialect))
    second = data.draw(legal_conversations(profile.dialect))
    whole = [*first, *second]
    known = profile.boundary(whole, len(first))
    one = stripped(repair(whole[:known], profile.without(*ends(profile))))
    assert stripped(repair(whole, profile))[: max(len(one) - 1, 0)] == one[: max(len(one) - 1, 0)]


def ends(profile: Profile) -> list[Any]:
    return [rule for rule in profile.rules if rule.name in ENDS | {"last"}]


def stripped(value: Any) -> Any:
    """Without cache marks: the oldest go when there are too many, and no cache looks at them."""
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if key != "cache_control"}
    return [stripped(item) for item in value] if isinstance(value, (list, tuple)) else value
