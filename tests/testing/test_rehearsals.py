"""Whole sessions in every wire format against a provider that enforces its rules: it refuses nothing.

The official clients of OpenAI and Anthropic send every list over a real socket; Gemini is plain HTTP.
"""

from __future__ import annotations

import json
import random
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.testing.edits import Step, random_script
from redraft.testing.rehearsal import MODELS, Refused, Rehearsal
from redraft.testing.strategies import edit_scripts, requests
from redraft.testing.trials import session_trial

Json = dict[str, Any]

every = pytest.mark.parametrize("name", MODELS)
budgets = st.sampled_from((None, None, 12_000, 9_000))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)


@every
@settings(max_examples=20)
@given(data=st.data())
def test_no_session_sends_a_list_that_the_provider_refuses(name: str, data: st.DataObject) -> None:
    script = data.draw(edit_scripts(min_size=3))
    body, budget = data.draw(requests(name)), data.draw(budgets)
    assert session_trial(name, body, script, budget=budget) == []


@pytest.mark.slow
@every
@settings(max_examples=1000)
@given(data=st.data())
def test_no_long_session_sends_a_list_that_the_provider_refuses(
    name: str, data: st.DataObject
) -> None:
    script = data.draw(edit_scripts(min_size=6, max_size=16))
    body, budget = data.draw(requests(name)), data.draw(budgets)
    assert session_trial(name, body, script, budget=budget) == []


# -- through the official clients ----------------------------------------------------------------

OPENAI_BODY: Json = {"store": False, "instructions": "Be brief."}
TOOL: Json = {"name": "bash", "description": "Run a command.", "parameters": {"type": "object"}}
BODIES: dict[str, Json] = {
    "anthropic": {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "task"}],
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
    },
    "fenced-chat": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "task"},
        ],
        "tools": [{"type": "function", "function": TOOL}],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "task"}]}],
        "tools": [{"functionDeclarations": [TOOL]}],
    },
    "openai-chat": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "task"},
        ],
        "tools": [{"type": "function", "function": TOOL}],
    },
    "openai-responses": {
        **OPENAI_BODY,
        "input": [{"role": "user", "content": "task"}],
        "tools": [{"type": "function", "strict": False, **TOOL}],
    },
}


@contextmanager
def client(rehearsal: Rehearsal) -> Iterator[Any]:
    """What sends a request: the official client's method, or plain HTTP for Gemini."""
    server = rehearsal.server.start()
    options: Json = {"base_url": server.base_url, "api_key": "k", "max_retries": 0, "timeout": 20}
    match rehearsal.name:
        case "anthropic":
            with anthropic.Anthropic(**options) as claude:
                yield lambda request: claude.messages.create(**request)
        case "openai-chat" | "fenced-chat":
            with openai.OpenAI(**options) as chat:
                yield lambda request: chat.chat.completions.create(**request)
        case "openai-responses":
            with openai.OpenAI(**options) as responses:
                yield lambda request: responses.responses.create(**request)
        case _:
            yield lambda request: plain(server.base_url, request)


def plain(base_url: str, request: Json) -> Any:
    url = f"{base_url}/v1beta/models/{request.pop('model')}:generateContent"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, json.dumps(request).encode())) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise Refused.of(error.code, error.read()) from error


@every
@pytest.mark.parametrize("seed", range(3))
def test_the_official_client_gets_every_list_of_a_session_taken(name: str, seed: int) -> None:
    chance = random.Random(f"{name} {seed}")
    script = [step for step in random_script(chance, 14) if step.kind not in ("rollback",)]
    script += [Step("append", how=2), Step("file", how=2), Step("tool", text="in short")]
    with Rehearsal(name, BODIES[name], budget=(None, 12_000)[seed % 2]) as rehearsal:
        with client(rehearsal) as send:
            rehearsal.send = send
            rehearsal.run(script)
        assert rehearsal.refusals == []
        assert rehearsal.server.failures == []
        assert len(rehearsal.server.bodies) == rehearsal.requests > 5
        statuses = {str(receipt.status) for receipt in rehearsal.session.receipts}
        assert statuses & {"applied", "grew", "queued"}


@every
def test_a_server_that_finds_a_request_too_large_brings_a_rollback(name: str) -> None:
    """In the provider's own words, through its own client's errors."""
    grown = [Step("append", how=2, to=2, text="x" * 60) for _ in range(6)]
    with Rehearsal(name, BODIES[name]) as rehearsal:
        with client(rehearsal) as send:
            rehearsal.send = send
            rehearsal.run([*grown, Step("rollback", how=2), Step("append", how=2)])
        assert rehearsal.refusals == []
        events = [entry for entry in rehearsal.session.receipts if entry.after < entry.before]
        assert events, "the newest groups went"


def test_what_a_mend_put_in_stays_where_thinking_was_made_behind_it() -> None:
    """A list that ends with the model's words gets a line of the user's before it is sent. It must
    not go again once the model has thought behind it."""
    body = {**BODIES["anthropic"], "messages": [*BODIES["anthropic"]["messages"]]}
    body["messages"].append({"role": "assistant", "content": "so"})
    with Rehearsal("anthropic", body) as rehearsal:
        broken = Step("append", text="half \ud83d of it")
        rehearsal.run([broken, Step("append", how=1), broken, Step("append"), Step("append")])
        assert rehearsal.refusals == []
        first, *others = (request["messages"] for request in rehearsal.server.requests)
        assert all(messages[: len(first)] == first for messages in others)


def test_a_rehearsal_tells_what_was_refused() -> None:
    """The tests above can fail: a session without rules is caught."""
    body = {**BODIES["anthropic"], "messages": [{"role": "user", "content": "task"}]}
    with Rehearsal("anthropic", body) as rehearsal:
        rehearsal.send = lambda request: rehearsal.in_process({**request, "messages": []})
        rehearsal.run([Step("append", how=2)])
        assert "at least one message is required" in rehearsal.refusals[0]
