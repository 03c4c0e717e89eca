"""Exit codes, and which error leads to which: the only place that knows both."""

from __future__ import annotations

import functools
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType, MappingProxyType
from typing import ParamSpec

import typer

from redraft.cli.texts import one_line
from redraft.errors import (
    ApprovalError,
    BudgetError,
    ContextFileError,
    DialectError,
    JournalError,
    MemoryFormatError,
    MemoryStoreError,
    ModelError,
    OverflowStoreError,
    RecordingError,
    RedraftError,
    SandboxError,
    SettingsError,
    UndoError,
)

__all__ = [
    "MEANINGS",
    "ExitCode",
    "TerminatedError",
    "exit_code",
    "explain",
    "guarded",
    "signals_end_cleanly",
]


P = ParamSpec("P")

_MOST = 2_000
"""Characters of an error that are shown; a server's words can be long."""


class ExitCode(IntEnum):
    """How a command ended, as the shell sees it."""

    FINISHED = 0
    STOPPED = 1
    USAGE = 2
    MODEL = 3
    PLACE = 4
    FAULT = 5
    WAITING = 6
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS: Mapping[ExitCode, str] = MappingProxyType(
    {
        ExitCode.FINISHED: "The model gave its answer.",
        ExitCode.STOPPED: "Steps or context were spent before the model was done. What it answered "
        "in its last turn, if anything, is still on standard output.",
        ExitCode.USAGE: "An option, a setting, the task, a file that was named or the budget cannot be "
        "used.",
        ExitCode.MODEL: "The model cannot be asked: no key or a wrong one, no server, a refused "
        "request, replies that cannot be read.",
        ExitCode.PLACE: "The work directory, the sandbox, the context file's place or the run's record "
        "cannot be used.",
        ExitCode.FAULT: "A fault in redraft itself; please report it with what was printed.",
        ExitCode.WAITING: "A command waits for your approval: `redraft approve` or `redraft reject`, then "
        "`redraft resume`.",
        ExitCode.INTERRUPTED: "Ctrl-C. Commands that were running are stopped.",
        ExitCode.TERMINATED: "Ended by a signal (SIGTERM, SIGHUP), as cleanly as by Ctrl-C.",
    }
)
"""What each exit code means, for people."""


class TerminatedError(BaseException):
    """A signal asked this process to end. Like Ctrl-C, it is not for `except Exception`."""


_BY_ERROR: tuple[tuple[type[BaseException], ExitCode], ...] = (
    # From the particular to the general; the first that fits wins.
    (SettingsError, ExitCode.USAGE),
    (BudgetError, ExitCode.USAGE),
    (DialectError, ExitCode.USAGE),
    (RecordingError, ExitCode.USAGE),
    (MemoryFormatError, ExitCode.USAGE),
    (ModelError, ExitCode.MODEL),
    (SandboxError, ExitCode.PLACE),
    (ContextFileError, ExitCode.PLACE),
    (JournalError, ExitCode.PLACE),
    (OverflowStoreError, ExitCode.PLACE),
    (MemoryStoreError, ExitCode.PLACE),
    (UndoError, ExitCode.USAGE),
    (ApprovalError, ExitCode.USAGE),
    (RedraftError, ExitCode.FAULT),
    (OSError, ExitCode.PLACE),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (TerminatedError, ExitCode.TERMINATED),
)


def exit_code(error: BaseException) -> ExitCode:
    """The exit code for an error that ended a command.

    Args:
        error: any error; one that redraft did not raise on purpose is a fault in it, but for those of
            the system, such as a full disk.
    """
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.FAULT)


def explain(error: BaseException) -> ExitCode:
    """Say on standard error what ended a command; returns the exit code.

    A fault of our own comes with its trace, for the report; nothing else does.
    """
    code = exit_code(error)
    if code is ExitCode.FAULT:
        traceback.print_exception(error)
    print(f"redraft: {_words(error, code)}", file=sys.stderr)
    return code


def _words(error: BaseException, code: ExitCode) -> str:
    if code is ExitCode.INTERRUPTED:
        return "interrupted"
    if code is ExitCode.TERMINATED:
        return f"ended by {error}"
    words = one_line(str(error), _MOST) or type(error).__name__
    return (
        f"this is a fault in redraft, please report it: {words}"
        if code is ExitCode.FAULT
        else words
    )


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose errors end in a line and an exit code instead of a trace."""

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        try:
            with signals_end_cleanly():
                command(*args, **options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BaseException as error:
            raise typer.Exit(explain(error)) from None

    return run


@contextmanager
def signals_end_cleanly() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `TerminatedError`, so that commands are stopped and files go."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise TerminatedError(signal.Signals(number).name)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's business
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    # A signal that is ignored on purpose (nohup) stays ignored.
    heard = [number for number, handler in kept.items() if handler is signal.SIG_DFL]
    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)
