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

__all__ = ["end_session", "members", "signal_session"]

_PROC = Path("/proc")
_STEP = 0.02


def members(session: int) -> list[int]:
    """The ids of the living processes of `session`, which is its first process's id."""
    if not (_PROC / "self" / "stat").exists():
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
    """Ask every member of the session to stop, wait up to `grace` seconds, then kill the rest."""
    if not members(session):
        return
    signal_session(session, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while members(session) and time.monotonic() < deadline:
        time.sleep(_STEP)
    if members(session):
        signal_session(session, signal.SIGKILL)


def _session_of(entry: Path) -> int | None:
    """The session of the process under /proc/`entry`; None for one that is gone or a zombie."""
    try:
        stat = (entry / "stat").read_bytes()
    except OSError:
        return None
    # The command's name stands in parentheses and may hold spaces and parentheses itself.
    state, _parent, _group, session = stat.rpartition(b")")[2].split()[:4]
    return None if state in (b"Z", b"X") else int(session)


def _group_exists(group: int) -> bool:
    """Whether the process group still has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
