"""The fake `generateContent` answers over a real socket, and refuses as the real one."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

from redraft.testing import FakeGemini, Fault

Json = dict[str, Any]

USER = {"role": "user", "parts": [{"text": "hello"}]}


def echo(request: Mapping[str, Any]) -> Json:
    return {"role": "assistant", "content": f"you said {request['messages'][-1]['content']}"}


def caller(request: Mapping[str, Any]) -> Json:
    """Thinks, and calls two tools until it has their results."""
    if request["messages"][-1]["role"] == "tool":
        return {"role": "assistant", "content": f"read {request['messages'][-1]['content']}"}
    calls = [
        {"id": name, "type": "function", "function": {"name": "bash", "arguments": '{"n": 1}'}}
        for name in ("a", "b")
    ]
    return {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": calls}


def ask(server: FakeGemini, *contents: Json, key: str = "k", verb: str = "generateContent") -> Any:
    body = json.dumps({"contents": list(contents or (USER,))}).encode()
    url = f"{server.base_url}/v1beta/models/gemini-3-pro:{verb}"
    request = urllib.request.Request(url, data=body, headers={"x-goog-api-key": key})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=20) as answer:
        return answer.read() if verb.startswith("stream") else json.load(answer)


def refused(server: FakeGemini, *contents: Json, status: int = 400, key: str = "k") -> str:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(server, *contents, key=key)
    with caught.value as answer:
        error = json.load(answer)["error"]
    assert error["code"] == answer.code == status
    assert error["status"]
    return str(error["message"])


def said(reply: Any) -> Json:
    content: Json = reply["candidates"][0]["content"]
    return content


def results(*texts: str) -> Json:
    return {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": name, "name": "bash", "response": {"output": text}}}
            for name, text in zip("ab", texts, strict=False)
        ],
    }


def test_the_player_answers_with_usage() -> None:
    with FakeGemini(echo) as server:
        reply = ask(server)
    assert said(reply) == {"role": "model", "parts": [{"text": "you said hello"}]}
    assert reply["candidates"][0]["finishReason"] == "STOP"
    usage = reply["usageMetadata"]
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["candidatesTokenCount"]


def test_a_stream_of_one_event() -> None:
    with FakeGemini(echo) as server:
        data = ask(server, verb="streamGenerateContent?alt=sse")
    assert json.loads(data.removeprefix(b"data: "))["candidates"]


def test_the_first_call_of_an_answer_is_signed_and_goes_back_as_it_came() -> None:
    with FakeGemini(caller) as server:
        call = said(ask(server))
        assert [sorted(part) for part in call["parts"]] == [
            ["text", "thought"],
            ["functionCall", "thoughtSignature"],
            ["functionCall"],
        ]
        reply = ask(server, USER, call, results("one", "two"))
    assert said(reply)["parts"] == [{"text": "read two"}]


def test_a_call_of_the_current_turn_without_its_signature_is_refused_and_an_older_one_taken() -> (
    None
):
    with FakeGemini(caller) as server:
        call = said(ask(server))
        bare = [{"functionCall": part["functionCall"]} for part in call["parts"][1:]]
        unsigned = {**call, "parts": bare}
        says = refused(server, USER, unsigned, results("1", "2"))
        assert says.startswith("Function call is missing a thought_signature")
        done = {"role": "model", "parts": [{"text": "done"}]}
        assert ask(server, USER, unsigned, results("1", "2"), done, USER)
        forged = {**call, "parts": [{**bare[0], "thoughtSignature": "eA=="}, bare[1]]}
        assert "Corrupted" in refused(server, USER, forged, results("1", "2"))
        server.remember({"contents": [forged]})
        assert ask(server, USER, forged, results("1", "2"))
    with FakeGemini(caller, signed=False) as server:
        assert ask(server, USER, unsigned, results("1", "2"))


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda call: [USER, call, results("1")], "number of function response parts"),
        (lambda call: [USER, call], "number of function response parts"),
        (lambda call: [USER, results("1")], "immediately after a function call"),
        (lambda call: [call, results("1", "2")], "begin with a user turn"),
        (lambda call: [USER, {"role": "model", "parts": []}, USER], "must not be empty"),
        (lambda call: [{"role": "user", "parts": [{"text": ""}]}], "required oneof field"),
        (lambda call: [{"role": "system", "parts": [{"text": "x"}]}], "valid role"),
        (lambda call: [USER, call, USER, results("1", "2")], "number of function response"),
    ],
)
def test_a_list_that_breaks_a_rule_is_refused(broken: Any, says: str) -> None:
    with FakeGemini(caller) as server:
        call = said(ask(server))
        assert says in refused(server, *broken(call))
        assert says in server.refused[0]


def test_keys_models_windows_and_faults_are_refused_in_googles_shape() -> None:
    faults = [Fault.status(503, "The model is overloaded.", server="gemini")]
    with FakeGemini(echo, key="right", models=["gemini-3-pro"], window=50, faults=faults) as server:
        assert "overloaded" in refused(server, status=503, key="right")
        assert "API key not valid" in refused(server)
        long = {"role": "user", "parts": [{"text": "x" * 900}]}
        assert "exceeds the maximum number of tokens" in refused(server, long, key="right")
        assert ask(server, key="right")
    with FakeGemini(echo, models=["other"]) as server:
        assert "is not found" in refused(server, status=404)


def test_an_appended_request_is_cached() -> None:
    long = {"role": "user", "parts": [{"text": "x" * 4000}]}
    with FakeGemini(echo) as server:
        first = ask(server, long)["usageMetadata"]
        more = {"role": "model", "parts": [{"text": "a"}]}
        second = ask(server, long, more, USER)["usageMetadata"]
    assert first["cachedContentTokenCount"] == 0
    assert first["promptTokenCount"] - 1 <= second["cachedContentTokenCount"]
