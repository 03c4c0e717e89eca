"""Predicted against reported cache reads, call by call, with each large miss and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from redraft.cost import HOUR, MINUTES, Cause, Request, Use, agent_marks
from redraft.replay.fitted import Fitted
from redraft.replay.providers import ProviderCache, provider_of
from redraft.replay.recording import Reported
from redraft.replay.timeline import Moment

__all__ = ["LARGE", "Audit", "Miss", "audit"]

LARGE = (256, 0.02)
"""A miss is large from so many tokens, and from this share of the prompt, on."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A call whose reported cache read is far from the predicted one.

    Attributes:
        number: the call's number in the recording, from 1.
        line: the line of the file that it stands on; 0 where there are no lines.
        thread: its thread.
        prompt: tokens of its prompt, as reported.
        predicted, reported: tokens read from the cache.
        cause: why, as far as the recording shows.
        why: the same in words.
    """

    number: int
    line: int
    thread: str
    prompt: int
    predicted: int
    reported: int
    cause: Cause
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "call": self.number,
            "line": self.line,
            "thread": self.thread,
            "prompt": self.prompt,
            "predicted": self.predicted,
            "reported": self.reported,
            "error": self.predicted - self.reported,
            "cause": str(self.cause),
            "why": self.why,
        }


@dataclass
class Audit:
    """How well a recording's cache reads are predicted.

    Attributes:
        calls: calls whose cache read was reported.
        prompt: their prompt tokens.
        predicted, reported: cache reads, summed.
        off: absolute errors, summed.
        close: calls that are no large miss.
        explained: breaks that the model predicted, by cause: count, and tokens lost.
        misses: the large misses.
    """

    calls: int = 0
    prompt: int = 0
    predicted: int = 0
    reported: int = 0
    off: int = 0
    close: int = 0
    explained: dict[Cause, tuple[int, int]] = field(default_factory=dict)
    misses: list[Miss] = field(default_factory=list)

    @property
    def error(self) -> float:
        """The error of the sum, as a share of what was reported; 0 where both are the same."""
        return (self.predicted - self.reported) / max(self.reported, 1)

    @property
    def mean_error(self) -> float:
        """The absolute errors, as a share of the prompt tokens."""
        return self.off / self.prompt if self.prompt else 0.0

    def add(self, use: Use, reported: Reported) -> None:
        """Count one call in."""
        read = reported.read or 0
        self.calls += 1
        self.prompt += reported.prompt
        self.predicted += use.read
        self.reported += read
        self.off += abs(use.read - read)
        for one in use.breaks:
            count, lost = self.explained.get(one.cause, (0, 0))
            self.explained[one.cause] = (count + 1, lost + one.lost)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "calls": self.calls,
            "prompt": self.prompt,
            "predicted": self.predicted,
            "reported": self.reported,
            "error": self.error,
            "mean_error": self.mean_error,
            "close": self.close,
            "explained": {
                str(cause): {"count": count, "lost": lost}
                for cause, (count, lost) in sorted(self.explained.items())
            },
            "misses": [miss.as_dict() for miss in self.misses],
        }


def audit(fitted: Fitted, progress: Callable[[], None] | None = None) -> Audit:
    """Predict each call's cache read and compare it with what the provider reported.

    Prompt sizes are those that were reported. Cache reads are not looked at before they are
    predicted, but for one thing: where a client must ask for caching, and no call of the whole
    recording reports any, it did not ask.

    Args:
        fitted: the recording's requests.
        progress: called after each call.
    """
    run = _Run(fitted, _asked(fitted))
    for moment, request in fitted.requests:
        run.call(moment, request)
        if progress is not None:
            progress()
    return run.audit


def _asked(fitted: Fitted) -> bool:
    """Whether any call reports that something was read from a cache or written to one."""
    reports = [moment.call.reported for moment, _ in fitted.requests]
    return any(one is not None and (one.read or one.written) for one in reports)


class _Run:
    def __init__(self, fitted: Fitted, asked: bool) -> None:
        self.audit = Audit()
        self._renewed = fitted.renewed
        self._asked = asked
        self._bare = fitted.bare
        self._messages = fitted.marked
        self._rebuilt = ProviderCache("provider", automatic=asked, messages=fitted.marked)
        # A request at hand as it was sent has all the breakpoints that there were.
        self._exact = ProviderCache("provider", automatic=False)
        self._last: dict[str, Request] = {}
        # By thread: what entries behind the frame, and at the end, are paid for to live.
        self._lifetimes: dict[str, tuple[float, float]] = {}

    def call(self, moment: Moment, request: Request) -> None:
        reported = moment.call.reported
        sent = moment.call.body is not None and not self._bare
        exact = sent and provider_of(request.model) == "anthropic"
        cache = self._exact if exact else self._rebuilt
        use = cache.serve(self._marked(request, reported))
        if reported is not None and reported.read is not None:
            self.audit.add(use, reported)
            self._judge(moment, request, use, reported)
        self._last[request.thread] = request

    def _marked(self, request: Request, reported: Reported | None) -> Request:
        """Breakpoints with the lifetime that the client pays for, where it sets them unseen."""
        if reported is not None and reported.written:
            short = reported.written - reported.written_long
            frame = HOUR if reported.written_long else MINUTES
            self._lifetimes[request.thread] = frame, MINUTES if short else HOUR
        frame, end = self._lifetimes.get(request.thread, (MINUTES, MINUTES))
        unseen = self._asked and not request.marks and provider_of(request.model) == "anthropic"
        if frame != HOUR or not unseen:
            return request
        before = self._last.get(request.thread)
        old = before.segments if before is not None else ()
        ended = len(old) if request.segments[: len(old)] == old else 0
        marks = agent_marks(request, ended, end, self._messages)
        return replace(request, marks=(replace(marks[0], lifetime=frame), *marks[1:]))

    def _judge(self, moment: Moment, request: Request, use: Use, reported: Reported) -> None:
        read = reported.read or 0
        if abs(use.read - read) <= max(LARGE[0], LARGE[1] * reported.prompt):
            self.audit.close += 1
            return
        cause, why = self._reason(moment, request, use, read)
        self.audit.misses.append(
            Miss(
                moment.number,
                moment.call.line,
                moment.thread.name,
                reported.prompt,
                use.read,
                read,
                cause,
                why,
            )
        )

    def _reason(self, moment: Moment, request: Request, use: Use, read: int) -> tuple[Cause, str]:
        """What the recording shows of a miss. Cases: (1) the server had more than the model; (2) it
        had a part; (3) it had nothing, and the prompt shrank; (4) it had nothing."""
        before = self._last.get(request.thread)
        gap = _gap(request.at, before.at if before is not None else None)
        renewed = moment.number in self._renewed
        cause = Cause.FRAME if renewed else Cause.UNEXPLAINED
        if read > use.read:  # (1)
            had = (
                "an entry from before the recording"
                if moment.number == 1
                else ("an entry that outlived its time, or the prefix of another thread")
            )
            return Cause.UNEXPLAINED, f"the server read more{gap}: {had}"
        if read:  # (2)
            first = moment.call is moment.thread.calls[0]
            guess = "; the size of the unseen frame is an estimate here" if first else ""
            return cause, (
                f"only the first {read:,} tokens were found{gap}: what follows them changed, or the "
                f"client set its breakpoints elsewhere{guess}"
            )
        if renewed:  # (3)
            return cause, (
                f"nothing was found{gap}, and the prompt is smaller than what it goes on from: the "
                "system prompt, the tools or an earlier part changed, which is not recorded"
            )
        spoke = any(content.role == "user" for content in moment.new)
        when = " and behind a new prompt of the user's" if spoke else ""
        return cause, (
            f"nothing was found{gap}{when}, not even the system prompt: it changed, as after a "
            "restart of the agent, or the entry was evicted"
        )


def _gap(now: float | None, before: float | None) -> str:
    return (
        ""
        if now is None or before is None
        else f", {max(now - before, 0):.0f} s after the last call"
    )
