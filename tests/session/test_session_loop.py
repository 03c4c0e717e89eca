"""The loop as README shows it, with the real client of OpenAI over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from session_world import BASH, HEAD, TASK, call, calling, common, runs, says, shell

from redraft import Session
from redraft.session import ToolCall
from redraft.testing import FakeServer


class Script:
    """Says its messages one after another, then `done`."""

    def __init__(self, *messages: Mapping[str, Any]) -> None:
        self._messages: Iterator[Mapping[str, Any]] = iter(messages)

    def __call__(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return next(self._messages, says("done"))


def client_of(server: FakeServer) -> OpenAI:
    return OpenAI(base_url=server.base_url, api_key="key", max_retries=0)


def test_the_loop_runs_parallel_calls_and_ends_with_the_final_answer() -> None:
    script = Script(runs("echo one", "echo two"), runs("echo three"), says("all done"))
    with (
        FakeServer(script) as server,
        client_of(server) as client,
        Session(HEAD, tools=[BASH]) as session,
    ):

        def run(asked: ToolCall) -> tuple[str, int]:
            return shell(asked["command"], session.env)

        while request := session.request():
            with session.answer() as answer:
                answer(client.chat.completions.create(model="gpt-5", **request))
            with session.round() as round:
                for asked in round.calls:
                    output, code = run(asked)
                    round.result(asked, output, exit_code=code)
        roles = [message["role"] for message in session.messages]
        assert roles == [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "tool",
            "assistant",
        ]
        assert session.messages[-1]["content"] == "all done"
        assert [m["content"].splitlines()[0] for m in session.messages if m["role"] == "tool"] == [
            "one",
            "two",
            "three",
        ]
    assert [request["tools"] for request in server.requests] == [[BASH]] * 3
    assert len(server.bodies) == 3


def test_the_loop_is_the_same_in_async_code_with_calls_run_at_once() -> None:
    script = Script(runs("echo one", "echo two"), runs("echo three"))

    async def run(asked: ToolCall, env: Mapping[str, str]) -> tuple[str, int]:
        return await asyncio.to_thread(shell, asked["command"], env)

    async def loop(server: FakeServer) -> list[str]:
        client = AsyncOpenAI(base_url=server.base_url, api_key="key", max_retries=0)
        async with client:
            with Session(HEAD, tools=[BASH]) as session:
                while request := session.request():
                    async with session.answer() as answer:
                        answer(await client.chat.completions.create(model="gpt-5", **request))
                    async with session.round() as round:
                        done = await asyncio.gather(*(run(c, session.env) for c in round.calls))
                        for asked, (output, code) in zip(round.calls, done, strict=True):
                            round.result(asked, output, exit_code=code)
                return [
                    m["content"].splitlines()[0] for m in session.messages if m["role"] == "tool"
                ]

    with FakeServer(script) as server:
        assert asyncio.run(loop(server)) == ["one", "two", "three"]


def test_the_final_object_of_a_stream_is_an_answer() -> None:
    script = Script(runs("echo one", "echo two"))
    with (
        FakeServer(script) as server,
        client_of(server) as client,
        Session(HEAD, tools=[BASH]) as session,
    ):
        while request := session.request():
            with (
                session.answer() as answer,
                client.chat.completions.stream(
                    model="gpt-5", stream_options={"include_usage": True}, **request
                ) as stream,
            ):
                for _ in stream:
                    pass
                answer(stream.get_final_completion())
            with session.round() as round:
                for asked in round.calls:
                    round.result(asked, "output of " + asked["command"])
        assert [m["role"] for m in session.messages][2:] == [
            "assistant",
            "tool",
            "tool",
            "assistant",
        ]
        sent = server.requests[1]["messages"][2]
        assert set(sent) == {"role", "content", "tool_calls"}
        assert sent["tool_calls"] == runs("echo one", "echo two")["tool_calls"]


def test_messages_may_be_objects_of_the_sdk() -> None:
    script = Script(runs("echo one"), says("first"), says("second"))
    with FakeServer(script) as server, client_of(server) as client:
        history: list[Any] = list(HEAD)
        first = client.chat.completions.create(model="gpt-5", messages=history)
        history += [
            first.choices[0].message,
            {"role": "tool", "tool_call_id": "call_1", "content": "x"},
        ]
        with Session(history) as session:
            request = session.request()
            assert request is not None
            with session.answer() as answer:
                answer(client.chat.completions.create(model="gpt-5", **request))
            assert session.request() is None
            session.append({"role": "user", "content": "more"})
            request = session.request()
            assert request is not None
            with session.answer() as answer:
                answer(client.chat.completions.create(model="gpt-5", **request))
    sent = server.requests[2]["messages"]
    assert sent[2] == {**runs("echo one"), "role": "assistant"}
    assert [message["content"] for message in sent[4:]] == ["first", "more"]


def all_requests(server: FakeServer, session: Session, client: OpenAI) -> list[list[Any]]:
    """Run the loop to its end; the messages of every request, as objects."""
    sent = []
    while request := session.request():
        sent.append(request["messages"])
        with session.answer() as answer:
            answer(client.chat.completions.create(model="gpt-5", **request))
        with session.round() as round:
            for asked in round.calls:
                output, code = shell(asked["command"], session.env)
                round.result(asked, output, exit_code=code)
    return sent


def wire(body: bytes, messages: int) -> bytes:
    """The bytes of a request's first messages, checked to be just that."""
    listed = json.loads(body)["messages"][:messages]
    piece = json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    start = body.index(b'"messages":') + len(b'"messages":')
    assert body[start : start + len(piece)] == piece
    return piece


