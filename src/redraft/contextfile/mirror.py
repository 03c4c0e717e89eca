"""The context file on disk: shown before each round, read back after it.

The session's side of the bargain: `show` what is editable, run the round's commands, `read`, hand
an `Edited` reading to `redraft.context.reconcile` and the door, and `show` again. Where `changed()`
says so before `show`, a command that was left running has written late: `read` once more first.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from redraft.context.reconcile import Block
from redraft.context.turn import Turn
from redraft.contextfile import safe_io
from redraft.contextfile.format import END, Unreadable, difference, render_turn, with_attributes
from redraft.contextfile.place import opened, prepare, restored, trouble
from redraft.contextfile.safe_io import HEAD_CAP, Found, Signature
from redraft.errors import ContextFileError, SettingsError

__all__ = ["MAX_BYTES", "Edited", "Mirror", "Reading", "Refused", "Untouched"]

MAX_BYTES = 64 * 1024 * 1024
"""The default limit on the file in bytes: sixteen times a context of a million tokens."""

_NAME = re.compile(r"[A-Z0-9_]{1,100}")
_PREFIX = "redraft-"

NOT_UP_TO_DATE = "the file changed again before it was brought up to date"
KILLED = "the file was changed by a command that was killed"
EMPTY = "the file is empty; to remove every turn, leave the end mark"
NO_DIRECTORY = "the directory of the file is missing or was replaced"
CUT_SHORT = "the end mark is missing after a command that failed"


@dataclass(frozen=True, slots=True)
class Untouched:
    """The file holds what was shown."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The file holds something else, and it can be read.

    Attributes:
        window: the turns whose place in the file may have changed.
        blocks: what stands in that place now.
        data: the bytes that stand there.
    """

    window: tuple[Turn, ...]
    blocks: tuple[Block, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """The file is not one that a context can be read from; the old context stands.

    Attributes:
        rule: why, in words fit for a receipt.
        data: the refused bytes for the record, 1 MiB of them at most.
    """

    rule: str
    data: bytes


Reading = Untouched | Edited | Refused


class Mirror:
    """One agent's context file.

    Args:
        directory: where it lies; made if missing, and then private. By default a fresh directory
            under the system's temporary one. Only what was made here is removed at `close`.
        name: the agent's name; the file is `LIVE_CTX_<NAME>.txt`.
        attributes: show each turn's `tokens`, and `after`, the tokens of all shown turns behind it.
            Every header then changes in every round, so the whole file is written each time.
        max_bytes: a larger file is refused unread, unless what was shown is larger itself.
        takeover: whether a context file that was left at this place may be replaced, as a resumed
            session wants. By default anything that stands there is an error.

    Raises:
        ContextFileError: the place cannot be used safely; the message says what to do.
        SettingsError: the name or the size cannot be used.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        name: str = "MAIN",
        attributes: bool = False,
        max_bytes: int = MAX_BYTES,
        takeover: bool = False,
    ) -> None:
        if not _NAME.fullmatch(name.upper()):
            raise SettingsError(
                f"{name[:100]!r} cannot name a context file; use 1 to 100 letters, digits and '_'"
            )
        if max_bytes < 1:
            raise SettingsError(f"max_bytes is {max_bytes}; it must be at least 1")
        self._name = f"LIVE_CTX_{name.upper()}.txt"
        self._attributes = attributes
        self._max_bytes = max_bytes
        private = directory is None
        self._directory = _temporary() if directory is None else Path(directory).absolute()
        made = private or prepare(self._directory)
        self._finalizer = weakref.finalize(
            self, _clean, os.getpid(), self._directory, self._name, private=private, made=made
        )
        # What was shown: the turns, their blocks with the end mark last, and a render cache that
        # holds the same blocks without attributes.
        self._turns: tuple[Turn, ...] = ()
        self._blocks: list[bytes] = [END]
        self._cache: dict[Turn, bytes] = {}
        # The file when we last wrote or read it, and whether it then held just those blocks.
        self._known: Signature | None = None
        self._faithful = False
        try:
            self._claim(takeover=takeover)
        except BaseException:
            self._finalizer.detach()
            if made:
                with contextlib.suppress(OSError):
                    self._directory.rmdir()
            raise

    @property
    def directory(self) -> Path:
        """The directory: what a sandbox mounts."""
        return self._directory

    @property
    def path(self) -> Path:
        """The file, as an absolute path."""
        return self._directory / self._name

    @property
    def env(self) -> dict[str, str]:
        """What a command finds in its environment."""
        return {"REDRAFT_CONTEXT_FILE": str(self.path)}

    def show(self, turns: Sequence[Turn]) -> None:
        """Bring the file up to date.

        New turns behind the ones that are shown already are written in place, which costs what is
        new; any other difference writes the file anew and swaps it in.

        Args:
            turns: the editable turns, in order.

        Raises:
            ContextFileError: it cannot be written. The file holds what it held before, or the next
                call writes it anew; edits are refused until then.
        """
        turns = tuple(turns)
        self._must_be_open()
        with restored(self._directory) as dir_fd:
            intact = self._faithful and safe_io.signature(self._name, dir_fd) == self._known
            if intact and turns == self._turns:
                return
            shown = len(self._turns)
            self._faithful = False
            try:
                if intact and not self._attributes and turns[:shown] == self._turns:
                    done = self._append(dir_fd, turns[shown:])
                else:
                    done = None
                if done is None:
                    done = self._rewrite(dir_fd, turns, intact=intact)
            except OSError as error:
                self._known = safe_io.signature(self._name, dir_fd)
                advice = "free some space or check the directory's permissions, then go on"
                raise trouble(error, f"{self.path} cannot be written", advice) from error
            self._turns, self._known, self._faithful = turns, done, True

    def read(self, *, named: bool = False, failed: bool = False, killed: bool = False) -> Reading:
        """Read the file back after a round's commands; whatever stands there is some reading.

        Once a reading was not `Untouched`, the next `show` restores the file; what is written
        between the two is refused, since nobody can tell which context it was meant for.

        Args:
            named: a command named the file: compare its bytes though its times say it is untouched.
            failed: the last command that may have written it failed.
            killed: a command was killed or timed out; then no change can be trusted.

        Raises:
            ContextFileError: the mirror is closed.
        """
        self._must_be_open()
        try:
            with opened(self._directory) as dir_fd:
                now = safe_io.signature(self._name, dir_fd)
                if now == self._known and not (named and self._faithful):
                    return Untouched()
                shown = sum(map(len, self._blocks))
                found = safe_io.load(self._name, dir_fd, max(self._max_bytes, shown))
        except OSError:
            found = Found(b"", NO_DIRECTORY, None)
        reading = self._judge(found, failed=failed, killed=killed)
        if not isinstance(reading, Untouched):
            self._known, self._faithful = found.signature, False
        return reading

    def changed(self) -> bool:
        """Whether the file was written or replaced since it was last shown or read."""
        self._must_be_open()
        try:
            with opened(self._directory) as dir_fd:
                return safe_io.signature(self._name, dir_fd) != self._known
        except OSError:
            return self._known is not None

    def close(self) -> None:
        """Remove the file, and the directory if it was made here. Calling it again does nothing."""
        self._finalizer()

    def __enter__(self) -> Mirror:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _judge(self, found: Found, *, failed: bool, killed: bool) -> Reading:
        """What a reading is: (1) no context file, (2) not based on what was shown, (3) what was
        shown, (4) not to be trusted, (5) not text, (6) an edit."""
        head = found.data[:HEAD_CAP]
        if found.fault:
            return Refused(found.fault, head)
        if not self._faithful:
            return Refused(NOT_UP_TO_DATE, head)
        window = difference(self._blocks, found.data)
        if window is None:
            return Untouched()
        if killed:
            return Refused(KILLED, head)
        if not found.data.strip():
            return Refused(EMPTY, head)
        if isinstance(window.parsed, Unreadable):
            return Refused(window.parsed.reason, head)
        if failed and not window.ended:
            return Refused(CUT_SHORT, head)
        turns = self._turns[window.first : window.last]
        return Edited(turns, window.parsed.blocks, window.data)

    def _append(self, dir_fd: int, new: Sequence[Turn]) -> Signature | None:
        assert self._known is not None
        blocks = [render_turn(turn) for turn in new]
        done = safe_io.append(self._name, dir_fd, self._known, END, b"".join(blocks))
        if done is not None:
            self._cache.update(zip(new, blocks, strict=True))
            self._blocks[-1:] = [*blocks, END]
        return done

    def _rewrite(self, dir_fd: int, turns: Sequence[Turn], *, intact: bool) -> Signature:
        cache = {turn: self._cache.get(turn) or render_turn(turn) for turn in turns}
        plain = (cache[turn] for turn in turns)
        blocks = [*(self._headed(turns, cache) if self._attributes else plain), END]
        if intact and self._known is not None and blocks == self._blocks:
            done = self._known
        else:
            done = safe_io.replace(self._name, dir_fd, b"".join(blocks))
        self._cache, self._blocks = cache, blocks
        return done

    @staticmethod
    def _headed(turns: Sequence[Turn], cache: dict[Turn, bytes]) -> Iterator[bytes]:
        after = sum(turn.tokens for turn in turns)
        for turn in turns:
            after -= turn.tokens
            yield with_attributes(cache[turn], {"tokens": turn.tokens, "after": after})

    def _claim(self, *, takeover: bool) -> None:
        """Take the file's name, exclusively unless a file of ours may be taken over."""
        with opened(self._directory) as dir_fd:
            try:
                self._known = safe_io.claim(self._name, dir_fd, END)
                self._faithful = True
            except FileExistsError as error:
                if not takeover or not safe_io.is_ours(self._name, dir_fd):
                    advice = "move it away, choose another name, or resume the session it is from"
                    raise trouble(error, f"{self.path} is taken", advice) from error
                self._known = safe_io.signature(self._name, dir_fd)
            except OSError as error:
                advice = "free some space or name another directory"
                raise trouble(error, f"{self.path} cannot be written", advice) from error

    def _must_be_open(self) -> None:
        if not self._finalizer.alive:
            raise ContextFileError(f"{self.path} is closed; make a new Mirror")


def _temporary() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX)).absolute()
    except OSError as error:
        advice = "free some space or set TMPDIR"
        raise trouble(error, "no temporary directory can be made", advice) from error


def _clean(pid: int, directory: Path, name: str, *, private: bool, made: bool) -> None:
    """Remove what a `Mirror` made; a forked child's exit must leave its parent's files alone."""
    if os.getpid() != pid:
        return
    if private:
        shutil.rmtree(directory, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        with opened(directory) as dir_fd:
            safe_io.remove(name, dir_fd)
        if made:
            directory.rmdir()
