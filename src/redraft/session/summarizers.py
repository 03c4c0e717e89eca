"""Who writes a summary: a model, or the built-in extractive summarizer; and how long it may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol

from redraft.dialects import Dialect, Frame, OpenAIChat
from redraft.models import Model
from redraft.policies import Summarize, extract
from redraft.prompts import summary_request, summary_system
from redraft.tokens import Meter

__all__ = [
    "EXTRACTIVE",
    "OWN",
    "ExtractiveSummarizer",
    "ModelSummarizer",
    "Summarizer",
    "Summary",
    "TimeLimited",
    "named",
]

EXTRACTIVE = "extractive"
"""The name of the built-in summarizer."""

OWN = "own"
"""The name of the session's own model where it summarizes."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summarizer gave.

    Attributes:
        text: the summary; "" where there is none.
        prompt_tokens: tokens read for it, as the server counted them; 0 where no model was asked.
        output_tokens: tokens written.
        why: why there is none.
        model: the model that was asked; "" for none, and for the session's own.
    """

    text: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    why: str = ""
    model: str = ""


class Summarizer(Protocol):
    """Writes summaries. A plain function will do; whatever it raises is caught, and counts as none."""

    def __call__(self, need: Summarize, /) -> Summary:
        """Write one.

        Args:
            need: the text, how long the summary may be, and the headings that it must have.
        """


def named(summarizer: Summarizer) -> str:
    """What a summarizer is called in a run's record: its `name`, else its kind."""
    return str(getattr(summarizer, "name", "") or getattr(summarizer, "__name__", "own"))


class ExtractiveSummarizer:
    """The built-in one: pieces of the text, word for word. No model, no network, nothing spent.

    Args:
        count: tokens of a text; by default as a session counts them.
    """

    name = EXTRACTIVE

    def __init__(self, count: Callable[[str], int] | None = None) -> None:
        self._count = count or Meter().text

    def __call__(self, need: Summarize, /) -> Summary:
        """See `Summarizer`."""
        return Summary(extract(need.text, need.max_tokens, self._count, need.sections))


class ModelSummarizer:
    """A model writes it, in a request of its own that no turn of the context is part of.

    Args:
        model: the client.
        name: what it is called in a run's record; by default the model's name. `own` stands for the
            session's own model.
        dialect: the wire format that the client speaks.
        parameters: further fields of the request, e.g. `temperature`. Anthropic's format must have
            `max_tokens`; it gets the length that was asked for and room to think, where it is not here.
    """

    def __init__(
        self,
        model: Model,
        *,
        name: str = "",
        dialect: Dialect | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name or model.name
        self._model = model
        self._dialect: Dialect = dialect or OpenAIChat()
        self._parameters = dict(parameters or {})

    def __call__(self, need: Summarize, /) -> Summary:
        """See `Summarizer`; raises what the client raises."""
        reply = self._dialect.read(self._model.complete(self._request(need)))
        usage, text = reply.usage, reply.content.text.strip()
        summary = Summary(
            text,
            usage.prompt if usage else Meter().text(f"{summary_system()}\n{need.text}"),
            usage.output if usage else Meter().text(text),
            model="" if self.name == OWN else self._model.name,
        )
        if reply.complete and text:
            return summary
        return replace(summary, text="", why="the reply broke off" if text else "an empty reply")

    def _request(self, need: Summarize) -> dict[str, Any]:
        dialect = self._dialect
        fields = dict(self._parameters)
        if dialect.name == "anthropic":
            fields.setdefault("max_tokens", 2 * need.max_tokens + 4_096)
        words = summary_request(need.text, need.max_tokens, need.sections)
        frame, contents = dialect.instruct(
            Frame(fields), (dialect.note("user", words),), summary_system()
        )
        return dialect.join(frame, contents)


_Done = tuple[Summary | None, Exception | None]


class TimeLimited:
    """A summarizer that is not waited for longer than some time.

    It goes on in a thread of its own, which nobody can stop; until that is done no other call is made.
    What a late one has spent is told with the next answer.

    Args:
        summarizer: who writes.
        seconds: how long it may take.
    """

    def __init__(self, summarizer: Summarizer, seconds: float) -> None:
        self.name = named(summarizer)
        self._summarizer = summarizer
        self._seconds = seconds
        self._late: SimpleQueue[_Done] | None = None

    def __call__(self, need: Summarize, /) -> Summary:
        """See `Summarizer`; raises what the summarizer raises."""
        late = self._come_late()
        if self._late is not None:
            return Summary("", why="an earlier call has not come back yet")
        box: SimpleQueue[_Done] = SimpleQueue()
        self._late = box  # until it is here: Ctrl-C may come in between
        run = copy_context().run
        Thread(target=run, args=(self._work, need, box), daemon=True, name="summarizer").start()
        try:
            summary, error = box.get(timeout=self._seconds)
        except Empty:
            return replace(late, why=f"none came within {self._seconds:g} seconds")
        self._late = None
        if summary is None:
            raise error or RuntimeError("the summarizer gave nothing")
        return replace(
            summary,
            prompt_tokens=summary.prompt_tokens + late.prompt_tokens,
            output_tokens=summary.output_tokens + late.output_tokens,
        )

    def _work(self, need: Summarize, box: SimpleQueue[_Done]) -> None:
        try:
            summary: object = self._summarizer(need)
            if not isinstance(summary, Summary):
                raise TypeError(f"it gives {type(summary).__name__}, not a Summary")
            box.put((summary, None))
        except BaseException as error:  # else somebody would wait for what never comes
            whatever = error if isinstance(error, Exception) else RuntimeError(repr(error))
            box.put((None, whatever))

    def _come_late(self) -> Summary:
        """What the call that was given up has spent, once it is done."""
        nothing = Summary("")
        if self._late is None:
            return nothing
        try:
            summary, _ = self._late.get_nowait()
        except Empty:
            return nothing
        self._late = None
        return nothing if summary is None else replace(summary, text="")
