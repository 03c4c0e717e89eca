"""Whatever the wire format, a session's record gives back the same turns in the same carriers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import responses_world
from block_world import WORLDS, edited
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_world import METER, as_bytes, differing, journal, started

from redraft.context import Live
from redraft.dialects import Anthropic, Content, Dialect, Gemini, OpenAIChat, OpenAIResponses
from redraft.store import Appended, Committed, Entry, Pinned, SQLiteJournal, inputs
from redraft.store.base import Sent
from redraft.testing.strategies import conversations

Json = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A wire format, the requests it meets, and one of its replies with two calls."""

    dialect: type[Any]
    bodies: st.SearchStrategy[Json]
    reply: Json


CALLS = [{"name": "bash", "args": {"command": "ls"}}, {"name": "bash", "args": {"command": "pwd"}}]

BEHIND = {"previous_response_id": "resp_1"}
"""A request whose beginning lies on the server: its results may answer calls that it does not hold."""

FORMATS = {
    "openai-chat": World(
        OpenAIChat,
        conversations().map(lambda messages: {"messages": messages, "model": "m"}),
        {
            "role": "assistant",
            "content": "On it.",
            "reasoning_content": "hm",
            "tool_calls": [
                {
                    "id": f"new_{at}",
                    "type": "function",
                    "function": {"name": "bash", "arguments": "{}"},
                }
                for at in range(2)
            ],
        },
    ),
    "openai-responses": World(
        OpenAIResponses,
        st.builds(dict.__or__, responses_world.bodies(), st.sampled_from(({}, BEHIND))),
        {
            "output": [
                responses_world.thought("rs_new"),
                responses_world.said("On it.", "msg_new"),
                responses_world.call("new_0"),
                responses_world.call("new_1"),
            ]
        },
    ),
    "anthropic": World(
        Anthropic,
        WORLDS["anthropic"].bodies(),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "On it."},
                *(
                    {"type": "tool_use", "id": f"new_{at}", "name": "bash", "input": {}}
                    for at in range(2)
                ),
            ],
        },
    ),
    "gemini": World(
        Gemini,
        WORLDS["gemini"].bodies(),
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "On it."},
                            {"functionCall": CALLS[0], "thoughtSignature": "c2ln"},
                            {"functionCall": CALLS[1]},
                        ],
                    }
                }
            ]
        },
    ),
}


def live_of(dialect: Dialect, body: Json) -> Live:
    frame, contents = dialect.split(body)
    return Live.start(dialect, METER, frame, contents)


def round_of(live: Live, reply: Json) -> Iterator[Sequence[Content]]:
    """A reply, and then the results of its calls, as a session appends them."""
    content = live.dialect.read(reply).content
    yield [content]
    yield [live.dialect.result(call, f"result {call.index}") for call in content.calls]


def shared(live: Live) -> list[int]:
    """Which turns hold the same carriers: for each carrier the place where it stood first."""
    seen: dict[int, int] = {}
    natives = [native for turn in live.turns for native in turn.content.carriers]
    return [seen.setdefault(id(native), at) for at, native in enumerate(natives)]


class Story:
    """A live context and its record, going on together."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.entries: list[Entry] = [started(live)]
        self.sent: list[bytes] = []

    def append(self, contents: Sequence[Content]) -> None:
        before = len(self.live.turns)
        self.live = self.live.append(contents)
        self.entries.append(Appended(self.live.turns[before:]))

    def edit(self, data: st.DataObject) -> None:
        done = edited(self.live, data)
        if done is not None:
            self.live = done.live
            self.entries.append(Committed(len(self.entries), done))

    def send(self) -> None:
        self.sent.append(as_bytes(self.live))
        self.entries.append(Sent(len(self.sent), len(self.live.turns), self.live.tokens))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_record_of_any_session_gives_its_context_back(name: str, data: st.DataObject) -> None:
    world = FORMATS[name]
    story = Story(live_of(world.dialect(), data.draw(world.bodies)))
    story.send()
    story.edit(data)
    story.send()
    for contents in round_of(story.live, world.reply):
        story.append(contents)
    story.send()
    story.edit(data)
    story.entries.append(Pinned(frozenset({story.live.turns[-1].number})))
    story.send()
    with tempfile.TemporaryDirectory() as place:
        with journal(Path(place), dialect=world.dialect()) as writer:
            for entry in story.entries:
                writer.record(entry)
        with SQLiteJournal(Path(place), meter=METER, write=False) as reader:
            assert type(reader.dialect) is world.dialect  # the file says which
            tail = reader.tail()
            entries = [recorded.entry for recorded in tail.new()]
            again = tail.live
            sent = [json.dumps(each.body(reader.dialect)).encode() for each in inputs(entries)]
    assert again is not None
    assert differing(entries, story.entries) is None
    assert shared(again) == shared(story.live)
    assert sent == story.sent
    # And from there both go on alike.
    for contents in round_of(again, world.reply):
        again = again.append(contents)
    for contents in round_of(story.live, world.reply):
        story.append(contents)
    assert as_bytes(again) == as_bytes(story.live)


def written(story: Story, directory: Path) -> Live:
    """The live context that the record of `story` gives back."""
    with journal(directory, dialect=story.live.dialect) as writer:
        for entry in story.entries:
            writer.record(entry)
    with SQLiteJournal(directory, meter=METER, write=False) as reader:
        tail = reader.tail()
        assert differing((recorded.entry for recorded in tail.new()), story.entries) is None
        assert tail.live is not None
        return tail.live


def test_a_request_of_plain_text_is_plain_text_again(tmp_path: Path) -> None:
    body = {"model": "m", "input": "Do it.", "instructions": "Help."}
    story = Story(live_of(OpenAIResponses(), body))
    again = written(story, tmp_path)
    assert again.body() == story.live.body() == body
    for contents in round_of(again, FORMATS["openai-responses"].reply):
        again = again.append(contents)
    assert again.body()["input"][0] == {"type": "message", "role": "user", "content": "Do it."}


def test_results_of_calls_that_lie_on_the_server_stay_held(tmp_path: Path) -> None:
    body = {"input": [responses_world.output("call_before")], **BEHIND}
    story = Story(live_of(OpenAIResponses(), body))
    again = written(story, tmp_path)
    assert [turn.role for turn in again.turns] == ["system"]
    assert not again.editable()
