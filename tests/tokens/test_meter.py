from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from token_texts import recordings, texts

from redraft.dialects.base import Call, Content, Frame, Part
from redraft.tokens import (
    CALL_TOKENS,
    FRAME_TOKENS,
    TURN_TOKENS,
    Meter,
    TiktokenCounter,
    default_counter,
    family_factor,
    image_tokens,
)
from redraft.tokens.memory import RememberingCounter


class Characters:
    """Counts a token a character, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text)


calls = st.builds(Call, st.text(), st.text(), texts)
parts = st.builds(Part, st.sampled_from(["image", "file"]), st.text(), st.just(9), st.just(9))
contents = st.builds(
    Content,
    st.just("assistant"),
    texts,
    st.lists(calls, max_size=3).map(tuple),
    st.lists(parts, max_size=2).map(tuple),
    hidden=texts,
)


@given(contents)
def test_a_turn_costs_the_sum_of_what_it_sends(content: Content) -> None:
    meter = Meter(Characters())
    bare = Content(content.role, content.text)
    assert meter.content(bare) == TURN_TOKENS + len(content.text)
    assert meter.content(content) == (
        meter.content(bare)
        + len(content.hidden)
        + sum(CALL_TOKENS + len(call.arguments) for call in content.calls)
        + sum(meter.content(Content("user", "", parts=(part,))) for part in content.parts)
        - TURN_TOKENS * len(content.parts)
    )


@given(st.lists(contents, max_size=4))
def test_a_recount_from_nothing_agrees_with_the_remembered_counts(turns: list[Content]) -> None:
    meter = Meter(TiktokenCounter())
    first = sum(map(meter.content, turns))
    assert sum(map(meter.content, turns)) == first
    assert sum(map(Meter(TiktokenCounter()).content, turns)) == first


def test_ids_and_names_are_in_a_calls_fixed_cost_so_that_renaming_one_changes_nothing() -> None:
    meter = Meter(Characters())
    short = Content("assistant", "", (Call("a", "ls", "{}"),))
    long = Content("assistant", "", (Call("call_" + "9" * 40, "list_directory", "{}"),))
    assert meter.content(short) == meter.content(long) == TURN_TOKENS + CALL_TOKENS + 2


def test_a_frame_costs_its_tools_and_schemas_and_the_start_of_the_reply() -> None:
    meter = Meter(Characters())
    assert meter.frame(Frame()) == FRAME_TOKENS
    assert meter.frame(Frame({"tools": []}, ("12345", "123"))) == FRAME_TOKENS + 2 * TURN_TOKENS + 8


def test_reasoning_that_is_sent_but_never_shown_is_counted() -> None:
    meter = Meter(Characters())
    assert meter.content(Content("assistant", "x", hidden="thought")) == TURN_TOKENS + 8


def test_an_image_costs_by_its_size_whatever_its_base64_weighs() -> None:
    payload = "data:image/png;base64," + "iVBORw0K" * 190_000
    carrier = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": payload}}]}
    turn = Content("user", "", parts=(Part("image", "image", 800, 600),), carriers=(carrier,))
    assert Meter().content(turn) == TURN_TOKENS + image_tokens(800, 600)


def test_the_fixed_costs_add_up_to_a_recorded_openai_request() -> None:
    # gpt-4o-mini reported 29 input tokens for exactly these two messages.
    meter = Meter()
    turns = [
        Content("system", "You are a helpful math assistant. Give short answers."),
        Content("user", "What is 2+2?"),
    ]
    assert meter.frame(Frame()) + sum(map(meter.content, turns)) == 29


def test_the_default_counter_is_the_processes_own() -> None:
    assert Meter().counter is default_counter()
    assert Meter() == Meter()


def test_a_text_is_counted_once_however_long() -> None:
    counter = Characters()
    meter = Meter(counter)
    schema = "tool " * 5_000
    assert meter.frame(Frame(counted=(schema,))) == meter.frame(Frame(counted=(schema,)))
    assert meter.text("ok") == meter.text("ok") == 2
    assert counter.asked == 2


def test_a_long_text_is_not_kept_alive() -> None:
    meter = Meter(Characters())
    text = "".join(["output "] * 1_000)
    holders = sys.getrefcount(text)
    meter.text(text)
    assert sys.getrefcount(text) == holders


def test_texts_that_differ_only_in_a_lone_surrogate_are_told_apart() -> None:
    memory = RememberingCounter(TiktokenCounter())
    padding = "x" * 200
    assert memory.count(padding + "\ud800") == memory.count(padding + "\udfff")
    assert memory.count(padding + "\ud800") != memory.count(padding)


def test_only_so_many_counts_are_remembered_and_the_least_used_go_first() -> None:
    counter = Characters()
    memory = RememberingCounter(counter, size=2)
    for text in ("a", "bb", "a", "ccc", "a"):
        memory.count(text)
    assert counter.asked == 3
    memory.count("bb")
    assert counter.asked == 4


def test_many_threads_may_share_a_meter() -> None:
    meter = Meter(Characters())
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(n for n in range(6_000) if meter.text("x" * (n % 300)) != n % 300)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_recorded_claude_session_grows_by_no_more_than_the_careful_count() -> None:
    path = next(p for p in recordings() if "large-session" in p.name)
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    messages = [line["message"] for line in lines if line["type"] == "message"]
    reported, counted = _growth(messages, Meter())
    careful = counted * family_factor("claude-sonnet-4-5")
    assert 0.8 * careful < reported < careful


def _growth(messages: list[dict[str, Any]], meter: Meter) -> tuple[int, int]:
    """Prompt tokens that the server saw added between requests, and our raw count of them."""
    reported = counted = pending = before = 0
    for message in messages:
        if usage := message.get("usage"):
            prompt = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
            if before and prompt > before:
                reported += prompt - before
                counted += pending
            before, pending = prompt, 0
        pending += meter.content(_turn(message["content"]))
    return reported, counted


def _turn(blocks: list[dict[str, Any]]) -> Content:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = tuple(
        Call(block["id"], block["name"], json.dumps(block["arguments"], ensure_ascii=False))
        for block in blocks
        if block["type"] == "toolCall"
    )
    images = tuple(Part("image", "image") for block in blocks if block["type"] == "image")
    return Content("assistant", text, calls, images)


@pytest.mark.parametrize("text", ["", "x", "hello world", "a" * 10_000])
def test_text_alone_has_no_framing(text: str) -> None:
    assert Meter(Characters()).text(text) == len(text)
