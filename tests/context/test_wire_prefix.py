"""What a real client puts on the wire: everything before the first edited turn, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from context_world import (
    CHAT,
    applied,
    calls,
    contents,
    drop,
    edit,
    insert,
    result,
    revise,
    said,
    start,
    turn,
    user,
    words,
)

from redraft.context import Live, commit, invert
from redraft.testing.server import FakeServer

IMAGE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}, "x_extra": None}


class Sender:
    """Sends contexts through the OpenAI client over a real socket."""

    def __init__(self, server: FakeServer, client: openai.OpenAI) -> None:
        self.server = server
        self.client = client

    def __call__(self, live: Live) -> bytes:
        self.client.chat.completions.create(model="m", **live.body())
        return self.server.bodies[-1]


@pytest.fixture(scope="module")
def send() -> Iterator[Sender]:
    server = FakeServer(lambda request: said("hi"))
    with server, openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
        yield Sender(server, client)


def hundred() -> Live:
    """A hundred turns, with all that a carrier may hold."""
    messages: list[Any] = [{"role": "system", "content": "prompt"}, user("tâsk\r\n")]
    for at in range(24):
        messages += [
            calls(f"c{at}", f"d{at}", text=f"step {at} " + words(9), reasoning_content="hm"),
            result(f"d{at}", [{"type": "text", "text": "x", "cache_control": {"a": 1}}, IMAGE]),
            result(f"c{at}", f"[[CTX_TURN {at}]]\r\n\u2028"),
            said(f"so {at}", x_unknown={"k": [1, None, 2.5]}),
        ]
    messages += [user("more"), said("done")]
    assert len(messages) == 100
    return start(*messages, tools=[{"type": "function", "function": {"name": "bash"}}])


def prefix(live: Live, number: int) -> bytes:
    """The bytes of all messages before a turn, as the body of a request begins."""
    at = next(at for at, turn in enumerate(live.turns) if turn.number == number)
    messages = [turn.content.carriers[0] for turn in live.turns[:at]]
    text = json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
    return ('{"model":"m","messages":' + text[:-1]).encode()


def test_an_edit_of_turn_90_re_sends_everything_before_it_byte_for_byte(send: Sender) -> None:
    live = hundred()
    before = send(live)
    done = applied(revise(live, edit(live, 90, "edited")))
    after = send(done.live)
    assert before.startswith(prefix(live, 90))
    assert after.startswith(prefix(live, 90))
    assert after != before
    assert after.endswith(before[-200:])


def test_every_way_of_editing_leaves_what_is_before_it_alone(send: Sender) -> None:
    live = hundred()
    for number in (3, 47, 90):
        for steps in (
            [drop(live, number)],
            [insert(live, number - 1, "note")],
            [edit(live, number, "x", calls=(0,))],
            [drop(live, number), insert(live, number, "summary")],
        ):
            done = applied(revise(live, *steps))
            assert send(done.live).startswith(prefix(live, number))


def test_an_untouched_request_is_the_same_bytes_every_time(send: Sender) -> None:
    live = hundred()
    raw = [turn.content.carriers[0] for turn in live.turns]
    frame, split = CHAT.split({"messages": raw, **live.frame.fields})
    again = Live.start(CHAT, live.meter, frame, split)
    assert send(live) == send(live) == send(again)


def test_an_undo_sends_the_bytes_from_before_the_edit(send: Sender) -> None:
    live = hundred()
    done = applied(revise(live, drop(live, 47), edit(live, 90, "edited"), insert(live, 9, "note")))
    back = applied(commit(done.live, invert(done.live, done), 10**9))
    assert send(back.live) == send(live)


def test_appending_keeps_the_bytes_of_all_that_was_sent(send: Sender) -> None:
    live = hundred()
    now = live.append(contents(user("and now?")))
    sent = send(live)
    end = sent.index(b'],"tools"')
    assert send(now).startswith(sent[:end])
    assert turn(now, 100) is turn(live, 100)
