"""Commands somewhere else: in a container, on another machine, wherever a command leads to a bash.

What is contained there is up to whoever made the place. `docs/sandbox.md` shows how to make one.
"""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox.capture import Capture
from redraft.sandbox.following import Pipe
from redraft.sandbox.remote import (
    NO_BASH,
    NO_DIRECTORY,
    Frame,
    UpToMark,
    ending,
    payload,
    read_frame,
)
from redraft.sandbox.shell import State
from redraft.sandbox.shells import Running, Shells, pipe_to

__all__ = ["ContainerSandbox"]

_CHUNK = 1 << 16
_MOST_SAID = 8 << 20
# A connection may stay open as long as something in the background holds its output.
_CLIENT_GRACE = 0.5
_ENDING_SECONDS = 10.0
_SHORTEST_PROBE = 600
_MANY = 1_000_000


class ContainerSandbox(Shells):
    """Runs bash commands through a command that leads to a bash elsewhere.

        ContainerSandbox(["docker", "exec", "-i", "box", "bash"])
        ContainerSandbox(["ssh", "box", "bash"])

    The command is started once for each command of the model, gets a script on its standard input and
    must pass on all three streams, without a terminal (no `-t`). The place needs bash and the usual
    small programs (cat, env, head, mktemp, rm, wc). The working directory and the exported variables
    persist between commands, as long as the place does. This process's environment stays here. What a
    command leaves running in the background goes on until the sandbox is closed, or as long as the place:
    where each command gets a container of its own, that is no longer than the command.

    Args:
        command: the words that lead to a bash.
        workdir: the directory of the first command, as it is called there; by default where the
            shell starts.
        context_dir: the directory of the context file, which must be mounted there under its own
            path, so that commands can write to it as this user. None if the model edits its context
            with the tool, or not at all.
        env: variables to set for the commands.
        timeout: seconds that a command may take, unless `run` says otherwise.
        output_cap: bytes of output to keep, half from the head and half from the tail.

    Raises:
        SandboxError: the command leads nowhere, or the directories cannot be used there.
        SettingsError: `timeout` or `output_cap` is out of range, or `command` is empty.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        workdir: str | None = None,
        context_dir: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        output_cap: int = 1_000_000,
    ) -> None:
        super().__init__(State.of(workdir or "", env or {}), timeout, output_cap)
        if isinstance(command, str) or not command:
            raise SettingsError(
                "The container command is a list of words, e.g. ['docker', 'exec', '-i', 'box', 'bash']."
            )
        self._command = list(command)
        self._home: bytes | None = None
        self._groups: set[int] = set()
        self._check()
        self._home = self._state.directory
        self.workdir = Path(os.fsdecode(self._home))
        if context_dir is not None:
            _check_shared(self, Path(context_dir).absolute())

    @cached_property
    def background(self) -> bool:
        """Whether what a command leaves running goes on after it: found out once, with two commands."""
        seconds = str(
            _SHORTEST_PROBE + secrets.randbelow(_MANY)
        )  # by it the process is known again
        started = self.run(f"sleep {seconds} >/dev/null 2>&1 & echo $!").output.strip()
        if not started.isdigit():
            return False
        shown = f"cat /proc/{started}/cmdline 2>/dev/null || ps -o args= -p {started}"
        lives = seconds in self.run(f"{{ {shown}; }} 2>/dev/null").output
        if lives:
            self.run(f"kill {started}")
        return lives

    def _start(self, command: str, capture: Capture) -> Running:
        tag = secrets.token_hex(16)
        given = payload(tag, command, self._state, self._home)
        return self._connect(given, tag, capture)

    def _connect(self, given: bytes, tag: str, capture: Capture) -> _Elsewhere:
        output = UpToMark(capture, tag.encode())
        writing, pipe = pipe_to(output)
        try:
            client = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=writing,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            pipe.close()
            raise SandboxError(
                f"{self._command[0]} cannot be started: {error}. Install it, or correct the container "
                "command."
            ) from error
        finally:
            os.close(writing)
        return _Elsewhere(client, pipe, output, given=given, tag=tag, groups=self._groups)

    def _check(self) -> None:
        """Run a first command, which also tells where the shell starts and what its variables are."""
        outcome = self.run(":")
        if outcome.timed_out:
            raise SandboxError(
                f"{' '.join(self._command)} did not answer in {self._timeout:g} seconds. Try it by "
                "hand: it must lead to a bash that reads its standard input, without a terminal (-i "
                "and no -t)."
            )
        if not self._state.directory:
            raise SandboxError(
                f"{' '.join(self._command)} leads to a shell that cannot say where it is: "
                f"{outcome.output.strip() or 'it said nothing'}. Name a `workdir` that is there."
            )

    def _clean_up(self) -> None:
        """End what was left running there."""
        if not self._groups:
            return
        groups, self._groups = sorted(self._groups), set()
        tag = secrets.token_hex(16)
        with suppress(SandboxError):
            connection = self._connect(ending(tag, groups), tag, Capture(0))
            connection.wait(_ENDING_SECONDS)
            connection.settle()


class _Elsewhere(Running):
    """A command at the other end of a connection."""

    def __init__(
        self,
        client: subprocess.Popen[bytes],
        pipe: Pipe,
        output: UpToMark,
        *,
        given: bytes,
        tag: str,
        groups: set[int],
    ) -> None:
        super().__init__(client, pipe)
        self._output = output
        self._tag = tag
        self._groups = groups
        self._said = bytearray()
        self._frame: Frame | None = None
        self._forced = False
        self._hang_up = threading.Event()
        self._threads = [
            threading.Thread(target=work, args=args, daemon=True, name="redraft-container")
            for work, args in ((self._give, (given,)), (self._listen, ()))
        ]
        for thread in self._threads:
            thread.start()

    def ended(self) -> bool:
        return (self._frame is not None and self._output.found) or super().ended()

    def ask(self) -> None:
        self._hang_up.set()

    def force(self) -> None:
        self._forced = True
        self._hang_up.set()
        with suppress(ProcessLookupError):
            self.shell.kill()

    def wait(self, seconds: float) -> None:
        """Wait for the end without reading any output."""
        self._threads[1].join(seconds)

    def settle(self) -> None:
        self._hang_up.set()
        for stop in (self.shell.terminate, self.shell.kill):
            with suppress(subprocess.TimeoutExpired):
                self.shell.wait(_CLIENT_GRACE)
                break
            with suppress(ProcessLookupError):
                stop()
        else:  # it was killed; collected, it is no zombie
            with suppress(subprocess.TimeoutExpired):
                self.shell.wait(_ENDING_SECONDS)
        for thread in self._threads:
            thread.join(_CLIENT_GRACE)
        self.pipe.close()
        self._output.flush()
        if self._frame is not None and self._frame.group is not None:
            self._groups.add(self._frame.group)

    def code(self) -> int:
        if self._frame is not None:
            return self._frame.code
        if self._forced:
            return super().code()
        raise SandboxError(self._complaint())

    def report(self) -> bytes:
        return self._frame.report if self._frame is not None else b""

    def _complaint(self) -> str:
        """What is wrong where there is no frame: (1) another shell, (2) no directory, (3) no shell."""
        args = self.shell.args
        words = shlex.join(map(str, args)) if isinstance(args, list) else ""
        said = bytes(self._said[-1000:]).decode("utf-8", "replace").strip() or "it said nothing"
        if self.shell.returncode == NO_BASH:
            return (
                f"{words} leads to a shell that is not bash. Install bash there and end the container "
                "command with `bash`."
            )
        if self.shell.returncode == NO_DIRECTORY:
            return f"The work directory cannot be entered there ({said}). Create it or name another one."
        return (
            f"{words} ended without a word on what became of the command ({said}). Look whether the "
            f"place is running; try by hand: echo 'echo works' | {words}"
        )

    def _give(self, given: bytes) -> None:
        """Write the script, then keep the stream open until it is time to hang up."""
        assert self.shell.stdin is not None
        view = memoryview(given)
        with suppress(OSError):
            while view:
                view = view[self.shell.stdin.write(view) or 0 :]
        self._hang_up.wait()
        with suppress(OSError):
            self.shell.stdin.close()

    def _listen(self) -> None:
        """Read standard error until the frame is whole; keep the newest where it is long."""
        assert self.shell.stderr is not None
        while chunk := self.shell.stderr.read(_CHUNK):
            self._said += chunk
            del self._said[:-_MOST_SAID]
            if self._frame is None and b"%s." % self._tag.encode() in self._said[-2 * _CHUNK :]:
                self._frame = read_frame(bytes(self._said), self._tag)
        self.shell.stderr.close()


def _check_shared(sandbox: ContainerSandbox, directory: Path) -> None:
    """Make sure that a directory of ours can be written to there, as this user."""
    name = directory / f".redraft-{secrets.token_hex(8)}"
    outcome = sandbox.run(f"printf shared >{shlex.quote(str(name))}")
    try:
        owner = name.stat().st_uid
    except OSError as error:
        raise SandboxError(
            f"{directory} is not shared with the container: {outcome.output.strip() or error}. Mount it "
            f"under its own path, e.g. `docker run -v {directory}:{directory} ...`."
        ) from error
    finally:
        name.unlink(missing_ok=True)
    if owner != os.geteuid():
        raise SandboxError(
            f"The container writes to {directory} as user {owner}. Run it as this one: `docker run "
            f"--user {os.geteuid()}:{os.getegid()} ...`."
        )
