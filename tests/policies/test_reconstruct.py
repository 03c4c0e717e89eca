"""A request from core, recent turns, memory and input: within its limit, legal, and with a stable start."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from spectrum_world import Words

from redraft.dialects import OpenAIChat, check, profile_of
from redraft.errors import BudgetError
from redraft.policies.reconstruct import Recalled, Reconstruction, Shares, reconstruct
from redraft.prompts.recalled import recalled_section
from redraft.testing.rehearsal import dialect_named
from redraft.testing.strategies import bodies, requests
from redraft.tokens import Meter

METER = Meter(Words())
LISTS = {
    "anthropic": "messages",
    "gemini": "contents",
    "openai-chat": "messages",
    "openai-responses": "input",
}
PAYLOADS = st.recursive(
    st.none() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
).map(lambda value: json.dumps(value, indent=1))
MEMORIES = st.lists(st.builds(Recalled, bodies() | PAYLOADS, st.text(max_size=8)), max_size=6).map(
    tuple
)
SHARES = st.sampled_from([Shares(), Shares(0, 1), Shares(0.7, 0.1), Shares(0, 0)])


def made(
    recent: Mapping[str, Any],
    limit: int,
    *,
    memories: Sequence[Recalled] = (),
    dialect: str = "openai-chat",
    shares: Shares | None = None,
    core: str = "Work with care.",
) -> Reconstruction:
    return reconstruct(
        core,
        "Mend the port.",
        limit=limit,
        memories=memories,
        recent=recent,
        shares=shares,
        dialect=dialect_named(dialect),
        meter=METER,
    )


def fitting(recent: Mapping[str, Any], limit: int, **more: Any) -> Reconstruction:
    """One that can be made at all."""
    try:
        return made(recent, limit, **more)
    except BudgetError:
        assume(False)
        raise


def counted(request: Mapping[str, Any], dialect: str) -> int:
    frame, contents = dialect_named(dialect).split(request)
    return METER.frame(frame) + sum(map(METER.content, contents))


def before_memory(one: Reconstruction, dialect: str) -> str:
    """The request without its last carrier, as it goes over the wire."""
    body = dict(one.request)
    body[LISTS[dialect]] = list(body[LISTS[dialect]])[:-1]
    return json.dumps(body)


every = pytest.mark.parametrize("dialect", sorted(LISTS))


@every
@settings(max_examples=40, deadline=None)
@given(data=st.data(), limit=st.integers(0, 700), memories=MEMORIES, shares=SHARES)
def test_it_fits_its_limit_and_every_part_its_room_and_the_sum_is_exact(
    dialect: str, data: Any, limit: int, memories: tuple[Recalled, ...], shares: Shares
) -> None:
    recent = data.draw(requests(dialect))
    one = fitting(recent, limit, memories=memories, dialect=dialect, shares=shares)
    assert one.tokens == sum(part.tokens for part in one.parts) <= limit
    assert all(part.tokens <= part.room for part in one.parts)
    assert counted(one.request, dialect) == one.tokens
    assert [part.part for part in one.parts] == ["core", "recent", "memory", "input"]
    assert one.stable == one.parts[0].tokens + one.parts[1].tokens


@every
@settings(max_examples=40, deadline=None)
@given(data=st.data(), limit=st.integers(50, 2_000), memories=MEMORIES)
def test_what_goes_before_the_memory_does_not_depend_on_it(
    dialect: str, data: Any, limit: int, memories: tuple[Recalled, ...]
) -> None:
    recent = data.draw(requests(dialect))
    one = fitting(recent, limit, memories=memories, dialect=dialect)
    other = made(recent, limit, memories=memories[::-1][:1], dialect=dialect)
    without = made(recent, limit, dialect=dialect)
    start = before_memory(without, dialect)
    assert before_memory(one, dialect) == before_memory(other, dialect) == start
    assert one.stable == other.stable == without.stable


@every
@settings(max_examples=25, deadline=None)
@given(data=st.data(), limit=st.integers(50, 2_000), memories=MEMORIES)
def test_the_same_arguments_make_the_same_bytes_and_change_nothing(
    dialect: str, data: Any, limit: int, memories: tuple[Recalled, ...]
) -> None:
    recent = data.draw(requests(dialect))
    before = json.dumps(recent)
    one = fitting(recent, limit, memories=memories, dialect=dialect)
    other = made(json.loads(before), limit, memories=memories, dialect=dialect)
    assert json.dumps(one.request) == json.dumps(other.request)
    assert one.as_dict() == other.as_dict()
    assert json.dumps(recent) == before


@every
@settings(max_examples=40, deadline=None)
@given(data=st.data(), limit=st.integers(50, 700))
def test_a_legal_conversation_makes_a_legal_request(dialect: str, data: Any, limit: int) -> None:
    recent = data.draw(requests(dialect))
    one = fitting(recent, limit, memories=[Recalled("the port is 5433")], dialect=dialect)
    frame, _ = dialect_named(dialect).split(one.request)
    profile = profile_of(dialect_named(dialect), frame=frame)
    assume(not check(recent[LISTS[dialect]], profile))
    assert check(one.request[LISTS[dialect]], profile) == []


@settings(max_examples=60, deadline=None)
@given(memories=MEMORIES, limit=st.integers(20, 900))
def test_a_memory_is_there_whole_or_named_with_the_reason(
    memories: tuple[Recalled, ...], limit: int
) -> None:
    """So no payload of one ever ends inside a token or a string."""
    one = fitting({"messages": []}, limit, memories=memories, shares=Shares(0, 0.9))
    text = one.request["messages"][-1]["content"]
    assert text.endswith("Mend the port.")
    used = one.parts[2].count
    assert used + len(one.left_out) == len(memories)
    assert sum(memory.text in text for memory in memories) >= used
    assert all(left.why for left in one.left_out)


@given(st.lists(st.tuples(st.text(), st.text("`note \n")), min_size=1, max_size=4))
def test_no_note_can_close_its_fence(notes: list[tuple[str, str]]) -> None:
    section = recalled_section(notes)
    fence = section.split("\n\n", 1)[1].split("note", 1)[0]
    assert len(fence) >= 3
    assert set(fence) == {"`"}
    assert all(fence not in text and f"\n{text}\n{fence}" in section for _, text in notes)


def say(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


TALK = [
    say("system", "You are an engineer."),
    say("user", "one " * 40),
    say("assistant", "first answer"),
    say("user", "two"),
    say("assistant", "second answer"),
]


class TestWhatIsLeftOut:
    def test_the_newest_turns_stay_and_begin_with_the_users(self) -> None:
        one = made({"messages": TALK}, 100)
        assert [message["content"] for message in one.request["messages"]] == [
            "You are an engineer.\n\nWork with care.",
            "two",
            "second answer",
            "Mend the port.",
        ]
        assert [(left.part, left.why) for left in one.left_out] == [
            ("recent", "the newest turns fill the 40 tokens that recent turns may take"),
            ("recent", "it answers what is not there"),
        ]

    def test_the_task_and_what_the_user_lays_down_stay_with_the_newest_of_long_work(self) -> None:
        work: list[dict[str, Any]] = [say("user", "Read the logs."), say("assistant", "ok")]
        work += [say("user", "Never touch keep.txt."), say("assistant", "ok")]
        work += [say("user", "Mend the tests.")]
        for at in range(30):
            function = {"name": "bash", "arguments": "{}"}
            call = {"id": f"c{at}", "type": "function", "function": function}
            work.append({"role": "assistant", "content": None, "tool_calls": [call]})
            work.append({"role": "tool", "tool_call_id": f"c{at}", "content": f"{at} " * 9})
        one = made({"messages": work}, 400)
        words = [message["content"] for message in one.request["messages"] if message["content"]]
        assert words[:3] == ["Work with care.", "Never touch keep.txt.", "Mend the tests."]
        assert words[-3:] == ["28 " * 9, "29 " * 9, "Mend the port."]
        assert "Read the logs." not in words
        assert all("fill the 160 tokens" in left.why for left in one.left_out)

    def test_calls_without_results_stay_behind(self) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        waiting = {"role": "assistant", "content": None, "tool_calls": [call]}
        one = made({"messages": [*TALK, say("user", "go"), waiting]}, 1_000)
        assert [message["role"] for message in one.request["messages"]][-2:] == ["user", "user"]
        assert "no results" in one.left_out[0].why

    def test_a_memory_that_stands_there_already_is_not_said_twice(self) -> None:
        memories = [Recalled("second answer", "m1"), Recalled("port 5433", "m2"), Recalled("port")]
        one = made({"messages": TALK}, 1_000, memories=memories)
        assert [left.what for left in one.left_out] == ["m1", "port"]
        assert one.parts[2].count == 1

    def test_one_that_is_too_large_makes_room_for_a_smaller_one(self) -> None:
        memories = [Recalled("large " * 200, "m1"), Recalled("port 5433", "m2")]
        one = made({"messages": []}, 400, memories=memories)
        assert "port 5433" in one.request["messages"][-1]["content"]
        [left] = one.left_out
        assert (left.what, left.tokens) == ("m1", 260)
        assert left.why == "it does not fit whole; 80 of 80 tokens for memories are left"

    def test_core_and_input_that_do_not_fit_are_an_error_with_the_sizes(self) -> None:
        with pytest.raises(BudgetError, match="more than the limit of 9; raise the limit"):
            made({"messages": TALK}, 9)

    @pytest.mark.parametrize(("recent", "memory"), [(-0.1, 0.2), (0.6, 0.5), (float("nan"), 0.1)])
    def test_shares_that_cannot_be_had_are_an_error(self, recent: float, memory: float) -> None:
        with pytest.raises(BudgetError, match="cannot both be had"):
            Shares(recent, memory)


@every
def test_without_recent_turns_it_is_a_request_of_every_format(dialect: str) -> None:
    one = reconstruct("Care.", "Hello.", limit=100, dialect=dialect_named(dialect), meter=METER)
    assert len(one.request[LISTS[dialect]]) in (1, 2)
    assert one.parts[1].count == 0


def test_without_anything_but_an_input_it_is_that() -> None:
    one = reconstruct("", "Hello.", limit=100)
    assert one.request == {"messages": [say("user", "Hello.")]}
    assert one.left_out == ()
    assert one.tokens == Meter().frame(OpenAIChat().split(one.request)[0]) + one.parts[3].tokens
