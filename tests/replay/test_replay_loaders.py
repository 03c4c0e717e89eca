"""Agents' own logs, by small files made here: what becomes of messages, calls and usage."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replay_world import (
    SESSION,
    claude_row,
    lines,
    pi_answer,
    pi_result,
    pi_user,
    read,
    replies,
    roles,
)

from redraft.cost import Cause
from redraft.errors import RecordingError
from redraft.replay import Reported

# -- pi --------------------------------------------------------------------------------------------


def test_a_pi_session() -> None:
    found = read(
        lines(
            SESSION,
            pi_user("look"),
            pi_answer("so", (3, 50, 0, 1_684), 10, ["c1", "c2"]),
            pi_result("c1", "out"),
            pi_result("c2", "more"),
            pi_answer("done", (7, 20, 1_684, 300), 20),
        )
    )
    assert (found.format, found.model) == ("pi", "claude-sonnet-4-5")
    assert roles(found) == ["user", "assistant", "tool", "tool", "assistant"]
    assert replies(found) == [1, 4]
    first, second = found.threads[0].calls
    assert first.reported == Reported(1_687, 0, 1_684, 0, 50)
    assert second.reported == Reported(1_991, 1_684, 300, 0, 20)
    assert (second.at or 0) - (first.at or 0) == 10
    assert second.line == 6


def test_what_pi_broke_off_before_anything_came_is_no_call() -> None:
    found = read(
        lines(
            SESSION,
            pi_user("a"),
            pi_answer("", None, 1),
            pi_user("b"),
            pi_answer("c", (1, 1, 0, 0), 2),
        )
    )
    assert roles(found) == ["user", "user", "assistant"]
    assert "1 calls were broken off" in found.notes[0]


def test_calls_of_an_aborted_answer_were_never_sent_back() -> None:
    broken = pi_answer("I will", (5, 1, 0, 9), 1, ["c1"], stopReason="aborted")
    found = read(lines(SESSION, pi_user("a"), broken, pi_user("b")))
    assert "tool_calls" not in found.threads[0].messages[1]
    assert len(found.threads[0].calls) == 1


def test_pis_thinking_level_counts_from_the_next_prompt_on() -> None:
    level = {"type": "thinking_level_change", "thinkingLevel": "high"}
    found = read(
        lines(
            SESSION,
            pi_user("a"),
            level,
            pi_answer("x", (1, 1, 0, 0), 1),
            pi_user("b"),
            pi_answer("y", (1, 1, 0, 0), 2),
        )
    )
    assert [call.settings for call in found.threads[0].calls] == ["", "high"]


def test_calls_of_a_thread_stay_in_their_order_whatever_their_times_say() -> None:
    answers = [pi_answer(str(at), (at, 1, 0, 0), at) for at in (5, 2, 9)]
    found = read(lines(SESSION, pi_user("a"), *answers))
    assert [call.reply for _, call in found.calls()] == [1, 2, 3]


def test_pis_compaction_begins_a_thread_in_the_place_of_the_old() -> None:
    found = read(
        lines(
            SESSION,
            pi_user("a", id="1"),
            {**pi_answer("x", (1, 1, 0, 0), 1), "id": "2", "parentId": "1"},
            pi_user("kept", id="3", parentId="2"),
            {
                "type": "compaction",
                "id": "4",
                "parentId": "3",
                "summary": "S",
                "firstKeptEntryId": "3",
            },
            {**pi_answer("y", (1, 1, 0, 0), 2), "id": "5", "parentId": "4"},
        )
    )
    second = found.threads[1]
    assert [message["content"] for message in second.messages] == ["S", "kept", "y"]
    assert (second.follows, second.changed) == ("main", Cause.POLICY)


def test_pis_tree_branches_where_an_entry_does_not_follow_the_last() -> None:
    found = read(
        lines(
            SESSION,
            pi_user("a", id="1"),
            {**pi_answer("x", (1, 1, 0, 0), 1), "id": "2", "parentId": "1"},
            pi_user("b", id="3", parentId="1"),
        )
    )
    assert [message["content"] for message in found.threads[1].messages] == ["a", "b"]
    assert found.threads[1].changed is Cause.EDIT


def test_an_entry_of_pis_without_a_message_is_named() -> None:
    with pytest.raises(RecordingError, match=r"recording:2: .*no `message`"):
        read(lines(SESSION, {"type": "message"}))


# -- Claude Code -----------------------------------------------------------------------------------

USAGE = {
    "input_tokens": 4,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 50,
    "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
    "output_tokens": 9,
}


def answer(
    name: str, parent: str, block: dict[str, Any], message: str, **more: Any
) -> dict[str, Any]:
    return claude_row(
        "assistant",
        name,
        parent,
        [block],
        message_id=message,
        message_model="claude-sonnet-4",
        message_usage=USAGE,
        **more,
    )


TEXT = {"type": "text", "text": "so"}
USE = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "x"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]}


def test_an_answer_spread_over_rows_is_one_call() -> None:
    found = read(
        lines(
            claude_row("user", "1", None, "hello", timestamp="2025-09-07T09:52:03Z"),
            answer("2", "1", TEXT, "m1"),
            answer("3", "2", USE, "m1"),
            claude_row("user", "4", "3", [RESULT], timestamp="2025-09-07T09:52:13Z"),
            answer("5", "4", TEXT, "m2"),
        )
    )
    assert (found.format, found.model) == ("claude-code", "claude-sonnet-4")
    first, second = found.threads[0].calls
    assert first.reported == Reported(154, 100, 50, 30, 9)
    assert (second.at or 0) - (first.at or 0) == 10, "sent when the last word before it was there"
    assert roles(found) == ["user", "assistant", "assistant", "tool", "assistant"]


def test_answers_without_an_id_are_each_a_call() -> None:
    rows = [
        claude_row("assistant", str(at), str(at - 1), [TEXT], message_usage=USAGE) for at in (2, 3)
    ]
    found = read(lines(claude_row("user", "1", None, "hello"), *rows))
    assert replies(found) == [1, 2]


def test_calls_of_sub_agents_are_ordered_by_time_among_the_others() -> None:
    found = read(
        lines(
            claude_row("user", "1", None, "hello", timestamp="2025-09-07T09:00:00Z"),
            answer("2", "1", TEXT, "m1"),
            claude_row("user", "3", "2", "more", timestamp="2025-09-07T09:00:20Z"),
            answer("4", "3", TEXT, "m2"),
            claude_row(
                "user", "5", None, "sub", isSidechain=True, timestamp="2025-09-07T09:00:10Z"
            ),
            answer("6", "5", TEXT, "m3", isSidechain=True),
        )
    )
    assert [thread.kind for thread, _ in found.calls()] == ["main", "side", "main"]


def test_sub_agents_are_threads_with_a_frame_of_their_own() -> None:
    found = read(
        lines(
            claude_row("user", "1", None, "hello"),
            answer("2", "1", USE, "m1"),
            claude_row("user", "3", None, "sub task", isSidechain=True),
            answer("4", "3", TEXT, "m2", isSidechain=True),
            claude_row("user", "5", None, "another", isSidechain=True),
            claude_row("user", "6", "2", [RESULT]),
        )
    )
    assert [(thread.kind, len(thread.messages)) for thread in found.threads] == [
        ("main", 3),
        ("side", 2),
        ("side", 1),
    ]


def test_a_prompt_from_before_an_answer_goes_back_to_there() -> None:
    found = read(
        lines(
            claude_row("user", "1", None, "first"),
            answer("2", "1", TEXT, "m1"),
            claude_row("user", "3", "2", "second"),
            answer("4", "3", TEXT, "m2"),
            claude_row("user", "5", "2", "instead"),
        )
    )
    assert [message["content"] for message in found.threads[1].messages] == [
        "first",
        "so",
        "instead",
    ]
    assert (found.threads[1].follows, found.threads[1].changed) == ("main", Cause.EDIT)


def test_parallel_results_that_each_name_their_call_stay_in_the_thread() -> None:
    other = {**USE, "id": "t2"}
    found = read(
        lines(
            claude_row("user", "1", None, "go"),
            answer("2", "1", USE, "m1"),
            answer("3", "2", other, "m1"),
            claude_row("user", "4", "2", [RESULT]),
            claude_row("user", "5", "3", [{**RESULT, "tool_use_id": "t2"}]),
            answer("6", "5", TEXT, "m2"),
        )
    )
    assert len(found.threads) == 1
    assert roles(found)[-3:] == ["tool", "tool", "assistant"]


def test_a_summary_takes_the_contexts_place() -> None:
    found = read(
        lines(
            claude_row("user", "1", None, "first"),
            answer("2", "1", TEXT, "m1"),
            claude_row("user", "3", None, "summary", isCompactSummary=True),
            answer("4", "3", TEXT, "m2"),
        )
    )
    assert [message["content"] for message in found.threads[1].messages] == ["summary", "so"]
    assert found.threads[1].changed is Cause.POLICY


def test_a_row_without_a_message_is_named() -> None:
    row = claude_row("user", "1", None, "hi")
    with pytest.raises(RecordingError, match="recording:2: this row has no `message`"):
        read(lines(row, {"type": "user", "uuid": "2", "sessionId": "s"}))


# -- SWE-agent and mini-swe-agent --------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def test_a_swe_agent_history() -> None:
    history = [
        {"role": "system", "content": "s", "agent": "main"},
        {"role": "user", "content": "demo", "is_demo": True},
        {"role": "assistant", "content": "shown", "is_demo": True},
        {"role": "user", "content": [{"type": "text", "text": "task"}]},
        {"role": "assistant", "content": "t", "tool_calls": [CALL], "thought": "t", "action": "ls"},
        {"role": "tool", "content": "out", "tool_call_ids": ["c1"]},
    ]
    config = {"agent": {"model": {"name": "gpt-4o"}}}
    found = read(json.dumps({"trajectory": [], "history": history, "replay_config": config}))
    assert (found.format, found.model) == ("swe-agent", "gpt-4o")
    assert roles(found) == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert replies(found) == [4], "what the model was only shown is no call"
    assert found.threads[0].messages[5]["tool_call_id"] == "c1"


def test_a_swe_agent_run_without_a_history_is_read_from_its_last_query() -> None:
    query = [{"role": "user", "content": "task"}]
    step = {"query": query, "response": "done", "observation": ""}
    assert roles(read(json.dumps({"trajectory": [step]}))) == ["user", "assistant"]


def test_a_damaged_entry_of_a_history_is_named() -> None:
    with pytest.raises(RecordingError, match=r"history\[1\]: a message has the role 'x'"):
        read(
            json.dumps(
                {"trajectory": [], "history": [{"role": "user", "content": "a"}, {"role": "x"}]}
            )
        )


def test_mini_swe_agent_with_the_servers_answers_beside_the_messages() -> None:
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 100},
    }
    response = {"model": "anthropic/claude-sonnet-4-5", "usage": usage}
    messages = [
        {"role": "system", "content": "s", "extra": {"timestamp": 100.0}},
        {"role": "user", "content": "task", "extra": {"timestamp": 101.0}},
        {
            "role": "assistant",
            "content": "THOUGHT",
            "extra": {"response": response, "cost": 0.5, "timestamp": 109.0},
        },
        {"role": "exit", "content": "", "extra": {}},
    ]
    found = read(
        json.dumps({"messages": messages, "trajectory_format": "mini-swe-agent-1.1", "info": {}})
    )
    assert (found.format, found.model) == ("mini-swe-agent", "anthropic/claude-sonnet-4-5")
    call = found.threads[0].calls[0]
    assert call.reported == Reported(120, 100, 0, 0, 7, 0.5)
    assert (call.reply, call.at) == (2, 101.0)
    assert roles(found) == ["system", "user", "assistant"]


def test_tokens_that_litellm_says_were_written_for_an_hour() -> None:
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 7,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 50,
        "prompt_tokens_details": {
            "cached_tokens": 60,
            "cache_creation_token_details": {
                "ephemeral_5m_input_tokens": 20,
                "ephemeral_1h_input_tokens": 30,
            },
        },
    }
    message = {"role": "assistant", "content": "so", "extra": {"response": {"usage": usage}}}
    found = read(json.dumps({"messages": [message], "info": {"mini_version": "2.0"}}))
    assert found.threads[0].calls[0].reported == Reported(120, 60, 50, 30, 7)


def test_mini_swe_agent_on_the_responses_api() -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    messages = [
        {"role": "user", "content": "task"},
        {"object": "response", "output": [item], "usage": {"input_tokens": 9}},
        {"type": "function_call_output", "call_id": "c1", "output": "out"},
    ]
    found = read(json.dumps({"messages": messages, "info": {"mini_version": "2.0"}}))
    assert roles(found) == ["user", "assistant", "tool"]
    assert replies(found) == [1]


# -- OpenHands ---------------------------------------------------------------------------------------


def completion(name: str, *calls: str) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": "so",
        "tool_calls": [{**CALL, "id": call} for call in calls],
    }
    usage = {
        "prompt_tokens": 3_486,
        "completion_tokens": 35,
        "prompt_tokens_details": {"cached_tokens": 0},
        "cache_creation_input_tokens": 3_482,
    }
    return {"id": name, "model": "claude", "choices": [{"message": message}], "usage": usage}


def test_openhands_events_of_one_answer_are_one_call() -> None:
    def meta(call: str) -> dict[str, Any]:
        return {"tool_call_id": call, "model_response": completion("r1", "c1", "c2")}

    events = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "task"}},
        {"id": 1, "source": "agent", "action": "run", "args": {}, "tool_call_metadata": meta("c1")},
        {"id": 2, "source": "agent", "action": "run", "args": {}, "tool_call_metadata": meta("c2")},
        {
            "id": 3,
            "source": "agent",
            "observation": "run",
            "content": "one",
            "tool_call_metadata": meta("c1"),
        },
        {
            "id": 4,
            "source": "agent",
            "observation": "edit",
            "content": "a diff",
            "extras": {"formatted_output_and_error": "File edited."},
            "tool_call_metadata": meta("c2"),
        },
        {"id": 5, "source": "environment", "observation": "agent_state_changed", "content": ""},
    ]
    found = read(json.dumps(events))
    assert found.format == "openhands"
    assert roles(found) == ["user", "assistant", "tool", "tool"]
    assert found.threads[0].messages[3]["content"] == "File edited."
    assert found.threads[0].calls[0].reported == Reported(3_486, 0, 3_482, 0, 35)


def test_openhands_condensation_begins_a_thread() -> None:
    events = [
        {"source": "user", "action": "message", "args": {"content": "task"}},
        {"source": "agent", "action": "condensation", "args": {"summary": "so far"}},
        {"source": "user", "action": "message", "args": {"content": "go on"}},
    ]
    second = read(json.dumps(events)).threads[1]
    assert [message["content"] for message in second.messages] == ["task", "so far", "go on"]
    assert second.changed is Cause.POLICY


def test_openhands_events_of_the_sdk() -> None:
    call = {"id": "c1", "name": "bash", "arguments": "{}"}
    action = {
        "kind": "ActionEvent",
        "llm_response_id": "r1",
        "thought": [{"type": "text", "text": "hm"}],
        "tool_call": call,
        "tool_call_id": "c1",
    }
    found = read(
        lines(
            {"kind": "SystemPromptEvent", "system_prompt": {"text": "s"}, "tools": [{"name": "b"}]},
            {"kind": "MessageEvent", "llm_message": {"role": "user", "content": "task"}},
            action,
            {**action, "tool_call": {**call, "id": "c2"}, "tool_call_id": "c2"},
            {"kind": "ObservationEvent", "tool_call_id": "c1", "observation": {"text": "out"}},
            {"kind": "AgentErrorEvent", "tool_call_id": "c2", "error": "no"},
        )
    )
    assert roles(found) == ["system", "user", "assistant", "tool", "tool"]
    assert [call["id"] for call in found.threads[0].messages[2]["tool_calls"]] == ["c1", "c2"]
    assert replies(found) == [2]
    assert found.threads[0].tools == ({"name": "b"},)
