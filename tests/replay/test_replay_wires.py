"""Recorded requests of Gemini and of Bedrock's Converse, whole and as streams."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replay_world import read, roles
from test_replay_cassettes import cassette

from redraft.cost import HOUR, MINUTES
from redraft.errors import RecordingError
from redraft.replay import Recording, Reported, Timeline, audit, fit
from redraft.replay.bodies import prompt_of
from redraft.replay.streams import assemble
from redraft.tokens import Meter

pytest.importorskip("yaml")

METER = Meter()
LONG = "The quick brown fox jumps over the lazy dog. " * 500

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
TOOLS = [{"functionDeclarations": [{"name": "look", "parameters": {"type": "OBJECT"}}]}]


def said(*parts: dict[str, Any], usage: dict[str, int]) -> dict[str, Any]:
    """An answer in the documented form; a count of zero is left out, as the server does."""
    return {
        "candidates": [
            {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-pro",
        "createTime": "2026-11-01T10:00:00Z",
    }


def gemini() -> Recording:
    first = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": TOOLS,
        "contents": [{"role": "user", "parts": [{"text": LONG}]}],
    }
    call = {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "c2ln"}
    result = {"functionResponse": {"name": "look", "response": {"output": "seen"}}}
    more = [
        *first["contents"],
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    return read(
        cassette(
            (
                GEMINI,
                first,
                said(
                    call,
                    usage={
                        "promptTokenCount": 5_050,
                        "candidatesTokenCount": 20,
                        "thoughtsTokenCount": 100,
                        "totalTokenCount": 5_170,
                    },
                ),
            ),
            (
                GEMINI,
                {**first, "contents": more},
                said(
                    {"text": "It is there."},
                    usage={
                        "promptTokenCount": 5_090,
                        "cachedContentTokenCount": 5_040,
                        "candidatesTokenCount": 5,
                    },
                ),
            ),
        )
    )


def test_a_gemini_conversation_is_one_thread_with_its_calls_and_results() -> None:
    found = gemini()
    assert roles(found) == ["system", "user", "assistant", "tool", "assistant"]
    (thread,) = found.threads
    call, result = thread.messages[2], thread.messages[3]
    assert call["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at":1}'}
    assert result["tool_call_id"] == call["tool_calls"][0]["id"]
    assert "seen" in result["content"]
    assert [one.model for one in thread.calls] == ["gemini-2.5-pro"] * 2
    assert thread.calls[0].at == 1_793_527_200.0


def test_geminis_usage_counts_cached_tokens_in_and_leaves_out_what_is_zero() -> None:
    first, second = [call.reported for _, call in gemini().calls()]
    assert first == Reported(5_050, 0, 0, 0, 120)
    assert second == Reported(5_090, 5_040, 0, 0, 5)


def test_geminis_implicit_cache_is_predicted() -> None:
    found = audit(fit(Timeline(gemini()), METER))
    assert (found.calls, found.close) == (2, 2)
    assert found.predicted == 5_050


def test_a_prompt_below_geminis_smallest_size_is_not_read() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    answer = said({"text": "hi"}, usage={"promptTokenCount": 900, "candidatesTokenCount": 1})
    found = audit(
        fit(Timeline(read(cassette((GEMINI, body, answer), (GEMINI, body, answer)))), METER)
    )
    assert (found.predicted, found.reported, found.close) == (0, 0, 2)


def test_a_stream_of_geminis_is_put_together() -> None:
    chunks = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "It "}]}}]},
        {
            "candidates": [{"content": {"parts": [{"text": "is."}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2},
            "modelVersion": "gemini-3-pro",
        },
    ]
    events = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    for body in (events, chunks):
        whole = assemble(body)
        assert [part["text"] for part in whole["candidates"][0]["content"]["parts"]] == [
            "It ",
            "is.",
        ]
        assert whole["usageMetadata"]["promptTokenCount"] == 9
        assert whole["candidates"][0]["finishReason"] == "STOP"


def test_a_gemini_request_that_cannot_be_read_is_named() -> None:
    body = {"contents": [{"role": "narrator", "parts": [{"text": "hello"}]}]}
    with pytest.raises(RecordingError, match=r"interactions\[0\]"):
        read(cassette((GEMINI, body, said({"text": "hi"}, usage={"promptTokenCount": 9}))))


# -- Bedrock's Converse ----------------------------------------------------------------------------

CONVERSE = (
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/"
    "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"
)
POINT = {"cachePoint": {"type": "default"}}


def answer(text: str, read_: int, written: int) -> dict[str, Any]:
    usage = {
        "inputTokens": 10,
        "cacheReadInputTokens": read_,
        "cacheWriteInputTokens": written,
        "outputTokens": 4,
        "totalTokens": 14 + read_ + written,
    }
    message = {"role": "assistant", "content": [{"text": text}]}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}


def test_a_converse_conversation_with_cache_points() -> None:
    system = [{"text": LONG}, POINT]
    use = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": 1}}}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"json": {"seen": True}}]}}
    first: dict[str, Any] = {
        "system": system,
        "messages": [{"role": "user", "content": [{"text": "Look."}]}],
    }
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    asked = answer("I look.", 0, 5_000)
    asked["output"]["message"]["content"] = [thought, {"text": "I look."}, use]
    more = [
        *first["messages"],
        asked["output"]["message"],
        {"role": "user", "content": [result]},
    ]
    found = read(
        cassette(
            (CONVERSE, first, asked),
            (CONVERSE, {**first, "messages": more}, answer("There.", 5_000, 0)),
        )
    )
    assert roles(found) == ["system", "user", "assistant", "tool", "assistant"]
    call = found.threads[0].messages[2]
    assert call["reasoning_content"] == "Hm."
    assert call["tool_calls"][0]["id"] == "t1"
    assert '"seen"' in found.threads[0].messages[3]["content"]
    one, two = [call.reported for _, call in found.calls()]
    assert one == Reported(5_010, 0, 5_000, 0, 4)
    assert two == Reported(5_010, 5_000, 0, 0, 4)
    assert {call.model for _, call in found.calls()} == {
        "us.anthropic.claude-sonnet-4-5-20250929-v1"
    }
    judged = audit(fit(Timeline(found), METER))
    assert (judged.close, judged.misses) == (2, [])


def test_a_cache_point_is_a_mark_behind_the_block_in_front_of_it() -> None:
    body = {
        "toolConfig": {"tools": [{"toolSpec": {"name": "look"}}, POINT]},
        "system": [{"text": "s"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "messages": [{"role": "user", "content": [{"text": "a"}, {"text": "b"}, POINT]}],
    }
    prompt = prompt_of(body, "converse", METER)
    assert [(mark.after, mark.lifetime) for mark in prompt.marks] == [
        (1, MINUTES),
        (2, HOUR),
        (4, MINUTES),
    ]


def test_geminis_request_is_cut_at_its_parts() -> None:
    body = {
        "system_instruction": {"parts": [{"text": "s"}]},
        "contents": [{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}],
        "tools": TOOLS,
    }
    kinds = [segment.kind for segment in prompt_of(body, "gemini", METER).segments]
    assert kinds == ["frame", "frame", "turn", "turn"]
