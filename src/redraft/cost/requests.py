"""A request as a cache sees it: segments in order, each with a digest and a size.

A segment is the smallest thing that is reused or read anew as a whole. Turns are cut where the token
counter cuts them too, so the sizes of a request's segments add up to the request's size exactly, and
an edit in the middle of a long output still shares the output's first pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Literal

__all__ = [
    "HOUR",
    "MINUTES",
    "Cause",
    "Change",
    "Kind",
    "Mark",
    "Request",
    "Segment",
    "change_at",
    "common_length",
    "compare",
]

MINUTES = 300.0
"""Seconds that an Anthropic cache entry lives by default."""
HOUR = 3600.0
"""Seconds that an Anthropic cache entry lives where `ttl` is `1h`."""

Kind = Literal["frame", "turn", "reasoning"]


class Cause(StrEnum):
    """Why tokens that a server had read before had to be read again."""

    EDIT = "edit"
    """The model, or a person, edited the context."""
    ROLLBACK = "rollback"
    """The harness took the newest groups away."""
    POLICY = "policy"
    """A policy, or the recorded agent's own compaction, rewrote the context."""
    FRAME = "frame"
    """The system prompt, the tools or a parameter that is part of the prompt changed."""
    REASONING = "reasoning"
    """The chat template left out reasoning that the request before still had."""
    MODEL = "model"
    """Another model was asked, which has a cache of its own."""
    LIFETIME = "lifetime"
    """The cache entry had expired."""
    CAPACITY = "capacity"
    """The cache was full and the entry had to go."""
    LOOKBACK = "look-back"
    """The cache had it, but no breakpoint was near enough to find it."""
    UNEXPLAINED = "unexplained"
    """The text changed, or was not found, and nothing recorded says why."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a request. Two with the same digest are equal.

    Attributes:
        digest: names its text; equal digests are equal texts.
        tokens: its size in tokens.
        kind: `frame` for system prompt, tools and parameters; `reasoning` for hidden reasoning.
        ends: whether a content block ends here (Anthropic's look-back counts blocks).
    """

    digest: str
    tokens: int = field(compare=False)
    kind: Kind = field(default="turn", compare=False)
    ends: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache breakpoint.

    Attributes:
        after: how many segments of the request stand in front of it.
        lifetime: seconds that an entry written here lives without being read.
    """

    after: int
    lifetime: float = MINUTES


@dataclass(frozen=True, slots=True)
class Request:
    """One model call's prompt.

    Attributes:
        segments: in the order in which the model reads them, the frame first.
        at: when it was sent, in seconds from any fixed moment; None where nobody knows, and then no
            time passes.
        thread: the conversation it belongs to. Breaks are found against the thread's request before;
            caches are shared among threads.
        changed: what the sender did to the context since then, if it did anything but append.
        model: the model asked; each has a cache of its own.
        marks: cache breakpoints, in order; empty where the client sets none.
    """

    segments: tuple[Segment, ...]
    at: float | None = None
    thread: str = ""
    changed: Cause | None = None
    model: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def tokens(self) -> int:
        """The prompt's size."""
        return sum([segment.tokens for segment in self.segments])

    @property
    def frame(self) -> int:
        """How many leading segments are the frame."""
        at = 0
        while at < len(self.segments) and self.segments[at].kind == "frame":
            at += 1
        return at


@dataclass(frozen=True, slots=True)
class Change:
    """How a request differs from the one before it in the same thread.

    Attributes:
        at: how many leading segments are the same.
        shared: their tokens.
        survived: tokens of segments behind them that stood in the request before too: text that is
            read again although it did not change.
        cause: why the prefix broke; None where it did not, i.e. the request before is a prefix.
    """

    at: int
    shared: int
    survived: int = 0
    cause: Cause | None = None


def compare(before: Request, after: Request) -> Change:
    """Compare two requests of one thread.

    Cases, the first that holds names the cause: (1) another model; (2) the request before is a
    prefix: nothing broke; (3) the first difference lies in the frame; (4) without reasoning, the
    request before is a prefix; (5) what the sender says it did; (6) nobody knows.
    """
    at = common_length(before.segments, after.segments)
    return change_at(before, after, at, sum([one.tokens for one in after.segments[:at]]))


def change_at(before: Request, after: Request, at: int, shared: int) -> Change:
    """As `compare`, where it is known already that so many segments, with so many tokens, are the
    same."""
    old, new = before.segments[at:], after.segments[at:]
    if before.model != after.model:
        return Change(0, 0, _survivors(before.segments, after.segments), Cause.MODEL)
    if not old:
        return Change(at, shared)
    survived = _survivors(old, new)
    if any(segment.kind == "frame" for segment in chain(old[:1], new[:1])):
        return Change(at, shared, survived, Cause.FRAME)
    if _is_prefix(_without_reasoning(old), _without_reasoning(new)):
        return Change(at, shared, survived, Cause.REASONING)
    return Change(at, shared, survived, after.changed or Cause.UNEXPLAINED)


def common_length(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    """How many leading members of two tuples are the same.

    Slices are compared as a whole, since identical objects are then passed over without running any
    Python: on a long context that grows, this is most of the work.
    """
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _survivors(old: Iterable[Segment], new: Iterable[Segment]) -> int:
    """Tokens of `new` that stand in `old` too, each counted as often as it stands there."""
    left: dict[str, int] = {}
    for segment in old:
        left[segment.digest] = left.get(segment.digest, 0) + 1
    tokens = 0
    for segment in new:
        if left.get(segment.digest):
            left[segment.digest] -= 1
            tokens += segment.tokens
    return tokens


def _without_reasoning(segments: Iterable[Segment]) -> list[str]:
    return [segment.digest for segment in segments if segment.kind != "reasoning"]


def _is_prefix(one: Sequence[str], other: Sequence[str]) -> bool:
    return list(other[: len(one)]) == list(one)
