"""What the tests of approvals share: a session, a call that waits, and its replay."""

from __future__ import annotations

from typing import Any

from session_world import BASH, HEAD, ask, call, calling, play

from redraft import Session
from redraft.events import Event
from redraft.session import Approval

LINE = "[approval pending id=a1: remove the build]"


def session_of(*, events: list[Event] | None = None, **options: Any) -> Session:
    told = events.append if events is not None else None
    return Session(HEAD, tools=[BASH], tag="beef", on_event=told, **options)


def held(session: Session, command: str = "rm -r build", **options: Any) -> Approval:
    """A round whose one call waits."""
    ask(session, calling(call(command, 1)))
    with session.round() as now:
        given = {"approval": "a1", "asked": "remove the build", **options}
        return now.pending(now.calls[0], **given)


def read_it(session: Session) -> None:
    """The model reads the result that waits, and looks at something else."""
    play(session, calling(call("ls", 2)), "README\n")


def replay(session: Session, output: str = "removed\n", name: str = "a1", code: int = 0) -> None:
    with session.replay(name) as now:
        assert not now.answered
        now.result(output, exit_code=code)
