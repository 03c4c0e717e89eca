"""Whether directories and programs can be used for commands."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec

from redraft.errors import SandboxError

__all__ = [
    "Credentials",
    "check_directory",
    "enterable",
    "find_program",
    "remove_tree",
    "unless_forked",
]

# Before PATH, which may name directories that a command can write to.
_SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")


class Credentials:
    """A user and groups without any privilege: what mode bits alone allow them.

    Root in a user namespace is no more than that towards other users' files, so `os.access` and
    `os.stat`, which answer for root outside, say too much.

    Args:
        user: the user's id; by default the effective one of this process.
        groups: the ids of the groups; by default those of this process.
    """

    def __init__(self, user: int | None = None, groups: Sequence[int] | None = None) -> None:
        self._user = os.geteuid() if user is None else user
        self._groups = frozenset((os.getegid(), *os.getgroups()) if groups is None else groups)

    def allow(self, status: os.stat_result, wanted: int) -> bool:
        """Whether all of `wanted` (R_OK, W_OK, X_OK) is allowed on a file with this status."""
        shift = 6 if status.st_uid == self._user else 3 if status.st_gid in self._groups else 0
        return (status.st_mode >> shift) & wanted == wanted

    def reach(self, path: Path) -> bool:
        """Whether something stands at `path`, which has no link in it, and can be reached."""
        try:
            return all(self.allow(parent.stat(), os.X_OK) for parent in path.parents) and (
                path.lstat() is not None
            )
        except OSError:
            return False


def check_directory(directory: Path) -> None:
    """Make sure that commands can run in `directory`.

    Raises:
        SandboxError: they cannot.
    """
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


def enterable(directory: bytes) -> bool:
    """Whether a shell can start in `directory`."""
    try:
        mode = Path(os.fsdecode(directory)).stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and _allowed(directory, os.X_OK)


def find_program(name: str, *, system_first: bool = False) -> str | None:
    """Where the program `name` lies.

    Args:
        name: its name.
        system_first: look in the system's own directories before those on PATH.
    """
    path = os.environ.get("PATH", os.defpath)
    if system_first:
        path = os.pathsep.join((*_SYSTEM_PATH, path))
    return shutil.which(name, path=path)


def remove_tree(directory: Path) -> None:
    """Remove a directory that commands wrote to; links in it are removed and not followed.

    A command may have left directories that cannot be entered, or nested them deeper than Python's
    recursion goes; then `rm` does it.
    """
    with suppress(OSError, RecursionError):
        shutil.rmtree(directory)
        return
    for words in (["chmod", "-R", "u+rwX", "--"], ["rm", "-rf", "--"]):
        with suppress(OSError):
            subprocess.run([*words, directory], capture_output=True, check=False)


_Arguments = ParamSpec("_Arguments")


def unless_forked(
    process: int,
    work: Callable[_Arguments, object],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> None:
    """Call `work` in `process`; the end of a forked child must leave its parent's things alone."""
    if os.getpid() == process:
        work(*args, **kwargs)


def _allowed(path: bytes | Path, mode: int) -> bool:
    # The effective user is the one that the shell will run as.
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)
