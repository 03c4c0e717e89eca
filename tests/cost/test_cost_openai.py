"""OpenAI's cache: steps of 128 from 1,024 on; breakpoints from GPT-5.6 on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_world import of

from redraft.cost import Break, Cause, Mark, OpenAICache, Request, Segment, account, openai_cache


@pytest.mark.parametrize(
    ("shared", "read"),
    [(0, 0), (1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152), (5_000, 4_992)],
)
def test_the_prefix_is_served_in_steps_of_128_from_1_024_on(shared: int, read: int) -> None:
    start, one, two = Segment("s", shared), Segment("a", 3_000), Segment("b", 3_000)
    requests = [Request((start, one)), Request((start, two), changed=Cause.EDIT)]
    assert account(OpenAICache(), requests)[1].read == read


def test_a_step_that_is_not_full_is_no_break() -> None:
    uses = account(OpenAICache(), [of("Sab", 700), of("Sabc", 700)])
    assert (uses[1].read, uses[1].breaks) == (2_048, ())


def test_a_prompt_below_the_least_size_is_no_break_either() -> None:
    uses = account(OpenAICache(), [of("Sab", 300), of("Sabc", 300)])
    assert (uses[1].read, uses[1].breaks) == (0, ())


def test_after_ten_minutes_without_use_it_is_gone() -> None:
    late = [replace(of("Sab", 1_000), at=0.0), replace(of("Sabc", 1_000), at=601.0)]
    use = account(OpenAICache(), late)[1]
    assert (use.read, use.breaks) == (0, (Break(Cause.LIFETIME, 2_944),))


def test_use_renews_it() -> None:
    times = [0.0, 500.0, 1_000.0]
    requests = [replace(of("Sab", 1_000), at=at) for at in times]
    assert [use.read for use in account(OpenAICache(), requests)] == [0, 2_944, 2_944]


def test_where_no_times_are_known_nothing_expires() -> None:
    assert account(OpenAICache(), [of("Sab", 1_000), of("Sab", 1_000)])[1].read == 2_944


@pytest.mark.parametrize("model", ["gpt-5.6", "openai/gpt-5.6-sol", "gpt-6-astra", "GPT-5.10"])
def test_later_models_read_to_the_breakpoint_exactly(model: str) -> None:
    uses = account(openai_cache(model), [of("Sab", 1_001), of("Sabc", 1_001)])
    assert uses[1].read == 3_003


@pytest.mark.parametrize(
    "model", ["", "gpt-5", "gpt-5.1-codex", "gpt-5.4", "gpt-4o", "gpt-35-turbo"]
)
def test_earlier_models_read_in_steps(model: str) -> None:
    uses = account(openai_cache(model), [of("Sab", 1_001), of("Sabc", 1_001)])
    assert uses[1].read == 2_944


def test_a_breakpoint_deep_in_front_is_found_without_a_look_back() -> None:
    early = replace(of("Sab", 1_000), marks=(Mark(2, 1_800.0), Mark(3, 1_800.0)))
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 60)))
    late = replace(of("Sa" + letters, 1_000), changed=Cause.EDIT)
    assert account(openai_cache("gpt-5.6"), [early, late])[1].read == 2_000


def test_without_an_own_breakpoint_there_is_no_shorter_prefix_to_fall_back_to() -> None:
    edited = replace(of("Saxb", 1_000), changed=Cause.EDIT)
    assert account(openai_cache("gpt-5.6"), [of("Sab", 1_000), edited])[1].read == 0


def test_in_explicit_mode_nothing_is_stored_unasked() -> None:
    cache = openai_cache("gpt-5.6", automatic=False)
    uses = account(cache, [of("Sab", 1_000), of("Sabc", 1_000)])
    assert [(use.read, use.written) for use in uses] == [(0, 0), (0, 0)]
