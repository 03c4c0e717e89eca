"""What all sandboxes share: one command at a time, what lasts between them, how one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox.base import Outcome
from redraft.sandbox.capture import Capture
from redraft.sandbox.following import Pipe, Sink, follow
from redraft.sandbox.shell import State, read_state

__all__ = ["Running", "Shells", "checked_timeout", "pipe_to", "shell_code"]

# What bash itself answers to a command that it cannot read.
_UNREADABLE = 2
_NUL_ADVICE = (
    "redraft: the command holds a NUL byte, which bash cannot read. Write it as an escape, for "
    "example: printf 'a\\0b'\n"
)


class Running(ABC):
    """One command that runs.

    Args:
        shell: the process that was started for it.
        pipe: where its output comes from.
    """

    def __init__(self, shell: subprocess.Popen[bytes], pipe: Pipe) -> None:
        self.shell = shell
        self.pipe = pipe

    def ended(self) -> bool:
        """Whether the command is over."""
        return self.shell.poll() is not None

    @abstractmethod
    def ask(self) -> None:
        """Ask everything that belongs to the command to stop."""

    @abstractmethod
    def force(self) -> None:
        """Kill everything that belongs to the command."""

    def exceeded(self) -> str:
        """The limit that the command went over, "" as long as there is none."""
        return ""

    def settle(self) -> None:
        """After the end: see to the pipe and to what the command left running."""
        self.pipe.close()

    def code(self) -> int:
        """The command's exit code, as a shell reports it.

        Raises:
            SandboxError: it was no command that ended, but the sandbox that could not start one.
        """
        return shell_code(self.shell.returncode)

    @abstractmethod
    def report(self) -> bytes:
        """What the shell wrote about its state, as `redraft.sandbox.shell.read_state` wants it."""

    def remark(self) -> str:
        """What the model should know about the command's end; "" for nothing."""
        return ""


class Shells(ABC):
    """Runs bash commands one after another.

    Args:
        state: what the first command starts with.
        timeout: seconds that a command may take, unless `run` says otherwise.
        output_cap: bytes of output to keep, half from the head and half from the tail.

    Raises:
        SettingsError: `timeout` or `output_cap` is out of range.
    """

    def __init__(self, state: State, timeout: float, output_cap: int) -> None:
        if output_cap < 0:
            raise SettingsError(f"output_cap is {output_cap}. Give the number of bytes to keep.")
        self._timeout = checked_timeout(timeout)
        self._cap = output_cap
        self._state = state
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def background(self) -> bool:
        """Whether what a command leaves running goes on after it, until the sandbox is closed."""
        return True

    def run(self, command: str, timeout: float | None = None) -> Outcome:
        """Run `command` in bash and wait for it. Threads take turns. Standard input is empty.

        Args:
            command: any bash text; a lone surrogate in it becomes U+FFFD.
            timeout: seconds to wait before the command and all its children are stopped.

        Raises:
            SandboxError: the shell could not be started, or the sandbox is closed.
            SettingsError: `timeout` is not a positive number.
        """
        limit = self._timeout if timeout is None else checked_timeout(timeout)
        if "\0" in command:
            return Outcome(_NUL_ADVICE, _UNREADABLE, timed_out=False, truncated_bytes=0)
        with self._lock:
            if self._closing.is_set():
                raise SandboxError("This sandbox is closed. Make a new one to run commands.")
            return self._run(command, limit)

    def close(self) -> None:
        """Stop the command that is running, end background processes, remove private files."""
        self._closing.set()
        with self._lock:
            self._clean_up()

    def __enter__(self) -> Self:
        """Use the sandbox in a `with` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the sandbox."""
        self.close()

    @abstractmethod
    def _start(self, command: str, capture: Capture) -> Running:
        """Start a shell for `command` that begins with the state of the last one."""

    @abstractmethod
    def _clean_up(self) -> None:
        """End what runs in the background, remove private files. Twice does nothing more."""

    def _run(self, command: str, limit: float) -> Outcome:
        capture = Capture(self._cap)
        running = self._start(command, capture)
        try:
            in_time = follow(running, limit, lambda: self._must_stop(running))
        except BaseException:
            running.force()
            running.shell.wait()
            running.settle()
            raise
        running.settle()
        if not in_time and self._closing.is_set():
            raise SandboxError("The sandbox was closed while a command ran. Make a new one.")
        return self._outcome(running, capture, in_time=in_time)

    def _must_stop(self, running: Running) -> bool:
        return self._closing.is_set() or bool(running.exceeded())

    def _outcome(self, running: Running, capture: Capture, *, in_time: bool) -> Outcome:
        code, stopped = running.code(), running.exceeded()
        if in_time:
            self._state = read_state(running.report(), self._state)
        output, missing = capture.text()
        words = f"this command was stopped: {stopped}" if stopped else running.remark()
        if words:
            output += (
                f"{'' if output.endswith(chr(10)) or not output else chr(10)}redraft: {words}\n"
            )
        late = not in_time and not stopped
        return Outcome(output, code, late, missing, stopped)


def checked_timeout(timeout: float) -> float:
    """`timeout`, if it is a number of seconds that can be waited.

    Raises:
        SettingsError: it is not above zero.
    """
    if not timeout > 0:
        raise SettingsError(f"timeout is {timeout}. Give a number of seconds above zero.")
    return timeout


def shell_code(code: int | None) -> int:
    """The exit code as a shell reports it; a process that would not die counts as killed."""
    if code is None:
        return 128 + signal.SIGKILL
    return code if code >= 0 else 128 - code


def pipe_to(capture: Sink) -> tuple[int, Pipe]:
    """A new pipe: the end that a command writes to, and the end that feeds `capture`."""
    reading, writing = os.pipe()
    return writing, Pipe(reading, capture)
