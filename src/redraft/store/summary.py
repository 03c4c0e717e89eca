"""What a list of runs shows of each, kept beside the log so that listing reads no log."""

from __future__ import annotations

from redraft.events import RunEnded
from redraft.store.base import Entry, Opened, Started, Told

__all__ = ["CLOSED", "FIRST", "RUNNING", "SUMMARY", "summary_of"]

FIRST = frozenset({"dialect", "started", "task"})
"""What is as it was at the beginning, whatever comes later."""

SUMMARY = FIRST | {"model", "status", "tag", "why"}
"""What the journal keeps of a run by itself."""

RUNNING = "running"
"""The status of a run that did not say that it ended."""

CLOSED = "closed"
"""The status of one whose process let go of the journal and did not say more."""

_WIDTH = 120


def summary_of(entry: Entry, at: float) -> dict[str, object]:
    """What `entry` changes in the summary of its run, by name.

    Args:
        entry: an entry as it is recorded.
        at: its time in seconds since 1970 (UTC).
    """
    match entry:
        case Opened(values=values):
            about = {name: values.get(name, "") for name in ("model", "tag")}
            return {**about, "status": RUNNING, "why": ""}
        case Started():
            return {"task": _task(entry), "started": at}
        case Told(event=RunEnded() as ended):
            return {"status": ended.status, "why": ended.why}
    return {}


def _task(entry: Started) -> str:
    """The first line of the user's first words."""
    said = (turn.content.text.strip() for turn in entry.turns if turn.role == "user")
    first = next(said, "").splitlines()
    return first[0][:_WIDTH] if first else ""
