"""The radix cache: blocks, branches, and what leaves when it is full."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from cost_world import of

from redraft.cost import Break, Cause, LongestPrefix, Radix, account


def test_only_full_blocks_are_served_and_stored() -> None:
    first, second = account(Radix(), [of("ab", 25), of("abc", 25)])
    assert (first.read, first.written, first.fresh) == (0, 48, 2)
    assert (second.read, second.written, second.fresh) == (48, 16, 11)
    assert second.breaks == (), "a block's granularity is no break"


def test_what_an_earlier_request_or_another_thread_sent_is_still_there() -> None:
    requests = [of("Sabc"), replace(of("Sax"), changed=Cause.EDIT), of("Sabcd", thread="two")]
    assert [use.read for use in account(Radix(1), requests)] == [0, 200, 400]


def test_going_back_to_an_earlier_version_reads_it() -> None:
    requests = [
        of("Sabc"),
        replace(of("Sxbc"), changed=Cause.EDIT),
        replace(of("Sabc"), changed=Cause.EDIT),
    ]
    uses = account(Radix(1), requests)
    assert uses[1].breaks == (Break(Cause.EDIT, 200),)
    assert uses[2].read == 400
    assert uses[2].breaks == (Break(Cause.EDIT, 0),), "broken, and nothing lost"


def test_models_do_not_share_a_cache() -> None:
    requests = [of("Sab", model="one"), of("Sab", model="two"), of("Sab", model="one")]
    assert [use.read for use in account(Radix(1), requests)] == [0, 0, 300]


def test_when_it_is_full_the_least_recently_used_leaves_and_that_is_the_cause() -> None:
    one, two = of("Sab", thread="one"), of("Txyz", thread="two")
    uses = account(Radix(1, capacity=500), [one, two, one])
    assert (uses[2].read, uses[2].breaks) == (100, (Break(Cause.CAPACITY, 200),))


def test_of_a_path_its_end_leaves_first() -> None:
    cache = Radix(1, capacity=250)
    cache.serve(of("Sab"))
    assert cache.held == 200
    assert cache.serve(of("Sab")).read == 200


def test_a_cache_without_room_reads_nothing() -> None:
    assert [use.read for use in account(Radix(16, 0), [of("Sab"), of("Sab")])] == [0, 0]


@pytest.mark.parametrize(("block", "capacity"), [(0, None), (16, -1)])
def test_sizes_that_cannot_be_are_refused(block: int, capacity: int | None) -> None:
    with pytest.raises(ValueError, match="give"):
        Radix(block, capacity)


def test_memory_grows_with_distinct_text_and_not_with_the_calls() -> None:
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    request = of(letters)
    grown: list[int] = []
    for calls in (10, 1_000):
        cache, prefix = Radix(), LongestPrefix()
        tracemalloc.start()
        for _ in range(calls):
            cache.serve(request)
            prefix.serve(request)
        grown.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert grown[1] < grown[0] * 1.5
