"""What holds for every cache model, whatever is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from cost_world import of, runs
from hypothesis import given
from hypothesis import strategies as st

from redraft.cost import (
    SPANS,
    AnthropicCache,
    Cache,
    Cause,
    LongestPrefix,
    OpenAICache,
    Radix,
    Request,
    SuffixReuse,
    Totals,
    account,
    openai_cache,
)

CACHES: dict[str, Callable[[], Cache]] = {
    "longest-prefix": LongestPrefix,
    "radix": Radix,
    "radix, small": lambda: Radix(capacity=500),
    "openai": OpenAICache,
    "openai, breakpoints": lambda: openai_cache("gpt-5.6"),
    "anthropic": AnthropicCache,
    "anthropic, unasked": lambda: AnthropicCache(automatic=False),
    **{f"suffix-{count}": lambda count=count: SuffixReuse(count) for count in (0, *SPANS)},
}


# All models in one example: drawing a run takes far longer than accounting for it.


@given(requests=runs())
def test_every_token_is_read_or_written_or_fresh(requests: Sequence[Request]) -> None:
    for name, make in CACHES.items():
        for request, use in zip(requests, account(make(), requests), strict=True):
            assert use.prompt == request.tokens == use.read + use.written + use.fresh, name
            assert min(use.read, use.written, use.fresh) >= 0, name
            assert 0 <= use.written_long <= use.written, name


@given(requests=runs())
def test_what_is_computed_is_what_was_not_read(requests: Sequence[Request]) -> None:
    for name, make in CACHES.items():
        for use in account(make(), requests):
            assert sum(end - start for start, end in use.computed) == use.prompt - use.read, name
            assert all(0 <= start < end <= use.prompt for start, end in use.computed), name


@given(requests=runs())
def test_no_more_is_lost_than_is_computed(requests: Sequence[Request]) -> None:
    for name, make in CACHES.items():
        assert all(0 <= use.lost <= use.prompt - use.read for use in account(make(), requests)), (
            name
        )


@given(requests=runs())
def test_the_same_requests_cost_the_same(requests: Sequence[Request]) -> None:
    for name, make in CACHES.items():
        assert account(make(), requests) == account(make(), requests), name


@pytest.mark.parametrize("name", CACHES)
def test_a_first_request_reads_and_breaks_nothing(name: str) -> None:
    use = CACHES[name]().serve(of("Sabc", 5_000))
    assert (use.read, use.breaks) == (0, ())


@pytest.mark.parametrize("name", CACHES)
def test_a_changed_input_changes_the_answer(name: str) -> None:
    same = account(CACHES[name](), [of("Sabc", 5_000), of("Sabcd", 5_000)])[1]
    changed = account(CACHES[name](), [of("Sabc", 5_000), of("Txyzd", 5_000)])[1]
    assert same != changed


@given(requests=runs())
def test_an_endless_radix_cache_reads_at_least_the_shared_prefix_less_a_block(
    requests: Sequence[Request],
) -> None:
    radix, prefix = account(Radix(), requests), account(LongestPrefix(), requests)
    for one, other in zip(radix, prefix, strict=True):
        assert one.read >= other.read // 16 * 16


@given(requests=runs())
def test_with_blocks_of_one_token_the_radix_cache_reads_at_least_the_prefix(
    requests: Sequence[Request],
) -> None:
    radix, prefix = account(Radix(1), requests), account(LongestPrefix(), requests)
    assert all(one.read >= two.read for one, two in zip(radix, prefix, strict=True))


@given(requests=runs(), sizes=st.lists(st.integers(0, 6_000), min_size=2, max_size=4))
def test_a_larger_radix_cache_never_reads_less(
    requests: Sequence[Request], sizes: list[int]
) -> None:
    reads = [[use.read for use in account(Radix(16, size), requests)] for size in sorted(sizes)]
    endless = [use.read for use in account(Radix(), requests)]
    for smaller, larger in zip(reads, [*reads[1:], endless], strict=True):
        assert all(one <= two for one, two in zip(smaller, larger, strict=True))


@given(requests=runs(), size=st.integers(0, 3_000))
def test_a_radix_cache_never_holds_more_than_it_can(requests: Sequence[Request], size: int) -> None:
    cache = Radix(16, size)
    for request in requests:
        cache.serve(request)
        assert 0 <= cache.held <= size


@given(requests=runs())
def test_moving_more_spans_never_reads_less(requests: Sequence[Request]) -> None:
    reads = [[use.read for use in account(SuffixReuse(count), requests)] for count in (0, *SPANS)]
    for fewer, more in pairwise(reads):
        assert all(one <= two for one, two in zip(fewer, more, strict=True))


@given(requests=runs())
def test_moving_no_span_is_the_longest_prefix(requests: Sequence[Request]) -> None:
    assert account(SuffixReuse(0), requests) == account(LongestPrefix(), requests)


@given(requests=runs())
def test_threads_of_a_longest_prefix_do_not_meet(requests: Sequence[Request]) -> None:
    together = account(LongestPrefix(), requests)
    for thread in ("", "other"):
        own = [request for request in requests if request.thread == thread]
        alone = iter(account(LongestPrefix(), own))
        for request, use in zip(requests, together, strict=True):
            if request.thread == thread:
                assert use == next(alone)


def test_totals_add_up_and_count_breaks_by_cause() -> None:
    requests = [
        of("Sab"),
        replace(of("Sxb"), changed=Cause.EDIT),
        replace(of("Syb"), changed=Cause.EDIT),
    ]
    totals = Totals()
    for use in account(LongestPrefix(), requests):
        totals.add(use)
    assert totals.as_dict() == {
        "calls": 3,
        "prompt": 900,
        "read": 200,
        "written": 700,
        "written_long": 0,
        "fresh": 0,
        "lost": 200,
        "breaks": {"edit": {"count": 2, "lost": 200}},
    }
