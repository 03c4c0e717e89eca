"""Recorded traffic of the Messages API (also through Bedrock) and recorded sessions of its agents."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from block_world import Letters, wire

from redraft.context import Change, Commit, Gate, Live, Revision, commit, groups
from redraft.context.turn import edited_origin
from redraft.dialects.anthropic import Anthropic
from redraft.tokens import Meter

Json = dict[str, Any]

# Read at import: the tests themselves run without settings from outside.
_SHARED = Path(os.environ.get("REDRAFT_SHARED", Path(__file__).parents[3] / "shared"))
_HOME = _SHARED / "data" / "trajectories"
_TRAFFIC = sorted(_HOME.glob("http/*anthropic*.yaml")) + sorted(
    _HOME.glob("http/*inline_system*.yaml")
)
_SESSIONS = sorted(_HOME.glob("sessions/*.jsonl"))

pytestmark = pytest.mark.skipif(
    not _TRAFFIC,
    reason=f"no recordings in {_HOME}; set REDRAFT_SHARED to the directory that has them",
)


@cache
def exchanges(path: Path) -> list[Json]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    recorded: list[Json] = yaml.load(path.read_text(), loader)["interactions"]
    return recorded


traffic = pytest.mark.parametrize(
    "path", _TRAFFIC, ids=lambda path: path.stem.partition("test_")[2]
)


@traffic
def test_a_recorded_request_goes_out_as_the_bytes_it_was(path: Path) -> None:
    for exchange in exchanges(path):
        body = exchange["request"]["parsed_body"]
        dialect = Anthropic()
        frame, contents = dialect.split(body)
        assert wire(dialect.join(frame, contents)) == wire(body)
        assert [content.role for content in contents] == [m["role"] for m in body["messages"]]


@traffic
def test_a_recorded_reply_is_sent_back_as_it_came(path: Path) -> None:
    for exchange in exchanges(path):
        response = exchange["response"]["parsed_body"]
        reply = Anthropic().read(response)
        assert reply.content.carriers == ({"role": "assistant", "content": response["content"]},)
        assert reply.complete
        assert reply.content.text


def test_the_prompt_of_a_recorded_reply_is_all_that_was_sent() -> None:
    """9,511 tokens from the cache and 3 beside them: the first request had no other prompt."""
    (path,) = [path for path in _TRAFFIC if "bedrock" in path.name]
    first, second = (Anthropic().read(e["response"]["parsed_body"]).usage for e in exchanges(path))
    assert first is not None
    assert second is not None
    assert (first.prompt, first.cached, first.output) == (9514, 9511, 1944)
    assert (second.prompt, second.cached) == (9511 + 1956 + 3, 9511)


def test_a_prompt_that_the_server_compacted_is_no_measure_of_what_was_sent() -> None:
    """55,196 tokens went out; the reply counts the 229 that were left of them."""
    (path,) = [path for path in _TRAFFIC if "compaction" in path.name]
    (exchange,) = exchanges(path)
    reply = Anthropic().read(exchange["response"]["parsed_body"])
    assert reply.usage is not None
    assert (reply.usage.prompt, reply.usage.comparable) == (229, False)
    assert [part.kind for part in reply.content.parts] == ["compaction"]


# -- sessions ------------------------------------------------------------------------------------


@cache
def lines(path: Path) -> list[Json]:
    """The messages of a session as its log has them: one a block, for some agents."""
    messages: list[Json] = []
    for line in map(json.loads, path.read_text().splitlines()):
        said = line.get("message")
        # A sub-agent's messages stand in the same log.
        if isinstance(said, dict) and said.get("content") and not line.get("isSidechain"):
            messages.append(_claude_code(said) if line["type"] != "message" else _pi(said))
    return messages


@cache
def session(path: Path) -> list[Json]:
    """The messages of a session as its agent sent them to the Messages API."""
    return _legal(lines(path))


def _claude_code(said: Json) -> Json:
    return {"role": said["role"], "content": said["content"]}


def _pi(said: Json) -> Json:
    """The agent `pi` keeps a format of its own, with the same things in it."""
    if said["role"] == "toolResult":
        result = {
            "type": "tool_result",
            "tool_use_id": said["toolCallId"],
            "content": said["content"],
        }
        return {"role": "user", "content": [result]}
    blocks = []
    for block in said["content"]:
        match block["type"]:
            case "toolCall":
                call = {"id": block["id"], "name": block["name"], "input": block["arguments"]}
                blocks.append({"type": "tool_use", **call})
            case "thinking":
                seal = {"thinking": block["thinking"], "signature": block["thinkingSignature"]}
                blocks.append({"type": "thinking", **seal})
            case _:
                blocks.append(block)
    return {"role": said["role"], "content": blocks}


def _legal(messages: list[Json]) -> list[Json]:
    """Results of one round in one message, and no call without its result (the agents were
    interrupted now and then, and leave such calls out themselves)."""
    answered = {
        b["tool_use_id"] for m in messages for b in _blocks(m) if b["type"] == "tool_result"
    }
    legal: list[Json] = []
    for message in messages:
        blocks = [
            block
            for block in _blocks(message)
            if block["type"] != "tool_use" or block["id"] in answered
        ]
        if not blocks:
            continue
        if legal and _belongs(legal[-1], {"role": message["role"], "content": blocks}):
            legal[-1]["content"] += blocks
        else:
            legal.append({"role": message["role"], "content": blocks})
    return legal


def _blocks(message: Json) -> list[Json]:
    body = message["content"]
    return [{"type": "text", "text": body}] if isinstance(body, str) else list(body)


def _belongs(before: Json, message: Json) -> bool:
    """Whether two messages of a log are one: blocks of one answer, or results of one round."""
    results = all(b["type"] == "tool_result" for b in before["content"] + message["content"])
    return results or before["role"] == message["role"] == "assistant"


def faults(messages: list[Json]) -> list[str]:
    found = []
    for at, message in enumerate(messages):
        blocks = _blocks(message)
        asked = (
            [b["id"] for b in _blocks(messages[at - 1]) if b["type"] == "tool_use"] if at else []
        )
        kinds = [block["type"] == "tool_result" for block in blocks]
        given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(given) != sorted(asked) or kinds != sorted(kinds, reverse=True):
            found.append(f"{at}: {asked} asked, {given} given")
    return found


sessions = pytest.mark.parametrize("path", _SESSIONS, ids=lambda path: path.stem[:12])


@sessions
def test_a_recorded_session_goes_out_as_the_bytes_it_was(path: Path) -> None:
    body = {"messages": session(path), "model": "claude"}
    dialect = Anthropic()
    frame, contents = dialect.split(body)
    assert wire(dialect.join(frame, contents)) == wire(body)
    calls = [call for content in contents for call in content.calls]
    results = [content for content in contents if content.role == "tool"]
    assert len(calls) == len(results) > 10
    assert faults(body["messages"]) == []


@sessions
def test_a_session_as_its_log_has_it_has_the_same_groups_and_goes_out_as_it_was(path: Path) -> None:
    """The log of one agent holds each block, and each result, in a message of its own."""
    dialect = Anthropic()
    frame, contents = dialect.split({"messages": lines(path)})
    assert wire(dialect.join(frame, contents)["messages"]) == wire(lines(path))
    live = Live.start(dialect, Meter(Letters()), frame, contents)
    legal = dialect.split({"messages": session(path)})[1]
    sizes = [len(group.turns) for group in groups(live.turns) if group.head.content.calls]
    answered = {content.answers for content in legal if content.role == "tool"}
    assert sum(sizes) - len(sizes) == len(answered)


@sessions
@pytest.mark.parametrize("seed", range(4))
def test_a_recorded_session_survives_random_edits_with_whole_groups(path: Path, seed: int) -> None:
    dialect, chance = Anthropic(), random.Random(seed)
    frame, contents = dialect.split({"messages": session(path)})
    live = Live.start(dialect, Meter(Letters()), frame, contents)
    for _ in range(3):
        answer = commit(live, _revision(live, chance), 10**9)
        assert isinstance(answer, Commit)
        live = answer.live
        messages = live.body()["messages"]
        assert faults(messages) == []
        assert live.recount() == live.tokens
        carriers = {id(native) for turn in live.turns for native in turn.content.carriers}
        assert any(id(message) in carriers for message in messages)


def _revision(live: Live, chance: random.Random) -> Revision:
    """A tenth of the turns: some go, some get other words, some lose a call."""
    turns = list(live.editable())
    changes = []
    for turn in chance.sample(turns, max(1, len(turns) // 10)):
        content, new = turn.content, None
        if chance.random() < 0.6:
            calls = content.calls[chance.randrange(len(content.calls) + 1) :]
            words = chance.choice((content.text, "shorter", content.text[: len(content.text) // 2]))
            written = live.dialect.write(content, words, calls, content.parts)
            new = live.draft(written, edited_origin(turn))
        changes.append(Change(turn.number, turn.digest, new))
    return Revision("model", "file", tuple(changes), gate=Gate.FIT)