def test_an_edit_of_turn_90_of_100_sends_everything_before_it_byte_for_byte_again() -> None:
    steps = [calling(call(f"echo {at}", f"c{at}"), text=f"step {at}") for at in range(49)]
    edit = calling(call("sed -i 's/^43$/forty-three/' $REDRAFT_CONTEXT_FILE", "edit"), text="tidy")
    with (
        FakeServer(Script(*steps, edit)) as server,
        client_of(server) as client,
        Session(HEAD, tools=[BASH], window=200_000) as session,
    ):
        before, after = all_requests(server, session, client)[-2:]
        assert session.live.turns[89].number == 90
    assert len(before) == 100
    assert common(before, after) == 89
    assert after[89]["content"].startswith("forty-three\n[redraft:")
    assert common(before[90:], after[90:]) == 10
    old, new = server.bodies[-2:]
    assert wire(old, 89) == wire(new, 89)


def test_without_an_edit_every_request_begins_with_the_bytes_of_the_one_before() -> None:
    script = Script(*(runs(f"echo {at}", f"seq {at}") for at in range(6)))
    with (
        FakeServer(script) as server,
        client_of(server) as client,
        Session(HEAD, tools=[BASH]) as session,
    ):
        sent = all_requests(server, session, client)
    assert len(sent) == 7
    for at in range(6):
        assert common(sent[at], sent[at + 1]) == len(sent[at])
        count = len(sent[at])
        assert wire(server.bodies[at], count) == wire(server.bodies[at + 1], count)


@pytest.mark.parametrize("task", [TASK["content"], "caf\u00e9 \u2028 \ud800 \x00 end"])
def test_any_task_can_be_sent(task: str) -> None:
    messages = [{"role": "user", "content": task}]
    with (
        FakeServer(Script(says("ok"))) as server,
        client_of(server) as client,
        Session(messages) as session,
    ):
        request = session.request()
        assert request is not None
        with session.answer() as answer:
            answer(client.chat.completions.create(model="gpt-5", **request))
        assert session.messages[-1]["content"] == "ok"
    assert server.requests[0]["messages"][1]["content"] == task.replace("\ud800", "\ufffd")
