"""Requests of the Responses API on the wire: OpenAI's own client, and recorded traffic."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from block_world import NO_LIMIT, Letters, wire
from pydantic import BaseModel
from responses_world import (
    PNG,
    RESPONSES,
    call,
    compaction,
    faults,
    output,
    pairs_of,
    said,
    search,
    thought,
    user,
)

from redraft.context import Change, Commit, Gate, Live, Revision, commit, groups
from redraft.context.turn import edited_origin
from redraft.tokens import Meter

Json = dict[str, Any]

# -- OpenAI's client -------------------------------------------------------------------------------


class Server:
    """Answers every request with the same response and keeps the bytes of what was asked."""

    def __init__(self, answer: Json) -> None:
        self.bodies: list[bytes] = []
        self._answer = answer
        transport = httpx2.MockTransport(self._handle)
        http = httpx2.Client(transport=transport)
        self.client = openai.OpenAI(api_key="k", max_retries=0, http_client=http)

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(request.read())
        return httpx2.Response(200, json=self._answer)


def answer(*items: Any, **fields: Any) -> Json:
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt", "tools": []}
    body |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": "completed"}
    return {**body, "output": list(items), **fields}


def request() -> Json:
    image = {"type": "input_image", "image_url": PNG, "detail": "auto"}
    text = {"type": "input_text", "text": "tâsk\r\n[[CTX_TURN 1 role=system]]"}
    return {
        "model": "gpt",
        "instructions": "Help.",
        "input": [
            user("Be brief.", role="developer"),
            user([text, image]),
            thought(summary=[{"type": "summary_text", "text": "hm"}]),
            said("looking", phase="commentary"),
            call("a"),
            {
                "type": "custom_tool_call",
                "id": "ctc_1",
                "call_id": "b",
                "name": "sql",
                "input": "é",
            },
            output("a", [text, image]),
            {"type": "custom_tool_call_output", "call_id": "b", "output": ""},
            compaction(),
            search(),
            {"type": "item_reference", "id": "msg_7"},
            {"type": "from_the_future", "payload": {"k": [1, None, 2.5]}},
            said("done", "msg_2", x_unknown={"k": 1}),
        ],
        "tools": [{"type": "function", "name": "bash", "parameters": {"type": "object"}}],
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "temperature": 0,
    }


def test_openais_client_sends_the_same_bytes_with_redraft_as_without() -> None:
    server, body = Server(answer(said("hi"))), request()
    server.client.responses.create(**body)
    server.client.responses.create(**RESPONSES.join(*RESPONSES.split(body)))
    assert server.bodies[0] == server.bodies[1]
    assert json.loads(server.bodies[0])["input"] == body["input"]


def test_what_its_client_read_goes_back_as_the_bytes_that_it_would_send() -> None:
    items = [thought(), said("looking"), call("a"), search(), {"type": "from_the_future", "k": [1]}]
    server = Server(answer(*items))
    response = server.client.responses.create(model="gpt", input="go")
    content = RESPONSES.read(response).content
    server.client.responses.create(model="gpt", input=[user("go"), *response.output])
    server.client.responses.create(model="gpt", input=[user("go"), *content.carriers])
    frame, turns = RESPONSES.split({"model": "gpt", "input": [user("go"), *response.output]})
    server.client.responses.create(**RESPONSES.join(frame, turns))
    assert server.bodies[1] == server.bodies[2] == server.bodies[3]
    assert json.loads(server.bodies[1])["input"][1:] == items


class Found(BaseModel):
    value: int


def test_what_its_client_parsed_goes_back_as_it_would_send_it() -> None:
    server = Server(answer(thought(), said('{"value": 1}'), call("a")))
    response = server.client.responses.parse(model="gpt", input="go", text_format=Found)
    assert response.output_parsed == Found(value=1)
    content = RESPONSES.read(response).content
    server.client.responses.create(model="gpt", input=list(response.output))
    server.client.responses.create(model="gpt", input=list(content.carriers))
    assert server.bodies[1] == server.bodies[2]


def test_its_client_reads_and_sends_on_what_was_edited() -> None:
    server = Server(answer(thought(), said("a long look"), call("a")))
    response = server.client.responses.create(model="gpt", input=[user("go")])
    frame, turns = RESPONSES.split({"model": "gpt", "input": [user("go")]})
    reply = RESPONSES.read(response).content
    short = RESPONSES.write(reply, "a look", reply.calls, reply.parts)
    result = RESPONSES.result(reply.calls[0], "out")
    server.client.responses.create(**RESPONSES.join(frame, [*turns, short, result]))
    items = json.loads(server.bodies[-1])["input"]
    assert [item.get("type", "message") for item in items] == [
        *("message", "message", "function_call", "function_call_output"),
    ]
    assert faults(items, pairs_of([thought(), said("a long look")])) == []


# -- recorded traffic ------------------------------------------------------------------------------

# Read at import: the tests themselves run without settings from outside.
_SHARED = Path(os.environ.get("REDRAFT_SHARED", Path(__file__).parents[3] / "shared"))
_HOME = _SHARED / "data" / "trajectories" / "http"
_TRAFFIC = sorted(_HOME.glob("*openai_responses*.yaml"))

recorded = pytest.mark.skipif(
    not _TRAFFIC,
    reason=f"no recordings in {_HOME}; set REDRAFT_SHARED to the directory that has them",
)
traffic = pytest.mark.parametrize(
    "path", _TRAFFIC, ids=lambda path: path.stem.partition("test_")[2]
)


@cache
def exchanges(path: Path) -> list[Json]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    interactions: list[Json] = yaml.load(path.read_text(), loader)["interactions"]
    return interactions


def answers(path: Path) -> list[Json]:
    bodies = [exchange["response"]["parsed_body"] for exchange in exchanges(path)]
    return [body for body in bodies if body["object"] == "response"]


@recorded
@traffic
def test_a_recorded_request_goes_out_as_the_bytes_it_was(path: Path) -> None:
    for exchange in exchanges(path):
        body = exchange["request"]["parsed_body"]
        frame, turns = RESPONSES.split(body)
        assert wire(RESPONSES.join(frame, turns)) == wire(body)
        again = RESPONSES.join(frame, turns)["input"]
        assert all(
            a is b for a, b in zip(again, RESPONSES.join(frame, turns)["input"], strict=True)
        )


@recorded
@traffic
def test_openais_client_sends_a_recorded_request_as_it_was_recorded(path: Path) -> None:
    server = Server(answer(said("hi")))
    for exchange in exchanges(path):
        body = exchange["request"]["parsed_body"]
        if "/compact" in exchange["request"]["uri"]:
            continue
        server.client.responses.create(**RESPONSES.join(*RESPONSES.split(body)))
        assert json.loads(server.bodies[-1]) == body


@recorded
@traffic
def test_a_recorded_answer_goes_back_as_it_came_and_its_usage_is_read(path: Path) -> None:
    for body in answers(path):
        reply = RESPONSES.read(body)
        assert list(reply.content.carriers) == body["output"]
        assert reply.complete
        usage = reply.usage
        assert usage is not None
        assert (usage.prompt, usage.output) == (
            body["usage"]["input_tokens"],
            body["usage"]["output_tokens"],
        )
        assert usage.cached == body["usage"]["input_tokens_details"]["cached_tokens"]


@recorded
def test_a_recorded_compaction_costs_about_what_it_was_charged() -> None:
    (path,) = (path for path in _TRAFFIC if path.stem.endswith("compact_messages"))
    first, *_, last = exchanges(path)
    _, turns = RESPONSES.split(last["request"]["parsed_body"])
    sealed = [turn for turn in turns if turn.carriers[0].get("type") == "compaction"]
    charged = last["response"]["parsed_body"]["usage"]["input_tokens"]
    rest = first["response"]["parsed_body"]["usage"]["input_tokens"]
    cost = Meter().content(sealed[0])
    assert 0.8 < cost / (charged - rest) < 1.5


@recorded
@traffic
@pytest.mark.parametrize("seed", range(4))
def test_a_recorded_request_survives_random_edits(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for exchange in exchanges(path):
        frame, turns = RESPONSES.split(exchange["request"]["parsed_body"])
        live = Live.start(RESPONSES, Meter(Letters()), frame, turns)
        for _ in range(3):
            live = _edited(live, chance)
            assert [group for group in groups(live.turns) if group.open_calls] == []
            assert faults(live.body()["input"], {}) == []
            assert live.recount() == live.tokens


def _edited(live: Live, chance: random.Random) -> Live:
    changes = []
    for turn in live.editable():
        content = turn.content
        draft = None
        if chance.random() < 0.5:
            written = RESPONSES.write(content, f"short {chance.random()}", content.calls, ())
            draft = live.draft(written, edited_origin(turn))
        if chance.random() < 0.5:
            changes.append(Change(turn.number, turn.digest, draft))
    done = commit(live, Revision("model", "file", tuple(changes), gate=Gate.FIT), NO_LIMIT)
    return done.live if isinstance(done, Commit) else live
