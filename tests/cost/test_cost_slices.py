"""Turns cut into segments: sizes that add up exactly, and names that tell texts apart."""

from __future__ import annotations

from cost_world import PLAN, chat
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import Change, Commit, Gate, Live, Origin, Revision, commit
from redraft.cost import Cause, Request, Slicer, compare
from redraft.dialects import OpenAIChat
from redraft.tokens import Meter

METER = Meter()


def live_of(
    messages: list[dict[str, object]], tools: list[dict[str, object]] | None = None
) -> Live:
    frame, contents = OpenAIChat().split(
        {"messages": messages, **({"tools": tools} if tools else {})}
    )
    return Live.start(OpenAIChat(), METER, frame, contents)


CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
RICH: list[dict[str, object]] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": [{"type": "text", "text": "look"}, IMAGE]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "hm, ls"},
    {"role": "tool", "tool_call_id": "c1", "content": "a line of output\n" * 900},
    {"role": "assistant", "content": "Done."},
]
TOOLS: list[dict[str, object]] = [{"type": "function", "function": {"name": "ls"}}]


def test_the_segments_add_up_to_the_live_context_exactly() -> None:
    live = live_of(RICH, TOOLS)
    request = Slicer(METER).request(live)
    assert request.tokens == live.tokens
    assert len(request.segments) > len(RICH), "a long output is cut into pieces"


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=4_000)), max_size=6)
)
def test_any_texts_add_up_exactly(said: list[tuple[str, str]]) -> None:
    live = live_of([{"role": role, "content": text} for role, text in said])
    assert Slicer(METER).request(live).tokens == live.tokens


@given(st.floats(0.5, 3.0))
def test_a_ratio_is_off_by_less_than_a_token_a_turn(ratio: float) -> None:
    live = live_of(RICH, TOOLS)
    scaled = Slicer(METER, ratio=ratio).request(live).tokens
    assert abs(scaled - live.tokens * ratio) <= len(RICH) + len(TOOLS)


def test_frame_and_system_prompt_stand_first() -> None:
    request = Slicer(METER, unseen=1_000).request(live_of(RICH, TOOLS))
    kinds = [segment.kind for segment in request.segments]
    assert kinds[:4] == ["frame"] * 4, "what is not recorded, the tools, the framing, the prompt"
    assert request.frame == 4
    assert request.segments[0].tokens == 1_000


def test_a_context_that_grows_keeps_the_very_segments() -> None:
    live = live_of(RICH)
    slicer = Slicer(METER)
    first = slicer.request(live)
    second = slicer.request(live.append([OpenAIChat().note("user", "and now?")]))
    assert all(a is b for a, b in zip(first.segments, second.segments, strict=False))
    assert compare(first, second).cause is None


def test_two_slicers_name_the_same_text_the_same() -> None:
    one, two = (Slicer(METER).request(live_of(RICH)) for _ in range(2))
    assert one.segments == two.segments


def test_the_same_words_in_another_role_are_another_text() -> None:
    one = Slicer(PLAN).request(chat(("user", "yes")))
    two = Slicer(PLAN).request(chat(("assistant", "yes")))
    assert one.segments != two.segments


def test_another_answer_id_or_argument_is_another_text() -> None:
    def request(name: str, path: str) -> Request:
        call = {**CALL, "id": name, "function": {"name": "ls", "arguments": path}}
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": name, "content": "out"}
        return Slicer(METER).request(live_of([answer, result]))

    base = request("c1", "{}")
    assert request("c2", "{}").segments != base.segments
    assert request("c1", '{"a":1}').segments != base.segments


def test_another_image_is_another_text_though_it_is_shown_the_same() -> None:
    def request(data: str) -> Request:
        url = {"url": f"data:image/png;base64,{data}"}
        content = [{"type": "image_url", "image_url": url}]
        return Slicer(METER).request(live_of([{"role": "user", "content": content}]))

    assert request("iVBORw0KGgo=").segments != request("iVBORw0KGgp=").segments


def test_an_edit_late_in_a_long_output_shares_its_first_pieces() -> None:
    old = "a line of output\n" * 900
    live = live_of(RICH)
    draft = live.draft(
        live.dialect.write(live.turns[3].content, old + "more", (), ()), Origin.EDITED
    )
    change = Change(4, live.turns[3].digest, draft)
    done = commit(live, Revision("model", "test", (change,), gate=Gate.FIT), 100_000)
    assert isinstance(done, Commit)
    slicer = Slicer(METER)
    first = slicer.request(live)
    second = slicer.request(done.live, changed=Cause.EDIT)
    found = compare(first, second)
    assert found.cause is Cause.EDIT
    assert found.shared > live.turns[3].tokens * 0.8


THINKING: list[dict[str, object]] = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "a", "reasoning_content": "thinking of one"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "b", "reasoning_content": "thinking of two"},
]


def kinds(reasoning: str, messages: list[dict[str, object]]) -> list[str]:
    slicer = Slicer(METER, reasoning=reasoning)  # type: ignore[arg-type]
    return [segment.kind for segment in slicer.request(live_of(messages)).segments]


def test_a_template_keeps_all_reasoning_or_that_behind_the_last_user_turn_or_none() -> None:
    assert kinds("keep", THINKING).count("reasoning") == 2
    assert kinds("recent", THINKING).count("reasoning") == 1
    assert kinds("drop", THINKING).count("reasoning") == 0


def test_reasoning_that_a_template_strips_shows_as_the_cause() -> None:
    slicer = Slicer(METER, reasoning="recent")
    live = live_of(THINKING)
    longer = live.append([OpenAIChat().note("user", "three")])
    assert compare(slicer.request(live), slicer.request(longer)).cause is Cause.REASONING


def test_settings_take_no_tokens_and_break_the_prefix_behind_the_frame() -> None:
    slicer, live = Slicer(METER), live_of(RICH)
    low, high = (slicer.request(live, settings=name) for name in ("low", "high"))
    assert low.tokens == high.tokens == live.tokens
    change = compare(low, high)
    assert (change.cause, change.shared) == (Cause.FRAME, live.frame_tokens + live.turns[0].tokens)


def test_calls_and_pieces_know_where_a_content_block_ends() -> None:
    request = Slicer(METER).request(live_of(RICH))
    texts = [segment for segment in request.segments if not segment.ends]
    assert texts, "the pieces of the long output but its last"
    assert request.segments[-1].ends
