"""What a prefix cache is asked, and what it answers: tokens read, written and fresh, and the breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol

from redraft.cost.requests import Cause, Change, Request, change_at, common_length

__all__ = ["Break", "Cache", "Found", "Reader", "Step", "Totals", "Use", "account"]


@dataclass(frozen=True, slots=True)
class Break:
    """A prefix that was not served although the thread had sent it before.

    Attributes:
        cause: why.
        lost: tokens that are read again although they did not change. May be 0: an edit of the
            newest turn breaks the prefix and makes nobody read old text again.
    """

    cause: Cause
    lost: int


@dataclass(frozen=True, slots=True)
class Use:
    """What one request costs a cache. `prompt` = `read` + `written` + `fresh`.

    Attributes:
        prompt: tokens of the whole prompt.
        read: tokens served from the cache.
        written: tokens computed and stored.
        fresh: tokens computed and not stored.
        written_long: those of `written` that are stored for an hour, which costs more.
        breaks: what was lost, and why.
        computed: the stretches of the prompt that are computed, as (start, end) in tokens.
    """

    prompt: int
    read: int
    written: int
    fresh: int
    written_long: int = 0
    breaks: tuple[Break, ...] = ()
    computed: tuple[tuple[int, int], ...] = ()

    @property
    def lost(self) -> int:
        """Tokens read again although they did not change."""
        return sum(one.lost for one in self.breaks)


class Cache(Protocol):
    """A model of a prefix cache. It remembers what it saw: use one for one run."""

    name: str

    def serve(self, request: Request) -> Use:
        """Account for one request, and remember it."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a cache found for a request.

    Attributes:
        read: tokens it serves.
        written, written_long: tokens it stores, and those of them that it stores for an hour.
        possible: tokens that it would have served had nothing expired or been evicted.
        gone: why the rest of `possible` is not there any more.
        slack: tokens that such a cache may miss by its own granularity; that is no break.
        computed: the computed stretches, where they are not just all behind `read`.
    """

    read: int
    written: int
    written_long: int = 0
    possible: int = 0
    gone: Cause = Cause.LIFETIME
    slack: int = 0
    computed: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A request beside the one before it in its thread.

    Attributes:
        request: the request.
        before: the thread's request before; None for its first.
        change: how they differ; for a first request, nothing is shared.
        ends: for each segment, the tokens up to its end.
    """

    request: Request
    before: Request | None
    change: Change
    ends: list[int]

    @property
    def total(self) -> int:
        """Tokens of the prompt."""
        return self.ends[-1] if self.ends else 0


class Reader:
    """Keeps the last request of each thread, and turns what a cache found into a `Use`."""

    def __init__(self) -> None:
        self._last: dict[str, Step] = {}

    def step(self, request: Request) -> Step:
        """`request` beside the one before it, which it takes the place of."""
        last = self._last.get(request.thread)
        if last is None:
            ends = list(accumulate([segment.tokens for segment in request.segments]))
            step = Step(request, None, Change(0, 0), ends)
        else:
            at = common_length(last.request.segments, request.segments)
            change = change_at(last.request, request, at, last.ends[at - 1] if at else 0)
            ends = last.ends[: change.at]
            tail = [segment.tokens for segment in request.segments[change.at :]]
            ends += list(accumulate(tail, initial=change.shared))[1:]
            step = Step(request, last.request, change, ends)
        self._last[request.thread] = step
        return step

    @staticmethod
    def use(step: Step, found: Found) -> Use:
        """What a request costs, with the breaks."""
        total = step.total
        computed = found.computed
        if computed is None:
            computed = ((found.read, total),) if found.read < total else ()
        return Use(
            total,
            found.read,
            found.written,
            total - found.read - found.written,
            found.written_long,
            tuple(_breaks(step.change, found)) if step.before is not None else (),
            computed,
        )


def _breaks(change: Change, found: Found) -> Iterator[Break]:
    lost = max(0, change.shared + change.survived - found.read)
    gone = max(0, min(found.possible, change.shared) - found.read)
    if gone:
        yield Break(found.gone, gone)
    if change.cause is not None:
        yield Break(change.cause, max(0, lost - gone))
    elif lost - gone > found.slack:
        yield Break(Cause.LOOKBACK, lost - gone)


@dataclass(slots=True)
class Totals:
    """Sums over many uses.

    Attributes:
        calls, prompt, read, written, written_long, fresh: as in `Use`, summed.
        breaks: by cause, how many and how many tokens they lost.
    """

    calls: int = 0
    prompt: int = 0
    read: int = 0
    written: int = 0
    written_long: int = 0
    fresh: int = 0
    breaks: dict[Cause, tuple[int, int]] = field(default_factory=dict)

    def add(self, use: Use) -> None:
        """Count one use in."""
        self.calls += 1
        self.prompt += use.prompt
        self.read += use.read
        self.written += use.written
        self.written_long += use.written_long
        self.fresh += use.fresh
        for one in use.breaks:
            count, lost = self.breaks.get(one.cause, (0, 0))
            self.breaks[one.cause] = (count + 1, lost + one.lost)

    @property
    def lost(self) -> int:
        """Tokens read again although they did not change."""
        return sum(lost for _, lost in self.breaks.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, breaks by the cause's name."""
        return {
            "calls": self.calls,
            "prompt": self.prompt,
            "read": self.read,
            "written": self.written,
            "written_long": self.written_long,
            "fresh": self.fresh,
            "lost": self.lost,
            "breaks": {
                str(cause): {"count": count, "lost": lost}
                for cause, (count, lost) in sorted(self.breaks.items())
            },
        }


def account(cache: Cache, requests: Iterable[Request]) -> list[Use]:
    """What each of `requests` costs `cache`, in order."""
    return [cache.serve(request) for request in requests]
