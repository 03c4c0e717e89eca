"""The private directory that holds the context file.

Who can write to a directory can put anything at any name in it, so it must be ours alone. A sandbox
mounts the directory and not the file, since `sed -i` and editors replace a file by another.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from redraft.errors import ContextFileError

__all__ = ["opened", "prepare", "restored", "trouble"]


def trouble(error: OSError, what: str, advice: str) -> ContextFileError:
    """The system's error as ours: with its errno, what could not be done, and what to do next."""
    return ContextFileError(error.errno, f"{what}: {error.strerror}; {advice}")


def prepare(path: Path) -> bool:
    """Make sure that `path` is a directory that only we can write to.

    Returns:
        whether it was made here.

    Raises:
        ContextFileError: it is a link, no directory, someone else's, or open to others' writes.
    """
    made = not os.path.lexists(path)
    if made:
        _make(path)
    with opened(path) as dir_fd:
        who = _writers(os.fstat(dir_fd))
    if who:
        raise ContextFileError(f"{who} can write to {path}; run `chmod go-w {path}`")
    return made


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open the directory, never through a link at its place; gives a descriptor.

    Raises:
        ContextFileError: it is missing, a link, no directory, or someone else's.
    """
    try:
        dir_fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        what = "is a link" if path.is_symlink() else "cannot be used as a directory"
        raise trouble(error, f"{path} {what}", "name a directory of your own") from error
    try:
        if os.fstat(dir_fd).st_uid != os.geteuid():
            raise ContextFileError(f"{path} belongs to another user; name a directory of your own")
        yield dir_fd
    finally:
        os.close(dir_fd)


@contextlib.contextmanager
def restored(path: Path) -> Iterator[int]:
    """Open a directory that was prepared before, and first undo what a command did to it.

    A command may have removed it, put a file or a link in its place, or changed its mode. The name
    in the way is unlinked, which leaves alone whatever it points to.

    Raises:
        ContextFileError: it cannot be restored.
    """
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            _make(path)
    except FileNotFoundError:
        _make(path)
    except OSError as error:
        raise trouble(error, f"{path} was replaced", "remove what stands there") from error
    with opened(path) as dir_fd:
        status = os.fstat(dir_fd)
        mode = stat.S_IMODE(status.st_mode) | stat.S_IRWXU
        if _writers(status):
            mode = stat.S_IRWXU
        if mode != stat.S_IMODE(status.st_mode):
            os.fchmod(dir_fd, mode)
        yield dir_fd


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True)
    except OSError as error:
        advice = "name a directory that you may write to"
        raise trouble(error, f"{path} cannot be made", advice) from error


def _writers(status: os.stat_result) -> str:
    """Who else can write to the directory, "" where nobody can."""
    if status.st_mode & stat.S_IWOTH:
        return "everyone"
    if status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid):
        return "its group"
    return ""


def _own_group(gid: int) -> bool:
    """Whether the group is its user's alone, as many systems give each user one."""
    try:
        group = grp.getgrgid(gid)
        user = pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
