"""Commands on this machine, as this user, with nothing between them and the files.

For a model that you would let use your own terminal. `docs/design/sandbox.md` says what lasts from
one command to the next and what does not.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox.base import Outcome
from redraft.sandbox.capture import Capture
from redraft.sandbox.following import GRACE, Pipe, follow
from redraft.sandbox.processes import end_session, members, signal_session
from redraft.sandbox.shell import State, command_bytes, first_environment, read_state, script

__all__ = ["LocalSandbox"]

# What bash itself answers to a command that it cannot read.
_UNREADABLE = 2


class LocalSandbox:
    """Runs bash commands in a directory of this machine.

    The working directory and the exported variables persist between commands; unexported variables,
    functions, aliases and shell options do not.

    Args:
        workdir: the directory of the first command.
        env: variables to set for the commands. The others come from this process's environment,
            without those whose names look like credentials (`*_API_KEY`, `*_TOKEN`, `*_SECRET`,
            `*_PASSWORD` and the like), because a command could print them. Name one here to pass
            it on.
        timeout: seconds that a command may take, unless `run` says otherwise.
        output_cap: bytes of output to keep, half from the head and half from the tail.

    Raises:
        SandboxError: the directory cannot be used, or there is no bash.
        SettingsError: `timeout` or `output_cap` is out of range.
    """

    def __init__(
        self,
        workdir: Path,
        *,
        env: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        output_cap: int = 1_000_000,
    ) -> None:
        if output_cap < 0:
            raise SettingsError(f"output_cap is {output_cap}. Give the number of bytes to keep.")
        self.workdir = Path(workdir).absolute()
        self._timeout = _checked(timeout)
        self._cap = output_cap
        self._bash = _find_bash()
        _check_directory(self.workdir)
        variables = first_environment(os.environ, env or {})
        self._state = State(
            os.fsencode(self.workdir),
            {os.fsencode(name): os.fsencode(value) for name, value in variables.items()},
        )
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._sessions: set[int] = set()
        self._private = Path(tempfile.mkdtemp(prefix="redraft-"))
        # Also runs when the sandbox is forgotten, and when the program ends without `close`.
        self._tear_down = weakref.finalize(self, _tear_down, self._sessions, self._private)

    def run(self, command: str, timeout: float | None = None) -> Outcome:
        """Run `command` in bash and wait for it.

        Threads take turns. Standard input is empty. What the command leaves running in the
        background goes on until the sandbox is closed.

        Args:
            command: any bash text; a lone surrogate in it becomes U+FFFD.
            timeout: seconds to wait before the command and all its children are stopped.

        Raises:
            SandboxError: the shell could not be started, or the sandbox is closed.
            SettingsError: `timeout` is not a positive number.
        """
        limit = self._timeout if timeout is None else _checked(timeout)
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
            self._tear_down()

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

    def _run(self, command: str, limit: float) -> Outcome:
        capture = Capture(self._cap)
        capture.feed(self._come_back())
        report = self._private / "state"
        report.unlink(missing_ok=True)
        shell, pipe = self._start(command, report, capture)
        try:
            in_time = follow(shell, pipe, limit, self._closing.is_set)
        except BaseException:
            signal_session(shell.pid, signal.SIGKILL)
            shell.wait()
            pipe.close()
            raise
        self._leave(shell.pid, pipe)
        if in_time:
            self._state = read_state(_contents(report), self._state)
        elif self._closing.is_set():
            raise SandboxError("The sandbox was closed while a command ran. Make a new one.")
        output, missing = capture.text()
        return Outcome(output, _exit_code(shell.returncode), not in_time, missing)

    def _come_back(self) -> bytes:
        """Return to the first directory where the current one is gone; the output says so."""
        here, home = self._state.directory, os.fsencode(self.workdir)
        if _enterable(here):
            return b""
        _check_directory(self.workdir)
        self._state = State(home, self._state.environment)
        return b"redraft: %s cannot be entered any more; this command ran in %s\n" % (here, home)

    def _start(
        self, command: str, report: Path, capture: Capture
    ) -> tuple[subprocess.Popen[bytes], Pipe]:
        """Start the shell in a session of its own; returns it and where its output comes out."""
        source = self._private / "command"
        text = script(str(report), str(source))
        try:
            source.write_bytes(command_bytes(command))
            reading, writing = os.pipe()
        except OSError as error:
            raise SandboxError(
                f"{error}. Free disk space or file handles and run it again."
            ) from error
        try:
            shell = subprocess.Popen(
                [self._bash, "--noprofile", "--norc", "-c", text, "bash"],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=self._state.directory,
                env=self._state.environment,
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            raise SandboxError(
                f"bash could not be started: {error}. If commands exported very large values, "
                "make a new sandbox; otherwise look at this user's process limits."
            ) from error
        finally:
            os.close(writing)
        return shell, Pipe(reading, capture)

    def _leave(self, session: int, pipe: Pipe) -> None:
        """Remember what the command left running; keep its pipe open, so that it can go on."""
        ended = {old for old in self._sessions if not members(old)}
        self._sessions -= ended
        if not members(session):
            pipe.close()
            return
        self._sessions.add(session)
        if pipe.ended:
            pipe.close()
        else:
            pipe.hand_over()


_NUL_ADVICE = (
    "redraft: the command holds a NUL byte, which bash cannot read. Write it as an escape, for "
    "example: printf 'a\\0b'\n"
)


def _tear_down(sessions: set[int], private: Path) -> None:
    """End what runs in the background and remove the private directory."""
    for session in sessions:
        end_session(session, GRACE)
    sessions.clear()
    shutil.rmtree(private, ignore_errors=True)


def _checked(timeout: float) -> float:
    if not timeout > 0:
        raise SettingsError(f"timeout is {timeout}. Give a number of seconds above zero.")
    return timeout


def _find_bash() -> str:
    bash = shutil.which("bash")
    if bash is None:
        raise SandboxError("There is no bash on PATH. Install bash, or add its directory to PATH.")
    return bash


def _check_directory(directory: Path) -> None:
    """Raise unless commands can run in `directory`."""
    try:
        mode = directory.stat().st_mode
    except FileNotFoundError as error:
        raise SandboxError(
            f"{directory} does not exist. Create it or name another directory."
        ) from error
    except OSError as error:
        raise SandboxError(f"{directory} cannot be used: {error}. Name another one.") from error
    if not stat.S_ISDIR(mode):
        raise SandboxError(f"{directory} is not a directory. Name the directory to work in.")
    if not _allowed(directory, os.R_OK | os.X_OK):
        raise SandboxError(
            f"{directory} cannot be read and entered by this user. Change its permissions or name "
            "another directory."
        )


def _enterable(directory: bytes) -> bool:
    """Whether a shell can start in `directory`."""
    try:
        mode = Path(os.fsdecode(directory)).stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and _allowed(directory, os.X_OK)


def _allowed(path: bytes | Path, mode: int) -> bool:
    # The effective user is the one that the shell will run as.
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _contents(path: Path) -> bytes:
    """The bytes of a file; none if it is not there or not readable."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _exit_code(code: int | None) -> int:
    """The exit code as a shell reports it; a process that would not die counts as killed."""
    if code is None:
        return 128 + signal.SIGKILL
    return code if code >= 0 else 128 - code
