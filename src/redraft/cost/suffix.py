"""`suffix-K`: a cache that also moves spans which survive an edit, at most K of them.

Serving engines that are under one's own control can relocate the cached states of text behind an
edit: keys are rotated to their new positions, recurrent states are forked. The moved states still
encode the old prefix, so the number of spans is capped (`seeds/000`, suffix cache reuse).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

from redraft.cost.caches import Found, Reader, Use
from redraft.cost.requests import Request, Segment

__all__ = ["SPANS", "SuffixReuse"]

SPANS = (1, 2, 3, 6, 12, 64)
"""The numbers of spans for which results are usually given."""


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int

    @property
    def tokens(self) -> int:
        return self.end - self.start


class SuffixReuse:
    """The thread's request before serves the shared prefix, and the K largest spans that survive.

    Args:
        spans: how many spans may move in one request, beside the prefix.

    Raises:
        ValueError: `spans` is negative.
    """

    def __init__(self, spans: int) -> None:
        if spans < 0:
            raise ValueError(f"{spans} spans cannot be moved; give 0 or more")
        self.name = f"suffix-{spans}"
        self._spans = spans
        self._reader = Reader()

    def serve(self, request: Request) -> Use:
        """Account for one request: prefix and moved spans are read, the rest computed and stored."""
        step = self._reader.step(request)
        change, before = step.change, step.before
        if before is None:
            return self._reader.use(step, Found(0, step.total))
        spans: list[_Span] = []
        if before.model == request.model:
            old, new = before.segments[change.at :], request.segments[change.at :]
            spans = nlargest(self._spans, _surviving(old, new, change.shared), key=_size)
        read = change.shared + sum(span.tokens for span in spans)
        computed = _between(spans, change.shared, step.total)
        found = Found(read, step.total - read, possible=change.shared, computed=computed)
        return self._reader.use(step, found)


def _size(span: _Span) -> tuple[int, int]:
    return span.tokens, -span.start


def _surviving(old: Sequence[Segment], new: Sequence[Segment], offset: int) -> list[_Span]:
    """Maximal runs of `new` that stand in `old` in one piece, each piece of `old` used once."""
    places: dict[str, deque[int]] = {}
    for place, segment in enumerate(old):
        places.setdefault(segment.digest, deque()).append(place)
    spans: list[_Span] = []
    start = end = offset
    expected: int | None = None
    for segment in new:
        at = _take(places.get(segment.digest), expected)
        if at is None or at != expected:
            if end > start:
                spans.append(_Span(start, end))
            start = end
        end += segment.tokens
        if at is None:
            start = end
        expected = None if at is None else at + 1
    if end > start:
        spans.append(_Span(start, end))
    return spans


def _take(places: deque[int] | None, wanted: int | None) -> int | None:
    """The place that continues the run, else the first that is left; each is taken once."""
    if not places:
        return None
    if wanted is not None and wanted in places:
        places.remove(wanted)
        return wanted
    return places.popleft()


def _between(spans: Sequence[_Span], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """What of [start, end) lies in no span."""
    gaps: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda span: span.start):
        if span.start > start:
            gaps.append((start, span.start))
        start = span.end
    if end > start:
        gaps.append((start, end))
    return tuple(gaps)
