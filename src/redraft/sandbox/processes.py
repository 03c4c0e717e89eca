"""Finding and ending every process of a session.

A command runs in a session of its own, so that whatever it starts can be found again. Linux lists
the members under /proc, which also shows those that moved to another process group (`set -m`) and
tells the dead from the living. Elsewhere the process group has to do.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["Stat", "end_session", "members", "read_stat", "signal_session"]

_PROC = Path("/proc")
_STEP = 0.02


class Stat(NamedTuple):
    """What /proc/<id>/stat says of a process (proc(5)).

    Attributes:
        state: one letter; Z for a zombie, X for one that is going.
        session: the id of its session's first process.
        threads: how many it has.
        started: when it started, in clock ticks since the system did; tells it from a later process
            of the same id.
        pages: pages of memory that it holds.
    """

    state: bytes
    session: int
    threads: int
    started: int
    pages: int

    @property
    def dead(self) -> bool:
        """Whether it has ended, though nobody may have collected it yet."""
        return self.state in (b"Z", b"X")


def read_stat(entry: Path) -> Stat | None:
    """The process under `entry`, a directory of a /proc; None if there is none."""
    try:
        text = (entry / "stat").read_bytes()
    except OSError:
        return None
    # The command's name stands in parentheses and may hold spaces and parentheses itself.
    fields = text.rpartition(b")")[2].split()
    return Stat(fields[0], int(fields[3]), int(fields[17]), int(fields[19]), int(fields[21]))


def members(session: int) -> list[int]:
    """The ids of the living processes of `session`, which is its first process's id."""
    if not _listed():
        return [session] if _group_exists(session) else []
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _session_of(entry) == session:
            found.append(int(entry.name))
    return found


def signal_session(session: int, number: signal.Signals) -> None:
    """Send a signal to the session's process group, and to members that left the group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    for process in members(session):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(process) != session:
                os.kill(process, number)


def end_session(session: int, grace: float) -> None:
    """Ask every member of a session to stop, wait up to `grace` seconds, then kill the rest.

    The session's first process must have ended. One that is alive got the same number later, and its
    session with it, which is left alone.
    """
    found = members(session)
    if not found or (session in found and _listed()):
        return
    signal_session(session, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while members(session) and time.monotonic() < deadline:
        time.sleep(_STEP)
    if members(session):
        signal_session(session, signal.SIGKILL)


def _listed() -> bool:
    """Whether the system lists processes, so that the members of a session are known one by one."""
    return (_PROC / "self" / "stat").exists()


def _session_of(entry: Path) -> int | None:
    """The session of the process under /proc/`entry`; None for one that is gone or a zombie."""
    stat = read_stat(entry)
    return None if stat is None or stat.dead else stat.session


def _group_exists(group: int) -> bool:
    """Whether the process group still has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
