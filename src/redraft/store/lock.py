"""One writer a run: a lock on a file, which dies with its process."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from redraft.errors import JournalLockedError
from redraft.store.troubles import of_system

__all__ = ["WriterLock", "writer_of"]

_TRIES = 10
_PAUSE = 0.02
"""Seconds between tries: whoever only looks who the writer is (`writer_of`) is gone by then."""


class WriterLock:
    """Holds the right to write to a run until it is released or the process ends.

    A process that was forked from the holder shares the lock, as it shares every open file.

    Args:
        path: the lock file; made where it is missing, and left behind.

    Raises:
        JournalLockedError: another process holds it; the message names it.
        JournalError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = _opened(path)
        try:
            _acquire(self._file, path)
            _sign(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Let others write; releasing twice does nothing."""
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def writer_of(path: Path) -> int | None:
    """The process that writes to the run with this lock file, or None where nobody does.

    Returns:
        its id; 0 where that cannot be told.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        said = os.pread(file, 20, 0)
        return int(said) if said.isdigit() else 0
    finally:
        os.close(file)
    return None


def _sign(file: int) -> None:
    said = b"%d" % os.getpid()
    try:
        os.pwrite(file, said, 0)
        os.ftruncate(file, len(said))
    except OSError:
        # A full disk. The lock holds without a name, and `gc` must be able to make room.
        os.ftruncate(file, 0)


def _acquire(file: int, path: Path) -> None:
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if not left:
                said = os.pread(file, 20, 0)
                name = f"process {said.decode()}" if said.isdigit() else "another process"
                raise of_system(
                    error,
                    f"{name} is writing to {path.parent}; wait for it or stop it. Meanwhile the run can be "
                    "read (`redraft show`, `redraft log`).",
                    JournalLockedError,
                ) from None
            time.sleep(_PAUSE)
        except OSError as error:
            raise of_system(
                error,
                f"the run in {path.parent} cannot be locked ({error.strerror}); keep it on a local disk.",
            ) from error


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise of_system(
            error,
            f"the run's lock {path} cannot be opened ({error.strerror}); check what stands there.",
        ) from error
