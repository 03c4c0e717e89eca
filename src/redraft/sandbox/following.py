"""Waiting for a command while reading what it prints.

The shell and its background children share one pipe. The shell's end is what counts: a child that
keeps the pipe open must not hold up the answer, and a pipe that nobody reads would block them both.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

__all__ = ["GRACE", "Followed", "Pipe", "Sink", "follow"]

GRACE = 1.0
"""Seconds between asking a process to stop and killing it."""

_CHUNK = 1 << 16
_TICK = 0.05
# Output that arrives after the shell's end belongs to it if it comes at once, as from a process
# substitution. A background process that never stops printing is cut off after this many seconds.
_DRAIN = 0.5
# A killed process that hangs in the kernel (a dead network disk) is not waited for any longer.
_UNKILLABLE = 5.0


class Sink(Protocol):
    """Where the bytes of a stream go."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""


class Pipe:
    """The reading end of a pipe that several processes may hold open.

    Args:
        descriptor: the file descriptor; the caller closes it, or hands it over with `hand_over`.
        capture: where the bytes go.
    """

    def __init__(self, descriptor: int, capture: Sink) -> None:
        self._descriptor = descriptor
        self._capture = capture
        self._selector = selectors.DefaultSelector()
        self._selector.register(descriptor, selectors.EVENT_READ)
        self.ended = False

    def take(self, wait: float) -> bool:
        """Read what comes within `wait` seconds; returns whether anything came."""
        if self.ended or not self._selector.select(wait):
            return False
        chunk = os.read(self._descriptor, _CHUNK)
        self._capture.feed(chunk)
        self.ended = not chunk
        return bool(chunk)

    def drain(self) -> None:
        """Read until the pipe is quiet, or for half a second at most."""
        end = time.monotonic() + _DRAIN
        while time.monotonic() < end and self.take(_TICK):
            pass

    def close(self) -> None:
        """Close the descriptor."""
        self._selector.close()
        os.close(self._descriptor)

    def hand_over(self) -> threading.Thread:
        """Keep reading in the background and throw it away, so that writers live on undisturbed.

        A closed pipe would end a server started with `&` at its next log line.
        """
        self._selector.close()
        thread = threading.Thread(
            target=_discard, args=(self._descriptor,), name="redraft-drain", daemon=True
        )
        thread.start()
        return thread


class Followed(Protocol):
    """A command that runs, as far as waiting for it goes."""

    shell: subprocess.Popen[bytes]
    """The process that was started here: the shell itself, or what carries it."""

    pipe: Pipe
    """Where the output comes from."""

    def ended(self) -> bool:
        """Whether the command is over."""

    def ask(self) -> None:
        """Ask everything that belongs to the command to stop."""

    def force(self) -> None:
        """Kill everything that belongs to the command."""


def follow(command: Followed, limit: float, stop: Callable[[], bool]) -> bool:
    """Read the output of `command` until it ends; stop it when its time is up.

    Args:
        command: what to wait for.
        limit: seconds that it may take.
        stop: asked many times a second; True ends the command.

    Returns:
        Whether the command ended by itself.
    """
    in_time = _until_end(command, limit, stop)
    if not in_time:
        command.ask()
        _until_end(command, GRACE, _never)
        # The shell may be gone while a child of it ignores the signal.
        command.force()
        _until_end(command, _UNKILLABLE, _never)
    command.pipe.drain()
    return in_time


def _until_end(command: Followed, limit: float, stop: Callable[[], bool]) -> bool:
    """Read until the command ends; False if `limit` seconds pass or `stop` says so first."""
    deadline = time.monotonic() + limit
    while not command.ended():
        left = deadline - time.monotonic()
        if left <= 0 or stop():
            return False
        if command.pipe.ended:
            with suppress(subprocess.TimeoutExpired):
                command.shell.wait(min(left, _TICK))
        else:
            command.pipe.take(min(left, _TICK))
    return True


def _never() -> bool:
    return False


def _discard(descriptor: int) -> None:
    """Read to the end and close."""
    with suppress(OSError):
        while os.read(descriptor, _CHUNK):
            pass
    os.close(descriptor)
