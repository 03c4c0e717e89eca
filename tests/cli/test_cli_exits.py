"""Errors and exit codes meet in one place."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest
import typer

from redraft import errors
from redraft.cli.exits import (
    MEANINGS,
    ExitCode,
    TerminatedError,
    exit_code,
    guarded,
    signals_end_cleanly,
)


def family(root: type[errors.RedraftError]) -> Iterator[type[errors.RedraftError]]:
    yield root
    for child in root.__subclasses__():
        yield from family(child)


EXPECTED = {
    "ApprovalError": 2,
    "BudgetError": 2,
    "ContextFileError": 4,
    "ContextOverflowError": 3,
    "DialectError": 2,
    "JournalError": 4,
    "JournalLockedError": 4,
    "LedgerError": 5,
    "MemoryConflictError": 4,
    "MemoryFormatError": 2,
    "MemoryMissingError": 4,
    "MemoryStoreError": 4,
    "ModelAuthError": 3,
    "ModelConnectionError": 3,
    "ModelError": 3,
    "ModelReplyError": 3,
    "ModelRequestError": 3,
    "ModelTimeoutError": 3,
    "OverflowDamagedError": 4,
    "OverflowMissingError": 4,
    "OverflowStoreError": 4,
    "RecordingError": 2,
    "RedraftError": 5,
    "RewriteBudgetViolation": 5,
    "SandboxError": 4,
    "SessionStateError": 5,
    "SettingsError": 2,
    "TokenizerError": 5,
    "UndoError": 2,
}


@pytest.mark.parametrize("kind", sorted(set(family(errors.RedraftError)), key=lambda k: k.__name__))
def test_every_error_of_redraft_has_its_exit_code(kind: type[errors.RedraftError]) -> None:
    if kind.__module__ == "redraft.errors":
        assert exit_code(kind("why")) == EXPECTED[kind.__name__]


def test_none_is_forgotten() -> None:
    assert set(EXPECTED) == set(errors.__all__)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(28, "No space left on device"), 4),
        (KeyboardInterrupt(), 130),
        (TerminatedError("SIGTERM"), 143),
        (ZeroDivisionError("division by zero"), 5),
    ],
)
def test_other_errors_have_theirs(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)


# --- a command's guard --------------------------------------------------------------------------


def failing(error: BaseException) -> None:
    raise error


def test_an_error_ends_in_a_line_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        guarded(failing)(errors.SandboxError("no shell.\nInstall one."))
    assert ended.value.exit_code == 4
    assert capsys.readouterr().err == "redraft: no shell. Install one.\n"


def test_a_fault_of_our_own_comes_with_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        guarded(failing)(ZeroDivisionError("oh"))
    assert ended.value.exit_code == 5
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith("redraft: this is a fault in redraft, please report it: oh\n")


def test_an_exit_that_a_command_asks_for_passes() -> None:
    with pytest.raises(typer.Exit) as ended:
        guarded(failing)(typer.Exit(7))
    assert ended.value.exit_code == 7


def test_an_error_without_words_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        guarded(failing)(OSError())
    assert capsys.readouterr().err == "redraft: OSError\n"


# --- signals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_becomes_an_error_that_finally_blocks_see(number: signal.Signals) -> None:
    with pytest.raises(TerminatedError, match=number.name), signals_end_cleanly():
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_signal_that_is_ignored_on_purpose_stays_ignored() -> None:
    """That is how nohup works."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_end_cleanly():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_leaves_signals_alone() -> None:
    seen: list[object] = []

    def look() -> None:
        with signals_end_cleanly():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
