"""Looking into a process namespace from outside, and ending what is in it.

The namespace has a /proc of its own, which lists what lives in it and in namespaces below; from
outside it is reached through the root directory of the namespace's first process.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from redraft.sandbox.processes import read_stat

__all__ = ["Namespace", "available_memory", "half_of_memory"]

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STEP = 0.001
# As long as any process of a namespace hangs in the kernel, its first process cannot end.
_PATIENCE = 5.0


class Namespace:
    """The processes below the first one of a process namespace.

    Args:
        first: the id of that process, as seen from here.
    """

    def __init__(self, first: int) -> None:
        self._entry = _PROC / str(first)
        self._first = first
        stat = read_stat(self._entry)
        self._name = _namespace(self._entry)
        # The number may have gone to another process since it was told. One that lives in the same
        # namespace as we do is none of ours to end, and neither is anything beside it.
        foreign = self._name not in (None, _namespace(_PROC / "self"))
        self._started = stat.started if stat and foreign else None

    def alive(self) -> bool:
        """Whether the namespace exists; once it does not, none of its processes does."""
        stat = read_stat(self._entry)
        return stat is not None and not stat.dead and stat.started == self._started

    def measure(self, memory_limit: int) -> tuple[int, int]:
        """How many threads there are, and the bytes of memory they hold.

        Memory that several processes share is counted once for each, unless that comes to more than
        `memory_limit`; then the shares are asked for, which takes longer.
        """
        threads = pages = 0
        entries = self._entries()
        for entry in entries:
            stat = read_stat(entry)
            if stat is not None:
                threads += stat.threads
                pages += stat.pages
        memory = pages * _PAGE
        if memory > memory_limit:
            memory = sum(_share(entry) for entry in entries)
        # The first process is bubblewrap's own and the second the launcher; nobody asked for those.
        return max(0, threads - 2), memory

    def ask_to_stop(self) -> None:
        """Send SIGTERM to all processes but the first, which would not mind."""
        if not self.alive():
            return
        for entry in _numbered(_PROC):
            if entry != self._entry and _namespace(entry) == self._name:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(entry.name), signal.SIGTERM)

    def wait_for_end(self) -> None:
        """Wait until every process is gone, and see to it that this comes about."""
        deadline = time.monotonic() + _PATIENCE
        asked = time.monotonic() + _PATIENCE / 10
        while self.alive() and time.monotonic() < deadline:
            if time.monotonic() > asked:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(self._first, signal.SIGKILL)
            time.sleep(_STEP)

    def _entries(self) -> list[Path]:
        return _numbered(self._entry / "root" / "proc")


def half_of_memory() -> int:
    """Half of this machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * _PAGE // 2


def available_memory() -> int | None:
    """Bytes of memory that new programs could have, as the kernel sees it; None if it does not say."""
    with suppress(OSError, ValueError):
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _numbered(proc: Path) -> list[Path]:
    """The entries of a /proc that are processes; none where it cannot be read any more."""
    with suppress(OSError):
        return [proc / name for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208
    return []


def _namespace(entry: Path) -> str | None:
    with suppress(OSError):
        return os.readlink(entry / "ns" / "pid")  # noqa: PTH115
    return None


def _share(entry: Path) -> int:
    """The bytes that a process holds, its share of what it shares with others (proc(5), Pss)."""
    with suppress(OSError, ValueError):
        for line in (entry / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
