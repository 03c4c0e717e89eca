"""A session with the context tools, in any wire format: results with handles, and what the tools answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from format_world import Chat, Format, Json, Story
from session_world import HEAD, reply

from redraft import Session, Settings
from redraft.context import Turn
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.stubs import OverflowStub
from redraft.events import ContextOp, Event
from redraft.tools.catalogue import TOOL_ARGUMENTS

Call = tuple[str, Json]


def status(**arguments: Any) -> Call:
    return "context_status", arguments


def pin(*handles: str, **more: Any) -> Call:
    return "context_pin", {"handles": list(handles), **more}


def unpin(*handles: str, **more: Any) -> Call:
    return "context_unpin", {"handles": list(handles), **more}


def drop(*handles: str) -> Call:
    return "context_drop", {"handles": list(handles)}


def note(text: str, *handles: str) -> Call:
    return "context_note", {"handles": list(handles), "note": text}


def read(name: str, **more: Any) -> Call:
    return "read_overflow", {"id": name, **more}


def body(word: str, count: int = 300) -> str:
    """A result of so many words, each its own."""
    return " ".join(f"{word}{at}" for at in range(count))


class Tools:
    """A run whose model has the context tools, each request looked at.

    Attributes:
        session: the session.
        events: what it told.
        ops: what it told of the context tools.
    """

    def __init__(self, form: Format | None = None, **options: Any) -> None:
        self.form = form or Chat()
        self.events: list[Event] = []
        options = {"interface": "context-tools", "settings": quiet(), **options}
        self.story = Story(self.form, on_event=self.events.append, **options)
        self.session = self.story.session

    @property
    def ops(self) -> list[ContextOp]:
        return [event for event in self.events if isinstance(event, ContextOp)]

    def work(self, *outputs: str, text: str = "working") -> list[str]:
        """A round of commands with these outputs; the handles of their results."""
        before = self.session.live.next_number
        self.story.play(
            self.story.say(*(f"look {at}" for at in range(len(outputs))), text=text), *outputs
        )
        return [handle for handle, number in self.handles().items() if number >= before]

    def handles(self) -> dict[str, int]:
        """What `context_status` calls each result, with its turn's number."""
        from redraft.tools.handles import Names

        names = Names(self.session.live)
        return {names.handle(turn): turn.number for turn in names.outputs}

    def use(self, *calls: Call) -> list[str]:
        """A round of calls of our tools; what each was answered, without the readout."""
        before = self.session.live.next_number
        self.story.play(self.form.reply("managing", *calls))
        said = [turn for turn in self.session.live.turns if turn.number > before]
        return [answer(turn) for turn in said if turn.role == "tool"]

    def turn(self, handle: str) -> Turn:
        number = self.handles()[handle]
        return next(turn for turn in self.session.live.turns if turn.number == number)

    def text(self, handle: str) -> str:
        return self.turn(handle).content.text

    def stub(self, handle: str) -> OverflowStub | None:
        return OverflowStub.parse(self.text(handle))

    def offered(self) -> list[str]:
        """Our tools in the next request."""
        request = self.story.request()
        assert request is not None
        names = self.form.tool_names(request) if request.get("tools") else []
        return [name for name in names if name in TOOL_ARGUMENTS]


class ToolsChat(Chat):
    """Chat Completions, where tools stand under `function`."""

    def tool_names(self, request: Mapping[str, Any]) -> list[str]:
        return [tool["function"]["name"] for tool in request["tools"]]


def quiet(**more: Any) -> Settings:
    """Settings under which nothing but the tools changes the context."""
    return Settings(**{"elide_edits": "off", "agent_midturn_compact_pct": 0.95, **more})


def answer(turn: Turn) -> str:
    """A result without what redraft puts under each."""
    lines = turn.content.text.split("\n")
    while (
        lines
        and lines[-1].startswith("[redraft:beef] ")
        and " tokens (" in lines[-1]
        and len(lines) > 1
    ):
        lines.pop()
    return "\n".join(lines)


# -- the fenced route --------------------------------------------------------------------------------


class FencedTools:
    """The same where the model writes its calls as text."""

    def __init__(self, **options: Any) -> None:
        self.events: list[Event] = []
        options = {"settings": quiet(), "budget": 40_000, "tag": "beef", **options}
        self.session = Session(
            HEAD,
            dialect=Fenced(),
            interface="context-tools",
            on_event=self.events.append,
            **options,
        )

    @property
    def ops(self) -> list[ContextOp]:
        return [event for event in self.events if isinstance(event, ContextOp)]

    def play(self, *calls: Call, run: Callable[[Any], str] | str = "done") -> Json:
        """A round; gives the request that it answers."""
        request = self.session.request()
        assert request is not None
        fences = [call_fence(name, json.dumps(arguments)) for name, arguments in calls]
        with self.session.answer() as given:
            given(reply({"role": "assistant", "content": "\n\n".join(("so", *fences))}))
        with self.session.round() as now:
            for asked in now.calls:
                now.result(asked, run if isinstance(run, str) else run(asked))
        return request

    def work(self, *outputs: str) -> None:
        given = iter(outputs)
        self.play(*(("bash", {"command": "ls"}) for _ in outputs), run=lambda _: next(given))

    def use(self, *calls: Call) -> list[str]:
        before = self.session.live.next_number
        self.play(*calls)
        turns = self.session.live.turns
        return [answer(turn) for turn in turns if turn.number > before and turn.role == "tool"]
