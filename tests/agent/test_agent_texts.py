"""Texts that must be fit to send."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from redraft.agent.texts import mended, usable_text
from redraft.errors import SettingsError

ANY_TEXT = st.text(st.characters())
"""Also with lone surrogates."""
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
)


def can_be_sent(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@given(ANY_TEXT)
def test_a_text_is_used_as_it_is_or_refused(text: str) -> None:
    try:
        used = usable_text("the task", text)
    except SettingsError:
        assert not text.strip() or "\0" in text or not can_be_sent(text)
    else:
        assert used is text
        assert can_be_sent(text)


@given(ANY_JSON)
def test_a_mended_reply_can_be_sent_back_and_a_good_one_is_the_same_object(reply: Any) -> None:
    result = mended(reply)
    assert can_be_sent(result)
    if can_be_sent(reply):
        assert result is reply


def completion(text: str) -> ChatCompletion:
    message = {"role": "assistant", "content": text, "reasoning_content": "kept"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return ChatCompletion.construct(
        id="1", choices=[choice], created=0, model="m", object="chat.completion"
    )


def test_an_object_of_the_sdk_is_mended_with_all_its_fields() -> None:
    good = completion("fine")
    assert mended(good) is good
    result: Any = mended(completion("half \ud83d"))
    assert result["choices"][0]["message"]["content"] == "half \N{REPLACEMENT CHARACTER}"
    assert result["choices"][0]["message"]["reasoning_content"] == "kept"
