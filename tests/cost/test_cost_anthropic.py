"""Anthropic's cache: breakpoints, look-back, lifetimes, and the smallest size by model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_world import of

from redraft.cost import (
    HOUR,
    AnthropicCache,
    Break,
    Cause,
    Mark,
    Request,
    account,
    agent_marks,
    minimum_of,
)

LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 60)))


def at(names: str, when: float, *marks: Mark) -> Request:
    return replace(of(names, 2_000), at=when, marks=marks)


def test_a_growing_context_is_read_up_to_the_last_breakpoint() -> None:
    uses = account(AnthropicCache(), [of("Sab", 2_000), of("Sabcd", 2_000)])
    assert [(use.read, use.written, use.fresh) for use in uses] == [
        (0, 6_000, 0),
        (6_000, 4_000, 0),
    ]


def test_what_stands_behind_the_last_breakpoint_is_fresh_and_that_is_no_break() -> None:
    one, two = at("Sab", 0, Mark(2)), at("Sabc", 1, Mark(3))
    uses = account(AnthropicCache(), [one, two])
    assert [(use.read, use.written, use.fresh) for use in uses] == [
        (0, 4_000, 2_000),
        (4_000, 2_000, 2_000),
    ]
    assert uses[1].breaks == ()


def test_after_an_edit_only_an_earlier_breakpoint_helps() -> None:
    edited = replace(of("Sabxd", 2_000), changed=Cause.EDIT)
    use = account(AnthropicCache(), [of("Sabcd", 2_000), edited])[1]
    assert use.read == 2_000, "the frame's breakpoint"
    assert use.breaks == (Break(Cause.EDIT, 6_000),), "a, b and d did not change"


def test_an_entry_is_found_within_twenty_blocks_and_not_one_further() -> None:
    start = "S" + LETTERS[:5]
    near = of(start + LETTERS[5:24], 2_000)
    far = of(start + LETTERS[5:25], 2_000)
    assert account(AnthropicCache(), [of(start, 2_000), near])[1].read == 12_000
    use = account(AnthropicCache(), [of(start, 2_000), far])[1]
    assert (use.read, use.breaks) == (2_000, (Break(Cause.LOOKBACK, 10_000),))


def test_an_intermediate_breakpoint_bridges_the_look_back() -> None:
    start = "S" + LETTERS[:5]
    marks = (Mark(1), Mark(16), Mark(26))
    far = replace(of(start + LETTERS[5:25], 2_000), marks=marks)
    assert account(AnthropicCache(), [of(start, 2_000), far])[1].read == 12_000


def test_a_breakpoint_kept_where_the_last_request_ended_bridges_it_too() -> None:
    start = "S" + LETTERS[:5]
    far = of(start + LETTERS[5:45], 2_000)
    cache = AnthropicCache(messages=2)
    assert account(cache, [of(start, 2_000), far])[1].read == 12_000
    edited = replace(of("Sx" + LETTERS[1:45], 2_000), changed=Cause.EDIT)
    assert cache.serve(edited).read == 2_000, "behind an edit it is of no use"


def test_five_minutes_without_use_and_it_is_gone() -> None:
    assert account(AnthropicCache(), [at("Sab", 0), at("Sab", 300)])[1].read == 6_000
    use = account(AnthropicCache(), [at("Sab", 0), at("Sab", 301)])[1]
    assert (use.read, use.written, use.breaks) == (0, 6_000, (Break(Cause.LIFETIME, 6_000),))


def test_reading_renews_the_lifetime() -> None:
    times = [0, 200, 400, 600]
    uses = account(AnthropicCache(), [at("Sab", when) for when in times])
    assert [use.read for use in uses] == [0, 6_000, 6_000, 6_000]


def test_an_hour_lives_longer_and_is_counted_apart() -> None:
    one = at("Sab", 0, Mark(1, HOUR), Mark(3))
    uses = account(AnthropicCache(), [one, replace(one, at=1_000.0)])
    assert (uses[0].written, uses[0].written_long) == (6_000, 2_000)
    assert (uses[1].read, uses[1].written, uses[1].written_long) == (2_000, 4_000, 0)
    assert uses[1].breaks == (Break(Cause.LIFETIME, 4_000),)


def test_an_edit_and_a_late_call_are_two_breaks() -> None:
    late = replace(at("Sabxd", 400), changed=Cause.EDIT)
    use = account(AnthropicCache(), [at("Sabcd", 0), late])[1]
    assert use.breaks == (Break(Cause.LIFETIME, 2_000), Break(Cause.EDIT, 6_000))


def test_of_more_than_four_breakpoints_the_last_four_count() -> None:
    marks = tuple(Mark(place) for place in (1, 2, 3, 4, 5))
    first = replace(of("Sabcde", 2_000), marks=marks)
    edited = replace(of("Sxbcde", 2_000), changed=Cause.EDIT)
    assert account(AnthropicCache(), [first, edited])[1].read == 0


def test_where_the_client_asks_for_nothing_nothing_is_cached() -> None:
    uses = account(AnthropicCache(automatic=False), [of("Sab", 2_000), of("Sabc", 2_000)])
    assert [(use.read, use.written) for use in uses] == [(0, 0), (0, 0)]
    assert uses[1].breaks == ()


def test_a_prefix_below_the_least_size_is_not_stored() -> None:
    requests = [of("Sab", 1_000), of("Sabcd", 1_000), of("Sabcde", 1_000)]
    uses = account(AnthropicCache("claude-opus-4-5"), requests)
    assert [(use.read, use.written) for use in uses] == [(0, 0), (0, 5_000), (5_000, 1_000)]
    assert uses[1].breaks == ()


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5", 512),
        ("claude-fable-5", 512),
        ("claude-sonnet-5", 1_024),
        ("claude-opus-4-8", 1_024),
        ("claude-opus-4-7", 2_048),
        ("us.anthropic.claude-opus-4-6-v1:0", 4_096),
        ("anthropic/claude-opus-4.5", 4_096),
        ("claude-haiku-4-5-20251001", 4_096),
        ("claude-sonnet-4-5", 1_024),
        ("claude-opus-4-1", 1_024),
        ("claude-3-5-haiku-20241022", 2_048),
        ("claude-3-5-sonnet-20241022", 1_024),
        ("", 1_024),
    ],
)
def test_the_least_size_of_a_model(model: str, least: int) -> None:
    assert minimum_of(model) == least


def test_agents_set_breakpoints_behind_the_frame_and_at_the_end() -> None:
    assert [mark.after for mark in agent_marks(of("STab"))] == [2, 4]
    assert [mark.after for mark in agent_marks(of("ab"))] == [2]
    assert agent_marks(of("")) == ()
    assert [mark.after for mark in agent_marks(of("STabc"), 3, messages=2)] == [2, 3, 5]
    assert [mark.after for mark in agent_marks(of("STabc"), 3)] == [2, 5]
