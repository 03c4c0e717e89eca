"""A recording in one form, whatever file it came from: threads of chat messages, and their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import Any, Literal

from redraft.cost import Cause

__all__ = ["Message", "RecordedCall", "Recording", "Reported", "Thread", "ThreadDraft"]

Message = Mapping[str, Any]
"""A Chat Completions message."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What the provider said of one call. Tokens in its own counting.

    Attributes:
        prompt: the whole prompt, cached or not.
        read: those of `prompt` that came from a cache; None where the provider does not say.
        written: those that were stored in one.
        written_long: those of `written` that were stored for an hour.
        output: tokens generated.
        usd: what the recorder reckoned that it cost.
        passes: how often the server read the prompt in this call, e.g. once more for each of its own
            tools; all counts are sums over them.
    """

    prompt: int
    read: int | None = None
    written: int = 0
    written_long: int = 0
    output: int = 0
    usd: float | None = None
    passes: int = 1

    @property
    def size(self) -> int | None:
        """The prompt's size; None where it was read several times, since only the sum is known."""
        return self.prompt if self.passes == 1 else None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One model call.

    Attributes:
        reply: where its answer begins in the thread's messages; what stands in front was sent.
        line: the line of the file that it was read from, from 1; 0 where the file has no such.
        model: the model that answered.
        at: when it was sent, in seconds since 1970.
        reported: what the provider reported.
        settings: what else the prompt depends on, e.g. the reasoning effort.
        body: the request as it was sent, where the recording has it.
        api: how `body` is made: `anthropic`, `chat` or `responses`.
    """

    reply: int
    line: int = 0
    model: str = ""
    at: float | None = None
    reported: Reported | None = None
    settings: str = ""
    body: Mapping[str, Any] | None = None
    api: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation, which only grows.

    Attributes:
        name: unlike that of any other thread of the recording.
        messages: in order.
        calls: in order.
        kind: `side` for a sub-agent, which has a frame of its own.
        tools: the tools of its requests, as far as they are recorded.
        follows: the thread whose context this one took the place of, e.g. when the recorded agent
            compacted itself.
        changed: what it took its place by.
    """

    name: str
    messages: tuple[Message, ...]
    calls: tuple[RecordedCall, ...]
    kind: Literal["main", "side"] = "main"
    tools: tuple[Mapping[str, Any], ...] = ()
    follows: str = ""
    changed: Cause | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """What was read from one file.

    Attributes:
        path: the file, as it was named.
        format: the format that was found.
        threads: in the order in which they began.
        notes: what the reader should know, e.g. lines that were passed over.
        marked: how many of the last messages the agent marks for the cache, as far as its kind is
            known (`redraft.cost.agent_marks`).
        prunes: whether the agent takes old output out of its messages without recording it.
        bare: whether recorded bodies lack the cache marks that the client put in as it sent them.
    """

    path: str
    format: str
    threads: tuple[Thread, ...]
    notes: tuple[str, ...] = ()
    marked: int = 1
    bare: bool = False
    prunes: bool = False

    @property
    def model(self) -> str:
        """The model that answered most calls; "" where none is named."""
        counts: dict[str, int] = {}
        for _, call in self.calls():
            counts[call.model] = counts.get(call.model, 0) + bool(call.model)
        return max(counts, key=lambda name: counts[name], default="")

    def calls(self) -> Iterator[tuple[Thread, RecordedCall]]:
        """All calls in order of time where every one has a time, else in the file's order. Those of
        one thread stay in their order, whatever their times say."""
        keyed: list[tuple[tuple[float, int], Thread, RecordedCall]] = []
        timed = all(call.at is not None for thread in self.threads for call in thread.calls)
        for thread in self.threads:
            latest = -inf
            for call in thread.calls:
                if timed and call.at is not None:
                    latest = max(latest, call.at)
                keyed.append(((latest, call.line), thread, call))
        yield from ((thread, call) for _, thread, call in sorted(keyed, key=itemgetter(0)))


@dataclass(slots=True)
class ThreadDraft:
    """A thread while it is read."""

    name: str
    kind: Literal["main", "side"] = "main"
    messages: list[Message] = field(default_factory=list)
    calls: list[RecordedCall] = field(default_factory=list)
    tools: tuple[Mapping[str, Any], ...] = ()
    follows: str = ""
    changed: Cause | None = None

    def done(self) -> Thread:
        """The thread as it stands."""
        return Thread(
            self.name,
            tuple(self.messages),
            tuple(self.calls),
            self.kind,
            self.tools,
            self.follows,
            self.changed,
        )

    @staticmethod
    def all_done(drafts: Sequence[ThreadDraft]) -> tuple[Thread, ...]:
        """Those that hold anything."""
        return tuple(draft.done() for draft in drafts if draft.messages)
