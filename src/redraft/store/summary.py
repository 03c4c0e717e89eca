"""What a list of runs shows of each, kept beside the log so that listing reads no log."""

from __future__ import annotations

from redraft.events import RunEnded
from redraft.store.base import Entry, Opened, Sent, Started, Told

__all__ = ["CLOSED", "FIRST", "RUNNING", "SUMMARY", "note"]

FIRST = frozenset({"dialect", "started", "task"})
"""What is as it was at the beginning, whatever comes later."""

SUMMARY = FIRST | {"model", "status", "tag", "why"}
"""What the journal keeps of a run by itself."""

RUNNING = "running"
"""The status of a run that did not say that it ended."""

CLOSED = "closed"
"""The status of one whose process let go of the journal and did not say more."""

_WIDTH = 120
_GOING_ON: dict[str, object] = {"status": RUNNING, "why": ""}


def note(about: dict[str, object], entry: Entry, at: float) -> None:
    """Note in a run's summary what `entry` changes.

    Args:
        about: what changes, by name.
        entry: an entry as it is recorded.
        at: its time in seconds since 1970 (UTC).
    """
    for name, value in _changes(entry, at).items():
        if name not in FIRST or name not in about:
            about[name] = value


def _changes(entry: Entry, at: float) -> dict[str, object]:
    match entry:
        case Opened(values=values):
            return {name: values.get(name, "") for name in ("model", "tag")}
        case Started():
            return {"task": _task(entry), "started": at, **_GOING_ON}
        case Sent():  # whoever only takes back an edit leaves the run as it stood
            return _GOING_ON
        case Told(event=RunEnded() as ended):
            return {"status": ended.status, "why": ended.why}
    return {}


def _task(entry: Started) -> str:
    """The first line of the user's first words."""
    said = (turn.content.text.strip() for turn in entry.turns if turn.role == "user")
    first = next(said, "").splitlines()
    return first[0][:_WIDTH] if first else ""
