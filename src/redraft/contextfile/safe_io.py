"""Disk operations for a file that a command may replace by anything at any moment.

Each names the file relative to its open directory, never follows a link and never waits on a pipe.
Writing replaces the file as a whole, or extends it where it is provably the one written before.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from dataclasses import dataclass

__all__ = [
    "HEAD_CAP",
    "MARK_NS",
    "Found",
    "Signature",
    "append",
    "claim",
    "is_ours",
    "load",
    "remove",
    "replace",
    "signature",
]

HEAD_CAP = 1024 * 1024
"""Bytes of a refused file that are kept for the record."""

MARK_NS = 946_684_800 * 10**9
"""The time of last change that our own writes leave on the file: the start of the year 2000.

File times move in clock ticks of some milliseconds, so a command that writes right after us may
leave the very time that we left. No write leaves this one by itself, so every later write shows.
"""

Signature = tuple[int, ...]
"""Device, inode, mode, owner, links, size, time of last change, time of last status change."""

_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at the file's place.

    Attributes:
        data: its bytes; of a file at fault at most `HEAD_CAP` of them.
        fault: why it cannot be a context file, "" where it may be one.
        signature: taken before it was read, so that a later write shows; None where nothing stands.
    """

    data: bytes
    fault: str
    signature: Signature | None


def signature(name: str, dir_fd: int) -> Signature | None:
    """The signature of what stands at `name`, of a link itself; None where nothing does."""
    try:
        return _signature(os.stat(name, dir_fd=dir_fd, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _signature(status: os.stat_result) -> Signature:
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_uid,
        status.st_nlink,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def is_ours(name: str, dir_fd: int) -> bool:
    """Whether a regular file of our own stands at `name`."""
    return not _fault(os.stat(name, dir_fd=dir_fd, follow_symlinks=False))


def load(name: str, dir_fd: int, limit: int) -> Found:
    """Read the file.

    Args:
        name: its name in the directory.
        dir_fd: the directory.
        limit: bytes; a larger file is not read.
    """
    # Opening a pipe or a device can do something, so its kind is known before and checked after.
    try:
        before = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return Found(b"", "the file is missing", None)
    fault = _fault(before)
    if fault:
        return Found(b"", fault, _signature(before))
    try:
        file_fd = os.open(name, os.O_RDONLY | os.O_NOCTTY | _FLAGS, dir_fd=dir_fd)
    except OSError as error:
        return Found(b"", f"the file cannot be read ({error.strerror})", _signature(before))
    try:
        status = os.fstat(file_fd)
        fault = _fault(status)
        data = b"" if fault else _read(file_fd, status.st_size, limit)
    except OSError as error:
        data, fault = b"", f"the file cannot be read ({error.strerror})"
    finally:
        os.close(file_fd)
    if len(data) > limit or status.st_size > limit:
        return Found(data[:HEAD_CAP], f"the file is larger than {limit} bytes", _signature(status))
    return Found(data, fault, _signature(status))


def _fault(status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "a device")
        return f"the file is {kind}"
    return "" if status.st_uid == os.geteuid() else "the file belongs to another user"


def _read(file_fd: int, size: int, limit: int) -> bytes:
    """All bytes, or the first ones of a file over the limit; it may grow while it is read."""
    left = HEAD_CAP if size > limit else limit + 1
    pieces = []
    while left > 0:
        piece = os.read(file_fd, min(left, max(size, HEAD_CAP)))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def claim(name: str, dir_fd: int, data: bytes) -> Signature:
    """Make the file where nothing stands; raises `FileExistsError` where something does."""
    return _create(name, dir_fd, data)


def replace(name: str, dir_fd: int, data: bytes) -> Signature:
    """Put a new file in place of whatever stands there: all of it or, on an error, nothing.

    A link, pipe or file is replaced itself, never what it leads to. A directory in the way is
    removed if it is empty, else kept under another name.
    """
    fresh = f".{name}.{secrets.token_hex(8)}"
    written = _create(fresh, dir_fd, data)
    try:
        try:
            os.replace(fresh, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except IsADirectoryError:
            _set_aside(name, dir_fd)
            os.replace(fresh, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh, dir_fd=dir_fd)
        raise
    # Renaming sets the time of status change. All else must be as written, or the next reading
    # will find that it is not.
    placed = signature(name, dir_fd)
    return (*written[:-1], placed[-1]) if placed else written


def _create(name: str, dir_fd: int, data: bytes) -> Signature:
    file_fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600, dir_fd=dir_fd)
    try:
        os.fchmod(file_fd, 0o600)  # whatever the umask took away
        _write(file_fd, data, 0)
        return _marked(file_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=dir_fd)
        raise
    finally:
        os.close(file_fd)


def append(
    name: str, dir_fd: int, expected: Signature, end: bytes, more: bytes
) -> Signature | None:
    """Extend the file in place: `more` and then `end` come where `end` stands now.

    Args:
        name: its name in the directory.
        dir_fd: the directory.
        expected: the signature that it must have.
        end: its last bytes, which stay its last bytes.
        more: what comes before them.

    Returns:
        the new signature; None, with nothing done, where it is not the expected file.

    Raises:
        OSError: it cannot be extended, e.g. on a full disk; its old bytes are back in place as far
            as the system lets us.
    """
    file_fd = os.open(name, os.O_WRONLY | _FLAGS, dir_fd=dir_fd)
    try:
        if _signature(os.fstat(file_fd)) != expected:
            return None
        size = os.fstat(file_fd).st_size
        tail = more + end
        try:
            # What needs room comes first and leaves the old bytes alone; then `end` is written over.
            _write(file_fd, tail[len(end) :], size)
            _write(file_fd, tail[: len(end)], size - len(end))
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(file_fd, size)
                _write(file_fd, end, size - len(end))
            raise
        return _marked(file_fd)
    finally:
        os.close(file_fd)


def _write(file_fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(file_fd, view, at)
        view, at = view[done:], at + done


def _marked(file_fd: int) -> Signature:
    os.utime(file_fd, ns=(time.time_ns(), MARK_NS))
    return _signature(os.fstat(file_fd))


def _set_aside(name: str, dir_fd: int) -> None:
    try:
        os.rmdir(name, dir_fd=dir_fd)
    except OSError:
        aside = f"{name}.moved-{secrets.token_hex(4)}"
        os.rename(name, aside, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


def remove(name: str, dir_fd: int) -> None:
    """Remove the file or a link or pipe in its place; a directory stays, and nothing is fine too."""
    with contextlib.suppress(FileNotFoundError, IsADirectoryError, PermissionError):
        os.unlink(name, dir_fd=dir_fd)
