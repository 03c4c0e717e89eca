"""Caches with breakpoints: an entry is written at each, and read back from an entry or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from redraft.cost.caches import Found, Reader, Step, Use
from redraft.cost.requests import MINUTES, Mark, Request
from redraft.cost.tree import Clock, Forest, Node

__all__ = ["BreakpointCache", "agent_marks", "end_mark"]

Place = Callable[[Request, int], tuple[Mark, ...]]
"""Sets the breakpoints of a request, given how many of its segments the one before it ended with (0
where it does not go on from it)."""


def agent_marks(
    request: Request, ended: int = 0, lifetime: float = MINUTES, messages: int = 1
) -> tuple[Mark, ...]:
    """Breakpoints as coding agents set them: behind the frame, and at the end of the last message.

    Args:
        request: the request without marks.
        ended: where the request before ended, if this one goes on from it.
        lifetime: seconds for each.
        messages: with 2, the place at which the request before ended keeps its breakpoint, so that
            no number of new blocks puts it out of reach.
    """
    places = {request.frame, len(request.segments), ended if messages > 1 else 0} - {0}
    return tuple(Mark(place, lifetime) for place in sorted(places))


def end_mark(request: Request, _ended: int = 0, lifetime: float = MINUTES) -> tuple[Mark, ...]:
    """One breakpoint at the end, as automatic placement sets it."""
    return (Mark(len(request.segments), lifetime),) if request.segments else ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A marked place of one request."""

    at: int
    tokens: int
    node: Node
    lifetime: float


class BreakpointCache:
    """A cache whose entries end at breakpoints.

    Args:
        name: the cache's name.
        minimum: tokens that a prefix must have to be stored.
        most: breakpoints that one request may set; of more, the last ones count.
        lookback: content blocks, the marked one included, among which an entry is looked for in
            front of each breakpoint; None where any earlier entry is found.
        place: sets the breakpoints of a request that has none; None to leave it uncached.
    """

    def __init__(
        self,
        name: str,
        *,
        minimum: int,
        most: int,
        lookback: int | None,
        place: Place | None,
    ) -> None:
        self.name = name
        self.minimum = minimum
        self._most = most
        self._lookback = lookback
        self._place = place
        self._forest = Forest()
        self._clock = Clock()
        self._reader = Reader()
        self._unstored: dict[str, int] = {}

    def serve(self, request: Request) -> Use:
        """Account for one request: the longest live entry within reach is read, its marks written."""
        now = self._clock.read(request)
        step = self._reader.step(request)
        path, ends = self._forest.path(step), step.ends
        marks = self._marked(step, path)
        reach = list(self._reach(request, path, marks, now))
        read = max((ends[at] for at, node in reach if _lives(node, now)), default=0)
        possible = max((ends[at] for at, _ in reach), default=0)
        for at, node in reach:
            if ends[at] == read and _lives(node, now):
                node.used = now
        for mark in marks:
            self._write(mark, now)
        stored = max((mark.tokens for mark in marks), default=0)
        long = max((mark.tokens for mark in marks if mark.lifetime > MINUTES), default=0)
        slack = self._unstored.get(request.thread, 0)
        written = max(stored - read, 0)
        self._unstored[request.thread] = step.total - read - written
        found = Found(read, written, max(long - read, 0), possible=possible, slack=slack)
        return self._reader.use(step, found)

    def _marked(self, step: Step, path: Sequence[Node]) -> list[_Place]:
        request, ends = step.request, step.ends
        marks = request.marks
        if not marks and self._place is not None:
            goes_on = step.before is not None and step.change.cause is None
            marks = self._place(request, step.change.at if goes_on else 0)
        return [
            _Place(mark.after - 1, ends[mark.after - 1], path[mark.after - 1], mark.lifetime)
            for mark in marks[-self._most :]
            if 0 < mark.after <= len(path) and ends[mark.after - 1] >= self.minimum
        ]

    def _reach(
        self, request: Request, path: Sequence[Node], marks: Sequence[_Place], now: float
    ) -> Iterator[tuple[int, Node]]:
        """Places at which an entry was ever written and where a breakpoint finds it: for each
        breakpoint the last ones, up to one that lives."""
        for mark in marks if self._lookback is not None else marks[-1:]:
            blocks = 0
            for at in range(mark.at, -1, -1):
                if request.segments[at].ends or at == mark.at:
                    blocks += 1
                    if self._lookback is not None and blocks > self._lookback:
                        break
                if path[at].stored:
                    yield at, path[at]
                    if _lives(path[at], now):
                        break

    def _write(self, mark: _Place, now: float) -> None:
        node = mark.node
        alive = _lives(node, now)
        node.lifetime = max(node.lifetime, mark.lifetime) if alive else mark.lifetime
        node.stored, node.used = True, now


def _lives(node: Node, now: float) -> bool:
    return node.stored and now - node.used <= node.lifetime
