"""One call for the three kinds of sandbox, as a command line needs it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from redraft.errors import SettingsError
from redraft.sandbox.base import Sandbox
from redraft.sandbox.bubblewrap import BubblewrapSandbox
from redraft.sandbox.container import ContainerSandbox
from redraft.sandbox.limits import Limits
from redraft.sandbox.local import LocalSandbox

__all__ = ["SandboxKind", "make_sandbox"]

SandboxKind = Literal["bubblewrap", "local", "container"]
"""Where commands run; `bubblewrap` is the default everywhere."""


def make_sandbox(
    kind: SandboxKind,
    workdir: Path,
    *,
    context_dir: Path | None = None,
    network: bool = False,
    hidden: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    limits: Limits | None = None,
    command: str | Sequence[str] = (),
    container_workdir: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 120.0,
    output_cap: int = 1_000_000,
) -> Sandbox:
    """Make a sandbox.

    Args:
        kind: which one.
        workdir: the directory of the first command, for bubblewrap and local.
        context_dir: the directory of the context file, for bubblewrap and container.
        network: whether commands may use the network. Only bubblewrap can refuse it: the others have
            what the machine or the container has.
        hidden: what commands must not see, for bubblewrap.
        writable: what else they can write to, for bubblewrap.
        limits: what a command may use, for bubblewrap.
        command: the container command, as words or as a shell would split them.
        container_workdir: the directory of the first command in the container.
        env: variables to set for the commands.
        timeout: seconds that a command may take.
        output_cap: bytes of output to keep.

    Raises:
        SandboxError: it cannot be used here; the message names the alternatives.
        SettingsError: the kind is unknown, a container command is missing or stands beside another
            kind, or a number is out of range.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if bool(words) != (kind == "container"):
        raise SettingsError(
            "A container command and the sandbox `container` go together. Give both, or neither."
        )
    match kind:
        case "bubblewrap":
            return BubblewrapSandbox(
                workdir,
                context_dir=context_dir,
                network=network,
                env=env,
                timeout=timeout,
                output_cap=output_cap,
                limits=limits,
                hidden=hidden,
                writable=writable,
            )
        case "container":
            return ContainerSandbox(
                words,
                workdir=container_workdir,
                context_dir=context_dir,
                env=env,
                timeout=timeout,
                output_cap=output_cap,
            )
        case "local":
            return LocalSandbox(workdir, env=env, timeout=timeout, output_cap=output_cap)
    raise SettingsError(f"{kind!r} is no sandbox. Choose bubblewrap, local or container.")
