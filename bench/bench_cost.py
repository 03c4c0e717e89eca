"""Milliseconds and memory that accounting takes: a long run through every cache model.

The run grows up to its size; whenever it is full, the older half becomes one summary, so that there are
breaks to account for as well. Counting tokens is left out.

    python bench/bench_cost.py [--json] [--calls 500] [--size 128000]
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter

from redraft.cost import (
    SPANS,
    AnthropicCache,
    Cache,
    Cause,
    LongestPrefix,
    OpenAICache,
    Radix,
    Request,
    Segment,
    SuffixReuse,
    Totals,
    openai_cache,
)

__all__ = ["CACHES", "Row", "main", "measure", "run"]


def _suffix(count: int, _: int) -> Cache:
    return SuffixReuse(count)


CACHES: Mapping[str, Callable[[int], Cache]] = {
    "longest-prefix": lambda _: LongestPrefix(),
    "radix": lambda _: Radix(),
    "radix, half the size": lambda size: Radix(capacity=size // 2),
    "openai": lambda _: OpenAICache(),
    "openai, breakpoints": lambda _: openai_cache("gpt-5.6"),
    "anthropic": lambda _: AnthropicCache(),
    **{SuffixReuse(count).name: partial(_suffix, count) for count in SPANS},
}
"""Each cache model, made for a run of some size in tokens."""

_ADDED = 4  # segments that a call adds: a text, a call, an output in two pieces


@dataclass(frozen=True, slots=True)
class Row:
    """What accounting for a run took.

    Attributes:
        cache: a key of `CACHES`.
        ms: milliseconds for the whole run.
        mb: megabytes that the model holds at its end.
        read: the share of all prompt tokens that were read from the cache.
    """

    cache: str
    ms: float
    mb: float
    read: float


def run(calls: int, size: int) -> list[Request]:
    """A run of so many calls whose requests grow to `size` tokens and are then kept below it."""
    each = max(1, 3 * size // (calls * _ADDED))
    frame = Segment("frame", size // 20, "frame")
    turns: list[Segment] = []
    requests: list[Request] = []
    held = frame.tokens
    for call in range(calls):
        turns += [Segment(f"{call}.{part}", each) for part in range(_ADDED)]
        held += _ADDED * each
        changed = None
        if held > size:
            half = len(turns) // 2
            summary = Segment(f"summary {call}", each)
            held += each - sum(turn.tokens for turn in turns[:half])
            turns[:half] = [summary]
            changed = Cause.POLICY
        requests.append(Request((frame, *turns), call * 10.0, changed=changed))
    return requests


def measure(requests: Sequence[Request], name: str, size: int) -> Row:
    """Account for a run at one cache model: once for the time, once for the memory."""
    cache = CACHES[name](size)
    totals = Totals()
    start = perf_counter()
    for request in requests:
        totals.add(cache.serve(request))
    ms = (perf_counter() - start) * 1e3
    tracemalloc.start()
    again = CACHES[name](size)
    for request in requests:
        again.serve(request)
    mb = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return Row(name, ms, mb, totals.read / totals.prompt)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--calls", type=int, default=500, help="model calls in the run")
    parser.add_argument("--size", type=int, default=128_000, help="tokens of its largest request")
    asked = parser.parse_args(arguments)
    requests = run(asked.calls, asked.size)
    rows = [measure(requests, name, asked.size) for name in CACHES]
    largest = max(request.tokens for request in requests)
    if asked.json:
        figures = {"calls": asked.calls, "largest": largest, "rows": [asdict(row) for row in rows]}
        print(json.dumps(figures, indent=2))
        return
    print(f"{asked.calls:,} calls, the largest request {largest:,} tokens")
    print(f"{'cache':<22}{'ms':>9}{'MB':>8}{'read':>8}")
    for row in rows:
        print(f"{row.cache:<22}{row.ms:>9.1f}{row.mb:>8.2f}{row.read:>8.1%}")


if __name__ == "__main__":
    main()
