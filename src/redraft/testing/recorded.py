"""Sessions that were recorded with a scripted player, as data: every request with its reply, byte for byte.

They ship with the package, one for each way of calling tools, for tests of servers, loaders and anything
that reads conversations, and so that a change of what is sent is seen. Made anew with

    python -m redraft.testing.recorded
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from redraft.dialects.fenced import Fenced
from redraft.events import Event
from redraft.models import Model
from redraft.session import Session
from redraft.settings import Settings
from redraft.testing.fenced import in_fences
from redraft.testing.players import ScriptedModel
from redraft.testing.tickets import TicketDesk, TicketTask, make_ticket_task
from redraft.testing.tool_player import ticket_player

__all__ = [
    "Exchange",
    "Replayed",
    "Route",
    "exchanges_of",
    "play_tickets",
    "record",
    "recorded",
    "recorded_lines",
]

Route = Literal["native", "fenced"]
"""How the model calls tools."""

_BUDGET = 16_000
_PARTS = 10
_CEILING = 0.95
"""The pass underneath acts late here, so that what is done is the player's doing."""
_BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command in bash and read what it prints.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command."}},
            "required": ["command"],
        },
    },
}
_SYSTEM = "You work on a task with the tool `bash`. A reply without a call is your answer."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One model call.

    Attributes:
        request: what was sent.
        reply: what came back.
    """

    request: Mapping[str, Any]
    reply: Mapping[str, Any]


class Replayed:
    """A model that gives the replies of a recording, and takes nothing but its requests.

    Args:
        exchanges: the recording.
    """

    name = "scripted-player"

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._left = list(exchanges)

    def complete(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The recorded reply.

        Raises:
            AssertionError: the request is not, byte for byte, the recorded one; it says what differs.
        """
        assert self._left, "the recording ends before the session does"
        exchange = self._left.pop(0)
        now, then = _lines(request), _lines(exchange.request)
        if now != then:
            at = _equal(now, then)
            raise AssertionError(
                f"a request is not what was recorded:\nnow:  {now[at:][:1]}\nthen: {then[at:][:1]}\n"
                "Where that is meant, make the recordings anew: python -m redraft.testing.recorded"
            )
        return exchange.reply

    @property
    def done(self) -> bool:
        """Whether every reply was given."""
        return not self._left


def recorded(route: Route) -> tuple[Exchange, ...]:
    """The recorded session of a route: a player that pins, notes, drops and reads back what it needs,
    in a context a fraction of what it reads.

    Args:
        route: `native` or `fenced`.
    """
    place = resources.files("redraft.testing").joinpath("data", f"tools-{route}.jsonl")
    return tuple(exchanges_of(place.read_text("utf-8").splitlines()))


def exchanges_of(lines: Iterable[str]) -> Iterator[Exchange]:
    """The exchanges that these lines hold: of each request what differs from the one before, and how many
    messages the two begin with."""
    messages: list[Any] = []
    fields: Mapping[str, Any] = {}
    for line in lines:
        values = json.loads(line)
        messages = [*messages[: values["kept"]], *values["messages"]]
        fields = values.get("fields", fields)
        yield Exchange({"messages": messages, **fields}, values["reply"])


def recorded_lines(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """The lines that `exchanges_of` reads."""
    messages: Sequence[Any] = ()
    fields: Mapping[str, Any] = {}
    for exchange in exchanges:
        now = exchange.request["messages"]
        kept = _equal(messages, now)
        values: dict[str, Any] = {"kept": kept, "messages": now[kept:]}
        rest = {key: value for key, value in exchange.request.items() if key != "messages"}
        if rest != fields:
            values["fields"] = rest
        messages, fields = now, rest
        yield json.dumps({**values, "reply": exchange.reply}, ensure_ascii=False)


def play_tickets(
    task: TicketTask,
    route: Route,
    *,
    tools: bool = True,
    budget: int = _BUDGET,
    model: Model | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> tuple[str, Session]:
    """Play the task in a session, without a shell.

    Args:
        task: the task.
        route: how the model calls tools.
        tools: whether it is offered the context tools; without them the context can only grow.
        budget: tokens that a prompt may take.
        model: who answers; by default `ticket_player`.
        on_event: called with every event of the session.

    Returns:
        (its answer, the session).
    """
    fenced, desk = route == "fenced", TicketDesk(task)
    model = model or ScriptedModel(in_fences(ticket_player) if fenced else ticket_player)
    settings = Settings(
        rollback_max=Settings().rollback_max if tools else 0, agent_midturn_compact_pct=_CEILING
    )
    with Session(
        [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": task.prompt}],
        tools=[_BASH],
        model=model.name,
        budget=budget,
        interface="context-tools" if tools else "none",
        dialect=Fenced() if fenced else None,
        settings=settings,
        tag="4f2a",
        on_event=on_event,
    ) as session:
        steps = 8 * len(task.parts)
        while (request := session.request()) is not None:
            with session.answer() as answer:
                answer(model.complete(request))
            with session.round() as now:
                for call in now.calls:
                    output, code = desk.run(str(call.arguments.get("command")))
                    now.result(call, output, exit_code=code)
            steps -= 1
            if not steps:
                session.finish("the step budget is spent")
        return str(session.messages[-1]["content"]), session


class _Recorder:
    """A model that keeps what it was asked and what it said."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.exchanges: list[Exchange] = []
        self._model = model

    def complete(self, request: Mapping[str, Any]) -> object:
        reply = self._model.complete(request)
        assert isinstance(reply, Mapping)
        self.exchanges.append(Exchange(json.loads(json.dumps(request)), reply))
        return reply


def record(route: Route) -> tuple[Exchange, ...]:
    """Play the recorded session once more."""
    player = in_fences(ticket_player) if route == "fenced" else ticket_player
    recorder = _Recorder(ScriptedModel(player))
    play_tickets(make_ticket_task(_PARTS), route, model=recorder)
    return tuple(recorder.exchanges)


def _lines(request: Mapping[str, Any]) -> list[str]:
    """A request in pieces that can be compared: each message, then the other fields."""
    rest = {key: value for key, value in request.items() if key != "messages"}
    return [json.dumps(one, ensure_ascii=False) for one in (*request["messages"], rest)]


def _equal(one: Sequence[object], other: Sequence[object]) -> int:
    """How many items at the start are equal."""
    at = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        at += 1
    return at


def _write_anew() -> None:
    place = Path(__file__).parent / "data"
    place.mkdir(exist_ok=True)
    routes: tuple[Route, ...] = ("native", "fenced")
    for route in routes:
        lines = [f"{line}\n" for line in recorded_lines(record(route))]
        (place / f"tools-{route}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    _write_anew()
