"""The list that is sent: mended where a rule is broken, and never twice in different ways."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from session_world import (
    HEAD,
    ask,
    bytes_of,
    call,
    calling,
    common,
    fill,
    legal,
    play,
    replaced,
    result,
    runs,
    says,
    tool_call,
    user,
)

from redraft import Session
from redraft.context import Live
from redraft.dialects import OPENAI_CHAT, OpenAIChat, Profile, repair
from redraft.dialects.rules import Rule
from redraft.events import Event, RequestMade
from redraft.session.wire import Wire
from redraft.tokens import Meter


class Letters:
    def count(self, text: str) -> int:
        return len(text)


def live_of(messages: list[Any]) -> Live:
    dialect = OpenAIChat()
    frame, contents = dialect.split({"messages": messages})
    return Live.start(dialect, Meter(Letters()), frame, contents)


def grown(live: Live, messages: list[Any]) -> Live:
    return live.append(OpenAIChat().split({"messages": messages})[1])


PIECES = [
    [user("hello")],
    [says("hi")],
    [says("")],
    [calling(call("ls", "a")), result("out", "a")],
    [calling(call("ls", "a"), call("ls", "b")), result("out", "b")],
    [calling(call("ls", "a"))],
    [result("late", "a")],
    [calling(tool_call("bash", '{"comm', "c")), result("", "c")],
    [calling(call("\ud800", "d")), result("\udfff", "d")],
    [{"role": "user", "content": []}],
]
pieces = st.lists(st.sampled_from(PIECES), max_size=6)


@given(st.lists(pieces, min_size=1, max_size=6))
@example([[PIECES[4][:2], PIECES[3]], []])  # a missing result is put in where the next call stands
@example([[PIECES[5], PIECES[1], PIECES[6]]])  # the newest message goes in front of an older one
def test_a_growing_list_is_always_legal_and_keeps_its_bytes(rounds: list[list[Any]]) -> None:
    wire, live = Wire(OPENAI_CHAT), live_of(list(HEAD))
    before: list[Any] = []
    for added in rounds:
        live = grown(live, [message for piece in added for message in piece])
        preview = wire.preview(live)
        sent = wire.body(live)["messages"]
        assert legal(sent)
        whole = live.open_at == len(live.turns)
        assert not whole or bytes_of(preview) == bytes_of(sent)
        kept = len(before) if whole else 0
        late = any(piece == PIECES[6] for piece in added)
        assert late or bytes_of(sent[:kept]) == bytes_of(before[:kept])
        before = sent if whole else []


@given(pieces, pieces)
def test_a_list_that_was_cut_and_grew_again_is_legal(one: list[Any], other: list[Any]) -> None:
    wire = Wire(OPENAI_CHAT)
    base = live_of([*HEAD, *(message for piece in one for message in piece)])
    wire.body(base)
    cut = live_of(list(HEAD))
    wire.body(cut)
    again = grown(cut, [message for piece in other for message in piece])
    sent = wire.body(again)["messages"]
    assert legal(sent)
    fresh = Wire(OPENAI_CHAT).body(again)["messages"]
    assert bytes_of(sent) == bytes_of(fresh)


def test_what_is_legal_is_sent_as_the_very_objects() -> None:
    live = live_of([*HEAD, *PIECES[3], says("done")])
    wire = Wire(OPENAI_CHAT)
    sent = wire.body(live)["messages"]
    natives = [native for turn in live.turns for native in turn.content.carriers]
    assert common(sent, natives) == 5
    assert wire.body(live)["messages"] is not sent


def test_a_mended_stretch_is_not_looked_at_again() -> None:
    looked: list[int] = []

    def find(messages: Any, start: int) -> Any:
        looked.append(len(messages) - start)
        return iter(())

    profile = Profile("counting", (Rule("count", "a test", find, list),))
    wire, live = Wire(profile), live_of(list(HEAD))
    for _ in range(50):
        live = grown(live, PIECES[3])
        wire.body(live)
    assert max(looked) == 2


def test_a_mend_keeps_its_bytes_while_the_context_grows() -> None:
    with Session(HEAD) as session:
        ask(session, calling(tool_call("bash", '{"command": "cut o')), finish="length")
        with session.round():
            pass
        first = session.request()
        assert first is not None
        assert first["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
        with session.answer() as answer:
            answer({"choices": [{"message": runs("ls"), "finish_reason": "stop"}]})
        with session.round() as now:
            now.result(now.calls[0], "out")
        second = session.request()
        assert second is not None
        count = len(first["messages"])
        assert bytes_of(second["messages"][:count]) == bytes_of(first["messages"])
        assert session.live.turns[2].content.calls[0].arguments == '{"command": "cut o'


def test_the_tokens_that_must_be_read_again_are_told() -> None:
    events: list[Event] = []
    with Session(HEAD, on_event=events.append) as session:
        fill(session, 6)
        play(session, runs(replaced(5, 6, "settled")))
        session.request()
        requests = [event for event in events if isinstance(event, RequestMade)]
        first, last = requests[0], requests[-1]
        assert (first.reused_raw, first.reread_raw) == (0, 0)
        turns = session.live.turns
        frame = session.live.frame_tokens
        assert last.reused_raw == frame + sum(turn.tokens for turn in turns[:4])
        assert last.reread_raw == sum(turn.tokens for turn in turns[5:-2])
        assert last.raw == session.live.tokens
        for before, event in pairwise(requests[:-1]):
            assert (event.reused_raw, event.reread_raw) == (before.raw, 0)


def test_repair_of_the_whole_is_what_a_fresh_wire_sends() -> None:
    live = live_of([*HEAD, *(message for piece in PIECES for message in piece)])
    sent = Wire(OPENAI_CHAT).body(live)["messages"]
    assert sent == list(repair(live.body()["messages"], OPENAI_CHAT))
