"""What the tests of the action policies share: sessions with one, and calls of its tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from session_world import BASH, HEAD, calling, journal_of, last, play, tool_call

from redraft import Session
from redraft.events import ContextOp
from redraft.session import Round
from redraft.store import Told

Json = dict[str, Any]


def session_with(policy: str, budget: int = 20_000, **options: Any) -> Session:
    """A session whose model has the policy's tools and no other way to edit."""
    more = {"tools": [BASH], "interface": "none", "tag": "beef", **options}
    return Session(HEAD, policy=policy, budget=budget, **more)


def act(name: str, at: int | str = "a", **arguments: Any) -> Json:
    return tool_call(name, json.dumps(arguments), at)


def acts(session: Session, *calls: Json, run: str = "out") -> Round:
    """A round of such calls."""
    return play(session, calling(*calls), run)


def said(session: Session, *calls: Json) -> str:
    """The last result of a round of such calls, without what is told in it."""
    acts(session, *calls)
    return last(session)


def log(
    session: Session, rounds: int, start: int = 0, lines: int = 40, value: int = 48_000
) -> None:
    """Rounds whose output holds an exact value each, and little else."""
    for at in range(start, start + rounds):
        output = f"line {at} of port {value + at} /etc/app/conf.d/{at}.toml\n" + "word " * lines
        command = tool_call("bash", json.dumps({"command": f"look {at}"}), f"log_{at}")
        play(session, calling(command, text=f"step {at}"), output)


def ops(session: Session) -> list[ContextOp]:
    """What was told of the calls."""
    entries = journal_of(session).entries
    events = (entry.event for entry in entries if isinstance(entry, Told))
    return [event for event in events if isinstance(event, ContextOp)]


def tools(session: Session) -> Sequence[str]:
    """The tools of the next request."""
    request = session.request()
    assert request is not None
    return [tool["function"]["name"] for tool in request["tools"]]
