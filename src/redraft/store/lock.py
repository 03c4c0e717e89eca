"""One writer a run: a lock on a file, which dies with its process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from redraft.errors import JournalError, JournalLockedError

__all__ = ["WriterLock", "writer_of"]


class WriterLock:
    """Holds the right to write to a run until it is released or the process ends.

    Args:
        path: the lock file; made where it is missing, and left behind.

    Raises:
        JournalLockedError: another process holds it; the message names it.
        JournalError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _opened(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            holder = writer_of(path)
            name = f"process {holder}" if holder else "another process"
            raise JournalLockedError(
                error.errno,
                f"{name} is writing to this run; wait for it, stop it, or read the run instead",
                str(path.parent),
            ) from None
        os.truncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

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
    """The process that writes to the run with this lock file, or None where nobody does."""
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


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise JournalError(
            error.errno, f"the run's lock cannot be opened ({error.strerror}); check the place", str(path)
        ) from error
