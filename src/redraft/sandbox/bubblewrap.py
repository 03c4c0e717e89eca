"""Commands on this machine, kept from everything but their work directory by bubblewrap.

`docs/sandbox.md` says what is contained and what is not; `docs/design/sandbox.md` says how and why.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from redraft.errors import SandboxError
from redraft.sandbox.capture import Capture
from redraft.sandbox.concealed import contained_environment
from redraft.sandbox.contained import Channel, Contained, free_space
from redraft.sandbox.diagnosis import ALTERNATIVES
from redraft.sandbox.launcher import EXCHANGE, launcher
from redraft.sandbox.limits import Limits
from redraft.sandbox.namespace import half_of_memory
from redraft.sandbox.places import find_program, remove_tree, unless_forked
from redraft.sandbox.seccomp import filter_program
from redraft.sandbox.shell import State, command_bytes, script
from redraft.sandbox.shells import Running, Shells, pipe_to
from redraft.sandbox.view import View
from redraft.sandbox.wrapper import available, has_option, isolation, wrapper

__all__ = ["BubblewrapSandbox"]

# Since then, a user namespace counts its processes for itself (user_namespaces, ucounts).
_COUNTS_BY_NAMESPACE = (5, 14)


class BubblewrapSandbox(Shells):
    """Runs bash commands that can write to their work directory and to nothing else.

    The rest of the file system is read-only, secrets in the home directory are hidden, /tmp is the
    sandbox's own and lasts as long as it does. There is no network unless it is asked for. Commands see
    no process but their own, have no privileges and can get none. The working directory and the
    exported variables persist between commands. Nothing outlives the command that started it: a server
    has to be started in the command that needs it.

    Args:
        workdir: the directory of the first command, and what commands can write to.
        context_dir: the directory of the context file, which commands can write to as well; it may
            be made later. In the agent it is the session's `context_file.parent`.
        network: whether commands share this machine's network, its own services included.
        env: variables to set for the commands. The others come from this process's environment,
            without credentials and without what leads to this machine's sockets and sessions.
        timeout: seconds that a command may take, unless `run` says otherwise.
        output_cap: bytes of output to keep, half from the head and half from the tail.
        limits: what a command may use.
        hidden: further files and directories that commands must not see, e.g. the journal's. They
            stay hidden below the work directory.
        writable: further directories that commands can write to, e.g. a compiler's cache.

    Raises:
        SandboxError: bubblewrap does not work here, or a directory cannot be used.
        SettingsError: a number is out of range, or a directory is to be hidden and written to.
    """

    def __init__(
        self,
        workdir: Path,
        *,
        context_dir: Path | None = None,
        network: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        output_cap: int = 1_000_000,
        limits: Limits | None = None,
        hidden: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> None:
        super().__init__(State(b"/"), timeout, output_cap)
        self._limits = limits or Limits()
        self._memory = self._limits.memory_bytes or half_of_memory()
        self._program = _working_program()
        self._network = network
        self._tools = [_needed("env"), _needed("bash")]
        private = Path(tempfile.mkdtemp(prefix="redraft-"))
        # Also runs when the sandbox is forgotten, and when the program ends without `close`.
        self._tear_down = weakref.finalize(self, unless_forked, os.getpid(), remove_tree, private)
        try:
            self._view = View(
                private,
                workdir=workdir,
                context_dir=context_dir,
                writable=writable,
                hidden=hidden,
                network=network,
                memory=self._memory if has_option(self._program, "--size") else None,
            )
        except BaseException:
            self._tear_down()
            raise
        self._private = private
        self.workdir = Path(self._view.workdir)
        self._state = State.of(self.workdir, contained_environment(os.environ, env or {}))
        self._report = os.open(private / "state", os.O_RDWR | os.O_CLOEXEC)
        self._close_report = weakref.finalize(self, os.close, self._report)
        program = filter_program(platform.machine())
        if program is not None:
            (private / "filter").write_bytes(program)

    @property
    def background(self) -> bool:
        """Never: a command's processes end with its namespace."""
        return False

    def _start(self, command: str, capture: Capture) -> Running:
        plan = self._view.now()
        try:
            with ExitStack() as opened:
                self._write(command)
                return self._launch(plan.arguments, capture, opened)
        except OSError as error:
            raise SandboxError(
                f"A command cannot be started under bubblewrap: {error}. Free disk space or file "
                "handles and run it again; if commands exported very large values, make a new sandbox."
            ) from error

    def _write(self, command: str) -> None:
        """Hand over the command and its variables; take back the last report."""
        given = self._private / "in"
        (given / "command").write_bytes(command_bytes(command))
        environment = self._state.environment.items()
        (given / "environment").write_bytes(b"".join(b"%s=%s\0" % item for item in environment))
        os.ftruncate(self._report, 0)
        os.fchmod(self._report, 0o600)

    def _launch(self, mounts: Sequence[str], capture: Capture, opened: ExitStack) -> Contained:
        writing, pipe = pipe_to(capture)
        opened.callback(os.close, writing)
        facts, notes = Channel(), Channel()
        opened.callback(facts.sent)
        opened.callback(notes.sent)
        passed = [facts.writing, notes.writing]
        filtering: list[str] = []
        if (self._private / "filter").exists():
            passed.append(os.open(self._private / "filter", os.O_RDONLY | os.O_CLOEXEC))
            opened.callback(os.close, passed[-1])
            filtering = ["--seccomp", str(passed[-1])]
        with ExitStack() as undo:
            for end in (pipe, facts, notes):
                undo.callback(end.close)
            shell = subprocess.Popen(
                [
                    self._program,
                    *isolation(self._program, network=self._network),
                    *mounts,
                    *filtering,
                    *("--info-fd", str(facts.writing), "--chdir", "/", "--"),
                    *self._words(notes.writing),
                ],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                pass_fds=passed,
                cwd="/",
                # Not the command's: bubblewrap itself runs outside.
                env={},
                start_new_session=True,
            )
            undo.pop_all()
        return Contained(
            shell,
            pipe,
            capture,
            facts=facts,
            notes=notes,
            state=self._report,
            limits=self._limits,
            memory=self._memory,
            floors=self._floors(),
        )

    def _words(self, notes: int) -> list[bytes]:
        env, bash = self._tools
        count = os.geteuid() != 0 and _kernel() >= _COUNTS_BY_NAMESPACE
        text = launcher(self._limits, self._memory, count=count)
        words = [bash, "--noprofile", "--norc", "-c", text, "bash", str(notes)]
        inner = script(f"{EXCHANGE}/state", f"{EXCHANGE}/command")
        ends = [str(self.workdir), inner, env, bash]
        return [*map(os.fsencode, words), self._state.directory, *map(os.fsencode, ends)]

    def _floors(self) -> list[tuple[Path, int]]:
        """Where commands write, and what must stay free there."""
        spare = self._limits.spare_disk_bytes
        places = (*self._view.written(), self._private)
        return [(place, min(spare, free_space(place) // 2)) for place in places]

    def _clean_up(self) -> None:
        self._close_report()
        self._tear_down()


def _working_program() -> str:
    """Where bubblewrap lies.

    Raises:
        SandboxError: it does not work here.
    """
    reason = available()
    program = wrapper()
    if reason is not None or program is None:
        raise SandboxError(f"{reason} {ALTERNATIVES}")
    return program


def _needed(name: str) -> str:
    program = find_program(name, system_first=True)
    if program is None:
        raise SandboxError(f"There is no {name} on PATH. Install it, or add its directory to PATH.")
    return program


def _kernel() -> tuple[int, ...]:
    """The kernel's version, as far as it counts."""
    return tuple(
        int(part) for part in platform.release().split("-")[0].split(".")[:2] if part.isdigit()
    )
