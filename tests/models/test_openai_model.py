"""The OpenAI-compatible client against a real socket: what is sent, what is raised, what is retried."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from redraft.errors import (
    ContextOverflowError,
    ModelAuthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
    SettingsError,
)
from redraft.models import Model, OpenAIModel
from redraft.testing import FakeServer, Fault
from redraft.testing.faults import OVERFLOWS

REQUEST = {"messages": [{"role": "user", "content": "hello"}]}
SOON = 0.001


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def player(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "hi"}


def serve(faults: Iterable[Fault | None] = (), **options: Any) -> FakeServer:
    return FakeServer(player, faults=faults, **options)


def model_of(server: FakeServer, **options: Any) -> OpenAIModel:
    defaults: dict[str, Any] = {"timeout": 20, "max_retries": 1, "reply_pause": 0}
    return OpenAIModel("m", base_url=server.base_url, **(defaults | options))


def complete(server: FakeServer, request: Mapping[str, Any] = REQUEST, **options: Any) -> Any:
    with model_of(server, **options) as model:
        return model.complete(request)


def unused_url() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


# --- what is sent and what comes back -----------------------------------------------------------


def test_the_reply_is_the_clients_own_object() -> None:
    with serve() as server, model_of(server) as client:
        model: Model = client
        reply: Any = model.complete(REQUEST)
    assert reply.choices[0].message.content == "hi"
    assert reply.usage.prompt_tokens > 0


def test_the_request_is_sent_as_it_is_behind_the_model() -> None:
    request = {
        "messages": [{"role": "user", "content": "é\n", "made_up": [1, None]}],
        "temperature": 0,
        "chat_template_kwargs": {"enable_thinking": False},
        "model": "ignored",
    }
    with serve() as server:
        complete(server, request)
    expected = {"model": "m", **{k: v for k, v in request.items() if k != "model"}}
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    assert server.bodies == [text.encode()]


def test_equal_requests_are_equal_bytes() -> None:
    with serve() as server, model_of(server) as model:
        model.complete(REQUEST)
        model.complete(json.loads(json.dumps(REQUEST)))
    assert server.bodies[0] == server.bodies[1]


def test_fields_that_only_this_server_knows_come_back() -> None:
    def reasoning(request: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "assistant", "content": "hi", "reasoning_content": "hm"}

    with FakeServer(reasoning) as server:
        assert complete(server).choices[0].message.reasoning_content == "hm"


def test_one_model_serves_several_threads() -> None:
    replies: list[Any] = []
    with serve() as server, model_of(server) as model:
        threads = [
            threading.Thread(target=lambda: replies.append(model.complete(REQUEST)))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [reply.choices[0].message.content for reply in replies] == ["hi"] * 6


# --- key and URL --------------------------------------------------------------------------------


def test_without_key_and_url_there_is_advice_at_once() -> None:
    with pytest.raises(ModelAuthError, match=r"OPENAI_API_KEY.*--base-url.*redraft demo"):
        OpenAIModel("m")


def test_an_empty_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " \n")
    with pytest.raises(ModelAuthError):
        OpenAIModel("m")


def test_a_local_server_needs_no_key() -> None:
    with serve() as server:
        complete(server)


def test_key_and_url_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(key="from-env") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "from-env\n")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        with OpenAIModel("m", max_retries=0) as model:
            model.complete(REQUEST)


def test_a_given_key_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    with serve(key="given") as server:
        complete(server, api_key="given")


def test_a_refused_key_names_where_it_is_set_and_is_not_repeated() -> None:
    with serve(key="right") as server:
        with pytest.raises(ModelAuthError, match=r"401.*OPENAI_API_KEY.*--base-url") as caught:
            complete(server, api_key="sk-wrong-key")
        assert len(server.bodies) == 1
    assert "sk-wrong-key" not in str(caught.value)
    assert server.base_url in str(caught.value)


def test_a_forbidden_call_is_an_auth_error() -> None:
    with (
        serve([Fault.status(403, "Country not supported")]) as server,
        pytest.raises(ModelAuthError, match="Country not supported"),
    ):
        complete(server)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x", "/v1"])
def test_a_url_without_its_scheme_is_told_at_once(url: str) -> None:
    with pytest.raises(SettingsError, match="http://localhost:8000/v1"):
        OpenAIModel("m", base_url=url)


def test_a_url_that_cannot_be_parsed_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match="cannot be used"):
        OpenAIModel("m", base_url="http://host:port/v1")


@pytest.mark.parametrize("key", ["sk-ключ", "sk\x00a", "sk-\u2026"])
def test_a_key_that_no_header_can_hold_is_told_at_once(key: str) -> None:
    with pytest.raises(SettingsError, match="Set OPENAI_API_KEY again"):
        OpenAIModel("m", api_key=key)


@pytest.mark.parametrize("option", [{"timeout": 0}, {"max_retries": -1}, {"reply_pause": -1}])
def test_a_number_out_of_range_is_told_at_once(option: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="must be above zero"):
        OpenAIModel("m", base_url="http://x/v1", **option)


# --- the network --------------------------------------------------------------------------------


def test_a_refused_connection_names_the_url() -> None:
    url = unused_url()
    with (
        OpenAIModel("m", base_url=url, max_retries=0) as model,
        pytest.raises(ModelConnectionError, match=f"{url} cannot be reached.*server runs"),
    ):
        model.complete(REQUEST)


def test_an_unknown_host_names_the_url() -> None:
    url = "http://no-such-host.invalid/v1"
    with (
        OpenAIModel("m", base_url=url, max_retries=0) as model,
        pytest.raises(ModelConnectionError, match=f"{url} cannot be reached"),
    ):
        model.complete(REQUEST)


def test_a_connection_lost_once_is_made_again() -> None:
    with serve([Fault.disconnect()]) as server:
        assert complete(server).choices
        assert len(server.bodies) == 2


@pytest.mark.parametrize("after", [0, 20])
def test_a_connection_lost_for_good_is_a_connection_error(after: int) -> None:
    with (
        serve([Fault.disconnect(after)]) as server,
        pytest.raises(ModelConnectionError),
    ):
        complete(server, max_retries=0)


def test_a_server_that_does_not_answer_in_time_is_a_time_out() -> None:
    with (
        serve([Fault.timeout(300)]) as server,
        pytest.raises(ModelTimeoutError, match=r"did not answer in time.*`timeout`"),
    ):
        complete(server, timeout=0.2, max_retries=0)


def test_a_slow_answer_is_asked_for_again() -> None:
    with serve([Fault.timeout(300)]) as server:
        assert complete(server, timeout=2).choices
        assert len(server.bodies) == 2


# --- what the server refuses --------------------------------------------------------------------


def test_an_unknown_model_is_named() -> None:
    with serve(models=["other"]) as server:
        with pytest.raises(ModelRequestError, match=r"404.*model 'm' exists.*ends in /v1"):
            complete(server)
        assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_request_is_told_in_the_servers_words(status: int) -> None:
    with serve([Fault.status(status, "Orphan tool message.")]) as server:
        with pytest.raises(ModelRequestError, match=rf"{status}: Orphan tool message\. Change"):
            complete(server)
        assert len(server.bodies) == 1


def test_an_illegal_message_list_is_a_request_error() -> None:
    with serve(check=lambda request: "No.") as server, pytest.raises(ModelRequestError):
        complete(server)


@pytest.mark.parametrize("content", ["\ud99c", float("nan"), object()])
def test_a_request_without_a_json_form_is_a_request_error(content: object) -> None:
    with serve() as server:
        with pytest.raises(ModelRequestError, match="cannot be written as JSON"):
            complete(server, {"messages": [{"role": "user", "content": content}]})
        assert server.bodies == []


@pytest.mark.parametrize("words", sorted(OVERFLOWS))
def test_a_request_over_the_window_is_an_overflow_with_its_sizes(words: str) -> None:
    with serve(window=100, count=lambda request: 120, overflow=words) as server:
        with pytest.raises(ContextOverflowError) as caught:
            complete(server)
        assert len(server.bodies) == 1
    told = (None, None) if words == "ollama" else (120, 100)
    assert (caught.value.requested, caught.value.window) == told


def test_a_body_over_the_servers_size_is_an_overflow() -> None:
    page = "<html><h1>413 Request Entity Too Large</h1></html>"
    with serve([Fault.status(413, page)]) as server, pytest.raises(ContextOverflowError):
        complete(server)


# --- what is tried again ------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_passing_fault_is_tried_again_with_the_same_bytes(status: int) -> None:
    with serve([Fault.status(status, retry_after=SOON)] * 4) as server:
        assert complete(server, max_retries=4).choices
        assert len(server.bodies) == 5
        assert len(set(server.bodies)) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.rate_limit(SOON), "429: Rate limit reached.*Wait and run it again"),
        (Fault.status(500, "boom", retry_after=SOON), "500: boom.*server is at fault"),
        (Fault.status(529, "Overloaded", retry_after=SOON), "529: Overloaded.*wait"),
        (
            Fault.status(429, "No quota", code="insufficient_quota", retry_after=SOON),
            "out of credit",
        ),
    ],
)
def test_a_fault_that_stays_is_a_model_error_after_the_retries(fault: Fault, words: str) -> None:
    with serve([fault] * 3) as server:
        with pytest.raises(ModelError, match=words) as caught:
            complete(server, max_retries=2)
        assert len(server.bodies) == 3
    assert type(caught.value) is ModelError


def test_payment_required_says_so() -> None:
    with (
        serve([Fault.status(402, "Insufficient Balance")]) as server,
        pytest.raises(ModelError, match=r"Insufficient Balance\. .*top it up"),
    ):
        complete(server)


def test_groqs_rate_limit_in_the_guise_of_413_is_no_overflow() -> None:
    text = "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000"
    with (
        serve([Fault.status(413, text, code="rate_limit_exceeded")]) as server,
        pytest.raises(ModelError, match="limit per minute") as caught,
    ):
        complete(server)
    assert type(caught.value) is ModelError


# --- garbage ------------------------------------------------------------------------------------

GARBAGE = {
    "a page": Fault.garbage(b"<html>Sign in</html>", content_type="text/html"),
    "a page that calls itself JSON": Fault.garbage(b"<html>"),
    "half an object": Fault.garbage(b'{"choices": [{"mess'),
    "not UTF-8": Fault.garbage(b'{"choices": "\xff\xfe"}'),
    "nothing": Fault.garbage(b""),
    "nothing, as text": Fault.garbage(b"", content_type="text/plain"),
    "an empty object": Fault.garbage(b"{}"),
    "a list": Fault.garbage(b"[]"),
    "null": Fault.garbage(b"null"),
    "a number": Fault.garbage(b"7"),
    "choices: []": Fault.empty_choices(),
    "choices: null": Fault.null_choices(),
    "message: null": Fault.null_message(),
    "choices of the wrong kind": Fault.garbage(b'{"choices": {"a": 1}}'),
    "an error in a good status": Fault.garbage(b'{"error": {"message": "upstream", "code": 502}}'),
}


@pytest.mark.parametrize("fault", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_asked_for_again_at_most_twice(fault: Fault) -> None:
    with serve([fault, fault]) as server:
        assert complete(server).choices
        assert len(server.bodies) == 3
    with serve([fault] * 9) as server:
        with pytest.raises(ModelReplyError, match=r"not answer with a chat completion.*/v1\.$"):
            complete(server)
        assert len(server.bodies) == 3


def test_an_overflow_told_with_a_good_status_is_an_overflow() -> None:
    body = (
        b'{"error": "The number of tokens to keep from the initial prompt is greater than the '
        b'context length."}'
    )
    with serve([Fault.garbage(body)]) as server:
        with pytest.raises(ContextOverflowError):
            complete(server)
        assert len(server.bodies) == 1


def test_a_refused_key_told_with_a_good_status_is_an_auth_error() -> None:
    body = b'{"error": {"message": "No auth credentials found", "code": 401}}'
    with (
        serve([Fault.garbage(body)]) as server,
        pytest.raises(ModelAuthError, match="No auth credentials"),
    ):
        complete(server)


def test_an_answer_that_was_cut_off_is_an_answer() -> None:
    with serve([Fault.cut()]) as server:
        assert complete(server).choices[0].finish_reason == "length"
