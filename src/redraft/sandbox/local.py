"""Commands on this machine, as this user, with nothing between them and the files.

For a model that you would let use your own terminal. `docs/design/sandbox.md` says what lasts from
one command to the next and what does not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

from redraft.errors import SandboxError
from redraft.sandbox.capture import Capture
from redraft.sandbox.following import GRACE, Pipe
from redraft.sandbox.places import (
    check_directory,
    enterable,
    find_program,
    remove_tree,
    unless_forked,
)
from redraft.sandbox.processes import end_session, members, signal_session
from redraft.sandbox.shell import State, command_bytes, first_environment, script
from redraft.sandbox.shells import Running, Shells, pipe_to

__all__ = ["LocalSandbox"]


class LocalSandbox(Shells):
    """Runs bash commands in a directory of this machine.

    The working directory and the exported variables persist between commands; unexported variables,
    functions, aliases and shell options do not. What a command leaves running in the background goes
    on until the sandbox is closed.

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
        self.workdir = Path(workdir).absolute()
        variables = first_environment(os.environ, env or {})
        super().__init__(State.of(self.workdir, variables), timeout, output_cap)
        self._bash = _find_bash()
        check_directory(self.workdir)
        self._sessions: set[int] = set()
        self._private = Path(tempfile.mkdtemp(prefix="redraft-"))
        # Also runs when the sandbox is forgotten, and when the program ends without `close`.
        self._tear_down = weakref.finalize(
            self, unless_forked, os.getpid(), _tear_down, self._sessions, self._private
        )

    def _start(self, command: str, capture: Capture) -> Running:
        """Start the shell in a session of its own."""
        capture.feed(self._come_back())
        report, source = self._private / "state", self._private / "command"
        try:
            report.unlink(missing_ok=True)
            source.write_bytes(command_bytes(command))
            writing, pipe = pipe_to(capture)
        except OSError as error:
            raise SandboxError(
                f"{error}. Free disk space or file handles and run it again."
            ) from error
        try:
            shell = subprocess.Popen(
                [
                    self._bash,
                    "--noprofile",
                    "--norc",
                    "-c",
                    script(str(report), str(source)),
                    "bash",
                ],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=self._state.directory,
                env=self._state.environment,
                start_new_session=True,
            )
        except OSError as error:
            pipe.close()
            raise SandboxError(
                f"bash could not be started: {error}. If commands exported very large values, "
                "make a new sandbox; otherwise look at this user's process limits."
            ) from error
        finally:
            os.close(writing)
        return _LocalCommand(shell, pipe, report, self._sessions)

    def _clean_up(self) -> None:
        self._tear_down()

    def _come_back(self) -> bytes:
        """Return to the first directory where the current one is gone; the output says so."""
        here, home = self._state.directory, os.fsencode(self.workdir)
        if enterable(here):
            return b""
        check_directory(self.workdir)
        self._state = State(home, self._state.environment)
        return b"redraft: %s cannot be entered any more; this command ran in %s\n" % (here, home)


class _LocalCommand(Running):
    """A shell that leads a session."""

    def __init__(
        self, shell: subprocess.Popen[bytes], pipe: Pipe, report: Path, sessions: set[int]
    ) -> None:
        super().__init__(shell, pipe)
        self._report = report
        self._sessions = sessions

    def ask(self) -> None:
        signal_session(self.shell.pid, signal.SIGTERM)

    def force(self) -> None:
        signal_session(self.shell.pid, signal.SIGKILL)

    def settle(self) -> None:
        """Remember what the command left running; keep its pipe open, so that it can go on."""
        self._sessions -= {old for old in self._sessions if not members(old)}
        if not members(self.shell.pid):
            self.pipe.close()
            return
        self._sessions.add(self.shell.pid)
        if self.pipe.ended:
            self.pipe.close()
        else:
            self.pipe.hand_over()

    def report(self) -> bytes:
        try:
            return self._report.read_bytes()
        except OSError:
            return b""


def _tear_down(sessions: set[int], private: Path) -> None:
    """End what runs in the background and remove the private directory."""
    for session in sessions:
        end_session(session, GRACE)
    sessions.clear()
    remove_tree(private)


def _find_bash() -> str:
    bash = find_program("bash")
    if bash is None:
        raise SandboxError("There is no bash on PATH. Install bash, or add its directory to PATH.")
    return bash
