"""What a place for commands must be able to do, and what a command leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

__all__ = ["Outcome", "Sandbox"]


@dataclass(frozen=True)
class Outcome:
    """What one command printed and how it ended.

    Attributes:
        output: standard output and standard error in the order they were written, decoded as
            UTF-8 with replacement. Where bytes were left out, a marker line says how many.
        exit_code: the shell's exit code; 128 + n where signal n ended it, as a shell reports it.
        timed_out: the command was stopped because its time was up.
        truncated_bytes: bytes of output that were left out.
        stopped: the limit, other than time, for which the command was killed; "" for none. The
            output ends with it as well. As after a time-out, files may be half written.
    """

    output: str
    exit_code: int
    timed_out: bool
    truncated_bytes: int
    stopped: str = ""


class Sandbox(Protocol):
    """A place where shell commands run one after another.

    The working directory and the exported environment persist from one command to the next. A
    command that fails, times out or kills its shell is an `Outcome`, not an error; an error means
    that the place itself cannot be used.

    Attributes:
        background: whether what a command leaves running goes on after it, until the sandbox is closed.
            The model is told.
    """

    @property
    def background(self) -> bool:
        """See above."""

    def run(self, command: str, timeout: float | None = None) -> Outcome:
        """Run `command`, waiting at most `timeout` seconds (the sandbox's own default if None).

        Raises:
            SandboxError: the command could not be started.
        """

    def close(self) -> None:
        """End everything that is still running here. Closing twice does nothing."""

    def __enter__(self) -> Self:
        """Use the sandbox in a `with` block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the sandbox."""
