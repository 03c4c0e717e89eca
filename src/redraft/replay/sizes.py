"""Sizes in the server's own tokens, fitted to the prompt sizes that it reported.

Our tokens are o200k's, and a recording often lacks the system prompt and the tools. So each request is
given the size that the server reported for it: what is new in a request takes what its size grew by,
and what the first request has beyond its messages is its unseen frame. Only prompt sizes are used here,
never the cache reads, which are to be predicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from redraft.cost import Mark, Request, Segment, name_of
from redraft.cost.requests import common_length

__all__ = ["Anchor", "fit_ratio"]

_BOUNDS = (0.5, 3.0)
_SLACK = 64
_OFF = 0.4
"""The share by which the estimate of a first request's messages may be off."""
_STRANGE = (512, 0.5)
"""A first request whose messages are off by more tokens than this, and by more than this share of what was
expected of them, has a frame of its own: e.g. that of another kind of sub-agent."""


def fit_ratio(growth: Iterable[tuple[int, int]], default: float) -> float:
    """The server's tokens for one of ours.

    Args:
        growth: for calls that followed one another: our tokens of what was new, and by how many of
            its own tokens the server's count grew.
        default: the answer where there is too little to go by.

    Returns:
        the ratio of the sums over plausible pairs, each within 0.5 to 3.0 as for calibration
        (DESIGN.md section 6).
    """
    ours = theirs = 0
    for new, grown in growth:
        if new >= _SLACK and _BOUNDS[0] * new <= grown <= _BOUNDS[1] * new:
            ours += new
            theirs += grown
    return theirs / ours if ours >= 10 * _SLACK else default


@dataclass
class Anchor:
    """The sizes of one conversation's segments, in the server's tokens.

    Attributes:
        ratio: the server's tokens for one of ours.
        frame: names the unseen frame, which conversations of one kind share.
        unseen: its size, once a request has shown it.
        prunes: whether the agent takes old output out of its messages unseen: then a prompt that is
            smaller than what it goes on from has the same frame and other messages.
        renewed: how often something unseen must have changed, since a prompt was smaller than what it
            goes on from.
        better: a size of the unseen frame under which that would not have been so: the first request
            had to be split by an estimate, which was a little too high. Fit it all again with that.
    """

    ratio: float
    frame: str
    unseen: int | None = None
    prunes: bool = False
    renewed: int = 0
    better: int | None = None
    _slack: int = 0
    _salt: str = ""
    _first: bool = True
    _known: dict[str, Segment] = field(default_factory=dict)
    _last: tuple[Segment, ...] = ()

    def fit(self, request: Request, reported: int | None) -> Request:
        """The request with sizes that add up to what the server reported.

        Args:
            request: with our sizes.
            reported: the prompt's size as the server counted it; None where it did not say.

        Returns:
            the request, the unseen frame in front.
        """
        new = self._new(request)
        held = self._held(request.segments)
        if self._first and reported is not None:
            self._first = False
            self._recognize(new, reported)
        if reported is not None and reported < self._floor(request):
            new, held = self._renew(request, new, held, reported)
        expected = round(self.ratio * sum(segment.tokens for segment in new.values()))
        room = expected
        if reported is not None:
            if self.unseen is None:
                self.unseen = max(0, reported - held - expected)
                self._slack = round(_OFF * expected)
            room = reported - held - self.unseen
        self._spread(new, max(0, room))
        self._last = request.segments
        segments = [self._known[segment.digest] for segment in request.segments]
        if self._salt:
            segments = [
                one if one.kind == "frame" else replace(one, digest=one.digest + self._salt)
                for one in segments
            ]
        name = name_of("unseen", self.frame)
        marks = tuple(Mark(mark.after + 1, mark.lifetime) for mark in request.marks)
        unseen = Segment(name, self.unseen or 0, "frame")
        return replace(request, segments=(unseen, *segments), marks=marks)

    def _held(self, segments: tuple[Segment, ...]) -> int:
        return sum([self._known[s.digest].tokens for s in segments if s.digest in self._known])

    def _floor(self, request: Request) -> int:
        """The least that the request can have: the unseen frame, and all that stood in the one before
        it too."""
        same = common_length(self._last, request.segments)
        floor = (self.unseen or 0) + self._held(request.segments[:same])
        left = Counter([segment.digest for segment in self._last[same:]])
        for segment in request.segments[same:] if left else ():
            if left[segment.digest] > 0:
                left[segment.digest] -= 1
                floor += self._known[segment.digest].tokens
        return floor

    def _new(self, request: Request) -> dict[str, Segment]:
        return {s.digest: s for s in request.segments if s.digest not in self._known}

    def _renew(
        self, request: Request, new: dict[str, Segment], held: int, reported: int
    ) -> tuple[dict[str, Segment], int]:
        """A prompt smaller than what it goes on from: its unseen frame shrank, or where that cannot
        be enough, nothing is left of what was known."""
        self.renewed += 1
        expected = round(self.ratio * sum(segment.tokens for segment in new.values()))
        left = reported - held - expected
        if self.better is None and 0 < (self.unseen or 0) - left <= self._slack and left >= 0:
            self.better = left
        if self.prunes and self.unseen and reported > self.unseen:
            self._salt = f"~{self.renewed}"
            self._known.clear()
            return self._new(request), 0
        self.frame += "~"
        self.unseen = left
        if left >= 0:
            return new, held
        self.unseen = 0
        self._known.clear()
        return self._new(request), 0

    def _recognize(self, new: dict[str, Segment], reported: int) -> None:
        """Whether a conversation's first request has the frame that others of its kind had, as far as
        its size shows; if not, it has one of its own."""
        expected = round(self.ratio * sum(segment.tokens for segment in new.values()))
        if self.unseen is None or reported <= self.unseen:
            return
        off = abs(reported - self.unseen - expected)
        if off > max(_STRANGE[0], _STRANGE[1] * expected):
            self.unseen = max(0, reported - expected)
            self.frame += f" {self.unseen}"

    def _spread(self, new: dict[str, Segment], room: int) -> None:
        """Give new segments their share of `room`, by our sizes."""
        total = sum(segment.tokens for segment in new.values())
        seen = done = 0
        for segment in new.values():
            seen += segment.tokens
            share = round(room * seen / total) if total else 0
            self._known[segment.digest] = replace(segment, tokens=share - done)
            done = share
