"""The fake server answers the real client over a real socket."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import openai
import pytest

from redraft.testing import FakeServer, Fault

USER: Any = {"role": "user", "content": "hello"}


def echo(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": f"you said {request['messages'][-1]['content']}"}


def call_tool(request: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": "bash", "arguments": '{"command": "ls -la /tmp/somewhere"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def count(request: Mapping[str, Any]) -> int:
    return 10 + sum(len(message["content"]) for message in request["messages"])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def client(server: FakeServer, **options: Any) -> Any:
    defaults: dict[str, Any] = {"api_key": "k", "max_retries": 0, "timeout": 20}
    return openai.OpenAI(base_url=server.base_url, **(defaults | options))


def ask(server: FakeServer, *messages: Mapping[str, Any], **fields: Any) -> Any:
    with client(server) as api:
        return api.chat.completions.create(
            model="m",
            messages=list(messages or (USER,)),
            **fields,
        )


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(echo, count=count) as fake:
        yield fake


def test_the_player_answers(server: FakeServer) -> None:
    reply = ask(server)
    assert reply.choices[0].message.content == "you said hello"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.model == "m"


def test_calls_come_back_as_calls() -> None:
    with FakeServer(call_tool) as server:
        choice = ask(server).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert json.loads(choice.message.tool_calls[0].function.arguments)["command"].startswith("ls")


def test_a_stream_carries_the_same_answer() -> None:
    with FakeServer(call_tool, count=lambda _: 7) as server, client(server) as api:
        stream = api.chat.completions.create(
            model="m",
            messages=[USER],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
    calls = [c.choices[0].delta.tool_calls for c in chunks if c.choices]
    arguments = "".join(part[0].function.arguments for part in calls if part)
    assert arguments == '{"command": "ls -la /tmp/somewhere"}'
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 7
    assert chunks[-2].choices[0].finish_reason == "tool_calls"


def test_bodies_are_kept_byte_for_byte(server: FakeServer) -> None:
    body = b'{ "messages":[{"role":"user","content":"\xc3\xa9"}],\n"model":"m"}'
    host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
    with socket.create_connection((host, int(port))) as raw:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
        raw.sendall(head.encode() + b"\r\n\r\n" + body)
        assert raw.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
    assert server.bodies == [body]
    assert server.requests[0]["messages"][0]["content"] == "é"


def test_usage_counts_the_prompt_and_what_was_added(server: FakeServer) -> None:
    usage = ask(server).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (15, len("you said hello"))
    assert usage.total_tokens == 15 + len("you said hello")


def test_an_appended_request_is_cached_up_to_the_old_end(server: FakeServer) -> None:
    first = ask(server).usage
    answer = {"role": "assistant", "content": "you said hello"}
    second = ask(server, USER, answer, {"role": "user", "content": "again"}).usage
    assert first.prompt_tokens_details.cached_tokens == 0
    assert second.prompt_tokens_details.cached_tokens == first.prompt_tokens


def test_an_edited_request_is_cached_up_to_the_edit(server: FakeServer) -> None:
    late = {"role": "user", "content": "x" * 100}
    ask(server, USER, late, USER)
    usage = ask(server, USER, {"role": "user", "content": "y"}, USER).usage
    assert 15 <= usage.prompt_tokens_details.cached_tokens < 17


def test_a_refused_request_warms_no_cache() -> None:
    with FakeServer(echo, count=count, faults=[Fault.status(400)]) as server:
        with pytest.raises(openai.BadRequestError):
            ask(server)
        assert ask(server).usage.prompt_tokens_details.cached_tokens == 0


def test_a_prompt_over_the_window_is_refused_in_openais_words() -> None:
    with FakeServer(echo, window=14, count=count) as server:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server)
        assert caught.value.code == "context_length_exceeded"
        assert "14 tokens" in str(caught.value)
        assert "15 tokens" in str(caught.value)
    with FakeServer(echo, window=15, count=count) as server:
        ask(server)


def test_a_list_that_the_check_complains_about_is_refused() -> None:
    with (
        FakeServer(echo, check=lambda request: "Orphan tool message.") as server,
        pytest.raises(openai.BadRequestError, match=r"Orphan tool message\."),
    ):
        ask(server)
    with FakeServer(echo, check=lambda request: None) as server:
        ask(server)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"messages": []}', b"\xff"])
def test_a_body_that_is_no_request_is_refused(server: FakeServer, body: bytes) -> None:
    request = urllib.request.Request(f"{server.base_url}/chat/completions", data=body)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as answer:
        assert answer.code == 400
        assert "list of messages" in json.load(answer)["error"]["message"]


def test_a_wrong_key_is_refused_and_the_right_one_taken() -> None:
    with FakeServer(echo, key="right") as server:
        with client(server) as api, pytest.raises(openai.AuthenticationError):
            api.chat.completions.create(model="m", messages=[USER])
        with client(server, api_key="right") as api:
            api.chat.completions.create(model="m", messages=[USER])
        assert len(server.bodies) == 2


def test_the_models_are_listed_and_others_do_not_exist() -> None:
    with FakeServer(echo, models=["one", "two"]) as server, client(server) as api:
        assert [model.id for model in api.models.list()] == ["one", "two"]
        with pytest.raises(openai.NotFoundError, match="`m` does not exist"):
            api.chat.completions.create(model="m", messages=[USER])


def test_other_paths_do_not_exist(server: FakeServer) -> None:
    with client(server) as api:
        with pytest.raises(openai.NotFoundError, match=r"Invalid URL \(GET /v1/files\)"):
            api.files.list()
        with pytest.raises(openai.NotFoundError, match="POST /v1/embeddings"):
            api.embeddings.create(model="m", input="x")
    assert server.bodies == []


def test_each_fault_is_used_by_one_request_and_none_stands_for_no_fault() -> None:
    faults = [None, Fault.status(500, "broken"), None]
    with FakeServer(echo, faults=faults) as server:
        ask(server)
        with pytest.raises(openai.InternalServerError, match="broken"):
            ask(server)
        ask(server)
        ask(server)
        assert len(server.bodies) == 4


def test_a_rate_limit_says_how_long_to_wait() -> None:
    with (
        FakeServer(echo, faults=[Fault.rate_limit(0.25)]) as server,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        ask(server)
    assert caught.value.response.headers["retry-after"] == "0.25"
    assert caught.value.response.headers["retry-after-ms"] == "250"


def test_a_stalled_answer_outlasts_an_impatient_client() -> None:
    with (
        FakeServer(echo, faults=[Fault.timeout(300)]) as server,
        client(server, timeout=0.2) as api,
        pytest.raises(openai.APITimeoutError),
    ):
        api.chat.completions.create(model="m", messages=[USER])
    # Leaving the block did not wait for the rest of the five minutes.


def test_a_delayed_answer_arrives_for_a_patient_client() -> None:
    with FakeServer(echo, faults=[Fault.timeout(0.05)]) as server:
        assert ask(server).choices


@pytest.mark.parametrize("after", [0, 1, 40])
def test_a_lost_connection_is_a_connection_error(after: int) -> None:
    with (
        FakeServer(echo, faults=[Fault.disconnect(after)]) as server,
        pytest.raises(openai.APIConnectionError),
    ):
        ask(server)


def test_a_cut_answer_says_why() -> None:
    with FakeServer(echo, faults=[Fault.cut(), Fault.cut("content_filter")]) as server:
        choice = ask(server).choices[0]
        assert (choice.message.content, choice.finish_reason) == ("you sai", "length")
        assert ask(server).choices[0].finish_reason == "content_filter"


def test_garbage_is_sent_as_it_is() -> None:
    page = b"<html>Sign in</html>"
    with FakeServer(echo, faults=[Fault.garbage(page, content_type="text/html")]) as server:
        assert ask(server) == page.decode()


def test_a_failing_player_is_told_at_once_and_raised_at_the_end() -> None:
    def broken(request: Mapping[str, Any]) -> dict[str, Any]:
        raise LookupError("no such line in the script")

    server = FakeServer(broken).start()
    with (
        client(server, max_retries=3) as api,
        pytest.raises(openai.InternalServerError, match="no such line"),
    ):
        api.chat.completions.create(model="m", messages=[USER])
    assert len(server.bodies) == 1
    with pytest.raises(LookupError, match="no such line"):
        server.__exit__(None, None, None)


def test_many_clients_at_once_are_all_answered_and_recorded(server: FakeServer) -> None:
    replies: list[str] = []

    def one(number: int) -> None:
        reply = ask(server, {"role": "user", "content": str(number)})
        replies.append(reply.choices[0].message.content)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(replies) == [f"you said {number}" for number in range(8)]
    assert len(server.bodies) == 8


def test_nothing_is_left_open() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        before = threading.active_count()
        with FakeServer(echo) as server:
            ask(server)
        FakeServer(echo).close()
    assert threading.active_count() == before
    with pytest.raises(openai.APIConnectionError):
        ask(server)
