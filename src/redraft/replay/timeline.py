"""A recording's calls in order, each with the live context that it was sent from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from redraft.context import Live
from redraft.cost import Cause
from redraft.dialects import Content, Dialect, OpenAIChat
from redraft.replay.recording import RecordedCall, Recording, Thread
from redraft.tokens import Meter

__all__ = ["Moment", "Stage", "Timeline", "roots"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A call, and what is new since its thread's call before.

    Attributes:
        number: its number among the recording's calls, from 1.
        thread: its thread.
        call: the call.
        new: turns that joined the context since.
        reply: the answer's first turn; None where it is not recorded.
        root: names the conversation, over all threads that took each other's place.
        changed: what the recorded agent did to its context in between, other than append.
    """

    number: int
    thread: Thread
    call: RecordedCall
    new: tuple[Content, ...]
    reply: Content | None
    root: str
    changed: Cause | None


def roots(recording: Recording) -> Mapping[str, str]:
    """For each thread the first one of those that took each other's place."""
    found: dict[str, str] = {}
    for thread in recording.threads:
        found[thread.name] = found.get(thread.follows, thread.name)
    return found


class Timeline:
    """The calls of a recording. Splitting its messages is done once, however often it is walked.

    Args:
        recording: what was read.
        dialect: how its messages are taken apart; they are chat messages.
    """

    def __init__(self, recording: Recording, dialect: Dialect | None = None) -> None:
        self.recording = recording
        self.dialect = dialect or OpenAIChat()
        self._contents = {
            thread.name: self.dialect.split({"messages": list(thread.messages)})[1]
            for thread in recording.threads
        }
        self._roots = roots(recording)

    def __iter__(self) -> Iterator[Moment]:
        done: dict[str, int] = {}
        for number, (thread, call) in enumerate(self.recording.calls(), 1):
            contents = self._contents[thread.name]
            first, start = thread.name not in done, done.get(thread.name, 0)
            done[thread.name] = max(call.reply, start)
            yield Moment(
                number,
                thread,
                call,
                tuple(contents[start : call.reply]),
                contents[call.reply] if call.reply < len(contents) else None,
                self._roots[thread.name],
                thread.changed if first else None,
            )

    def __len__(self) -> int:
        return sum(len(thread.calls) for thread in self.recording.threads)


class Stage:
    """The live context of each thread, while a timeline is walked.

    Args:
        timeline: what is walked.
        meter: how turns are counted.
    """

    def __init__(self, timeline: Timeline, meter: Meter) -> None:
        self._dialect = timeline.dialect
        self._meter = meter
        self._lives: dict[str, Live] = {}

    def append(self, moment: Moment) -> Live:
        """The live context at a call: what was there, and what is new."""
        name = moment.thread.name
        live = self._lives.get(name)
        if live is None:
            tools = {"tools": list(moment.thread.tools)} if moment.thread.tools else {}
            frame, _ = self._dialect.split({"messages": [], **tools})
            live = Live.start(self._dialect, self._meter, frame, moment.new)
        else:
            live = live.append(moment.new)
        self._lives[name] = live
        return live

    def put(self, moment: Moment, live: Live) -> None:
        """Set the live context that the thread goes on from."""
        self._lives[moment.thread.name] = live
