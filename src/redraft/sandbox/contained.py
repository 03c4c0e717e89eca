"""A command that runs under bubblewrap."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from redraft.errors import SandboxError
from redraft.sandbox.capture import Capture
from redraft.sandbox.diagnosis import ALTERNATIVES
from redraft.sandbox.following import Pipe
from redraft.sandbox.launcher import read_notes
from redraft.sandbox.limits import Limits, Usage, excess
from redraft.sandbox.namespace import Namespace, available_memory
from redraft.sandbox.shells import Running

__all__ = ["Channel", "Contained", "first_process", "free_space"]

_EVERY = 0.05
"""Seconds between two looks at what is used."""

_FIRST_PROCESS = re.compile(rb'"child-pid":\s*(\d+)\D')
_MOST = 1 << 16


class Channel:
    """A pipe whose writing end goes to another process, to be read when that is convenient."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._seen = b""

    def sent(self) -> None:
        """The other process has its end; close ours."""
        os.close(self.writing)

    def read(self) -> bytes:
        """Everything that has come so far, up to 64 KiB."""
        with suppress(BlockingIOError):
            while len(self._seen) < _MOST and (chunk := os.read(self._reading, _MOST)):
                self._seen += chunk
        return self._seen

    def close(self) -> None:
        """Close the reading end."""
        os.close(self._reading)


class Contained(Running):
    """A command in a process namespace of its own.

    Args:
        shell: bubblewrap.
        pipe: where the output comes from.
        capture: where it goes.
        facts: where bubblewrap says which process is the namespace's first.
        notes: where the launcher says what became of the command.
        state: a descriptor of the file that the shell reports its state in; it stays open.
        limits: what the command may use.
        memory: the bytes of memory that it may use.
        floors: the directories that it writes to, with the bytes that must stay free there.
    """

    def __init__(
        self,
        shell: subprocess.Popen[bytes],
        pipe: Pipe,
        capture: Capture,
        *,
        facts: Channel,
        notes: Channel,
        state: int,
        limits: Limits,
        memory: int,
        floors: Sequence[tuple[Path, int]],
    ) -> None:
        super().__init__(shell, pipe)
        self._capture = capture
        self._facts = facts
        self._notes = notes
        self._state = state
        self._limits = limits
        self._memory = memory
        self._floors = floors
        self._next = 0.0
        self._excess = ""
        self._namespace: Namespace | None = None
        self._said = b""

    def ask(self) -> None:
        """Ask everything in the namespace to stop."""
        if namespace := self._inside():
            namespace.ask_to_stop()

    def force(self) -> None:
        """Kill bubblewrap; the namespace's first process dies with it, and so does everything in it."""
        with suppress(ProcessLookupError):
            self.shell.kill()

    def exceeded(self) -> str:
        """The limit that is passed; looked at now and then, and the command ends at once for it."""
        now = time.monotonic()
        if not self._excess and now >= self._next and self.shell.poll() is None:
            self._next = now + _EVERY
            self._excess = self._check()
            if self._excess:
                self.force()
        return self._excess

    def settle(self) -> None:
        """Wait until nothing of the command is left, so that what it wrote stays as it is."""
        namespace = self._inside()
        if namespace is not None:
            namespace.wait_for_end()
        self._said = self._notes.read()
        self._notes.close()
        self._facts.close()
        self.pipe.close()
        self._next = float("inf")

    def code(self) -> int:
        """The command's exit code.

        Raises:
            SandboxError: bubblewrap could not start it.
        """
        started, _left = read_notes(self._said)
        if not started and not self._excess and self.shell.returncode not in (None, -9):
            said, _missing = self._capture.text()
            raise SandboxError(
                f"bubblewrap could not start a command: {said.strip() or self.shell.returncode}. Look "
                f"whether the directories that it names are still there. {ALTERNATIVES}"
            )
        return super().code()

    def report(self) -> bytes:
        """What the shell wrote about its state.

        Read through the descriptor: the command may have done anything to the file but replace it.
        """
        with suppress(OSError):
            return os.pread(self._state, 1 << 22, 0)
        return b""

    def remark(self) -> str:
        """How many processes ended with the command, if any did."""
        _started, left = read_notes(self._said)
        if not left:
            return ""
        those = "1 background process" if left == 1 else f"{left} background processes"
        return (
            f"{those} ended with this command: nothing outlives its command here. What needs a server "
            "must start it in the same command."
        )

    def _check(self) -> str:
        # Before the launcher runs, the first process still has this machine's /proc.
        started, _left = read_notes(self._notes.read())
        namespace = self._inside() if started else None
        processes, memory = namespace.measure(self._memory) if namespace else (0, 0)
        spare = min((free_space(path) - floor for path, floor in self._floors), default=0)
        usage = Usage(processes, memory, self._capture.seen, available_memory(), spare)
        return excess(usage, self._limits, self._memory)

    def _inside(self) -> Namespace | None:
        if self._namespace is None and (first := first_process(self._facts.read())) is not None:
            self._namespace = Namespace(first)
        return self._namespace


def first_process(facts: bytes) -> int | None:
    """The id of a namespace's first process in what bubblewrap said; None until it has said it."""
    found = _FIRST_PROCESS.search(facts)
    return int(found[1]) if found else None


def free_space(directory: Path) -> int:
    """The bytes that this user may still write to the disk under `directory`."""
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize
