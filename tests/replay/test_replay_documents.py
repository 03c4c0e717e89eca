"""Formats that are one JSON value: tau-bench, ATIF, plain lists of messages; and what holds for all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replay_world import lines, read, replies, roles

from redraft.errors import RecordingError
from redraft.replay import FORMATS, Reported

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "x"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]}


# -- tau-bench ---------------------------------------------------------------------------------------


def test_tau_bench_results() -> None:
    run = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "out"},
    ]
    found = read(json.dumps([{"task_id": 0, "reward": 1.0, "traj": run}] * 2))
    assert (found.format, len(found.threads)) == ("tau-bench", 2)
    assert replies(found) == [2]


def test_tau2_simulations() -> None:
    run = [
        {"role": "user", "content": "hi", "turn_idx": 0},
        {
            "role": "assistant",
            "content": None,
            "turn_idx": 1,
            "cost": 0.25,
            "usage": {"prompt_tokens": 10, "completion_tokens": 2},
            "tool_calls": [{"id": "c1", "name": "get", "arguments": {"a": 1}}],
        },
        {"role": "tool", "id": "c1", "content": "out", "turn_idx": 2},
    ]
    found = read(json.dumps({"simulations": [{"messages": run}]}))
    assert found.threads[0].calls[0].reported == Reported(10, None, 0, 0, 2, 0.25)
    assert found.threads[0].messages[2]["tool_call_id"] == "c1"


def test_displayed_conversations() -> None:
    shown = "user: Hi\nthere\nassistant: None\ntool: {}\nassistant: Bye"
    found = read(lines({"messages_display": shown}))
    messages = found.threads[0].messages
    assert [message["content"] for message in messages] == ["Hi\nthere", None, "{}", "Bye"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]
    assert "without their tool calls" in found.notes[0]


def test_a_line_without_its_conversation_is_named() -> None:
    with pytest.raises(RecordingError, match="recording:2: there is no text `messages_display`"):
        read(lines({"messages_display": "user: a"}, {"messages_display": 3}))


# -- ATIF --------------------------------------------------------------------------------------------


def atif(*steps: Any) -> str:
    agent = {"name": "x", "version": "1", "model_name": "m"}
    return json.dumps({"schema_version": "ATIF-v1.4", "agent": agent, "steps": list(steps)})


def test_an_atif_trajectory() -> None:
    call = {"tool_call_id": "c1", "function_name": "ls", "arguments": {"a": 1}}
    results = [{"source_call_id": "c1", "content": "out"}, {"content": "also"}]
    metrics = {"prompt_tokens": 50, "completion_tokens": 6, "cached_tokens": 40, "cost_usd": 0.1}
    found = read(
        atif(
            {"step_id": 1, "source": "system", "message": "s"},
            {
                "step_id": 2,
                "source": "user",
                "message": "task",
                "timestamp": "2025-10-16T14:30:00Z",
            },
            {
                "step_id": 3,
                "source": "agent",
                "message": "so",
                "reasoning_content": "hm",
                "tool_calls": [call],
                "observation": {"results": results},
                "metrics": metrics,
                "timestamp": "2025-10-16T14:30:09Z",
            },
        )
    )
    assert (found.format, found.model) == ("atif", "m")
    assert roles(found) == ["system", "user", "assistant", "tool", "user"]
    assert found.threads[0].messages[2]["reasoning_content"] == "hm"
    only = found.threads[0].calls[0]
    assert only.reported == Reported(50, 40, 0, 0, 6, 0.1)
    assert only.at == 1_760_625_000.0, "sent when the step before it was there"


def test_a_call_behind_an_atif_steps_slow_tools_was_not_sent_when_they_started() -> None:
    steps = [
        {"step_id": at, "source": "agent", "message": "so", "timestamp": f"2025-10-16T14:{at}0:00Z"}
        for at in (1, 2)
    ]
    calls = read(atif({"step_id": 0, "source": "user", "message": "task"}, *steps)).threads[0].calls
    first, second = calls
    assert first.at is not None
    assert second.at is not None
    assert second.at - first.at == 600


def test_cache_writes_of_an_atif_step_stand_under_extra() -> None:
    extra = {
        "cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_1h_input_tokens": 7},
        "input_tokens": 1,
    }
    metrics = {"prompt_tokens": 50, "completion_tokens": 6, "cached_tokens": 40, "extra": extra}
    found = read(atif({"step_id": 1, "source": "agent", "message": "so", "metrics": metrics}))
    assert found.threads[0].calls[0].reported == Reported(50, 40, 9, 7, 6)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([], "`steps` is missing or empty"),
        ([{"step_id": 1, "message": "x"}], r"steps\[0\]: a step needs a `source`"),
    ],
)
def test_an_atif_file_that_lacks_something_is_named(steps: list[Any], says: str) -> None:
    with pytest.raises(RecordingError, match=says):
        read(atif(*steps))


# -- plain lists -------------------------------------------------------------------------------------

PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAIN),
        json.dumps({"messages": PLAIN, "model": "m"}),
        lines(*PLAIN),
        lines({"messages": PLAIN}),
        json.dumps([{"messages": PLAIN}]),
    ],
)
def test_plain_messages_in_any_wrapping(text: str) -> None:
    found = read(text)
    assert (found.format, roles(found), replies(found)) == ("messages", ["user", "assistant"], [1])


def test_anthropics_messages_are_plain_messages_too() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, USE]},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "and?"}]},
    ]
    found = read(json.dumps({"system": "s", "messages": messages}))
    assert roles(found) == ["system", "user", "assistant", "tool", "user"]
    assert found.threads[0].messages[2]["reasoning_content"] == "hm"
    assert found.threads[0].messages[3]["content"] == "out"


def test_a_message_that_is_none_is_named_by_line_or_place() -> None:
    with pytest.raises(
        RecordingError, match="recording:2: message 2: a user message has no `content`"
    ):
        read(lines(PLAIN[0], {"role": "user"}))
    with pytest.raises(RecordingError, match="message 2: a message is a str"):
        read(json.dumps([PLAIN[0], "x"]))


# -- all of them -------------------------------------------------------------------------------------


def test_every_format_says_what_it_holds() -> None:
    assert len({one.name for one in FORMATS}) == len(FORMATS) == 10
    assert all(one.holds for one in FORMATS)


def test_a_field_of_an_unexpected_kind_is_the_files_fault() -> None:
    with pytest.raises(RecordingError, match=r"^recording: "):
        read(json.dumps({"trajectory": [], "history": 3}))
