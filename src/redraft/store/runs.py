"""Where runs live, what they are called, and which of them go."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from redraft.errors import JournalError, JournalLockedError
from redraft.store.files import JOURNAL, LOCK, opened_to_read, read_meta, reading
from redraft.store.lock import WriterLock, writer_of
from redraft.store.names import word_pair
from redraft.store.summary import RUNNING
from redraft.store.troubles import of_system

__all__ = [
    "BROKEN_OFF",
    "CONTEXT",
    "LAST",
    "RunInfo",
    "find_run",
    "gc_runs",
    "list_runs",
    "make_runs_home",
    "new_run",
    "run_info",
    "runs_home",
]

BROKEN_OFF = "broken off"
"""The status of a run whose process ended without a word, e.g. because it was killed."""

CONTEXT = "context"
"""The directory of a run's context file, inside the run's own: what a sandbox shows of it."""

LAST = "last"
"""The name of the run that was active last."""

_GONE = ".gone-"
_SHOWN = 5
_TRIES = 100


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run, as a list shows it.

    Attributes:
        name: its name.
        directory: where it lies.
        status: `running` while a process writes to it; else `finished`, `stopped`, `waiting`,
            `interrupted`, `failed`, `closed` (a session without an agent), `broken off`, `empty` or
            `damaged`.
        why: why it did not finish; of a damaged one, what is wrong.
        writer: the process that writes to it; None for nobody, 0 where it cannot be told.
        model: the model's name.
        task: the first line of the task.
        started, active: when it began, and when something was recorded last, in seconds since 1970.
        size: bytes that it takes.
        meta: everything else that is known of it.
    """

    name: str
    directory: Path
    status: str
    why: str
    writer: int | None
    model: str
    task: str
    started: float
    active: float
    size: int
    meta: Mapping[str, Any]

    @property
    def running(self) -> bool:
        """Whether a process writes to it."""
        return self.writer is not None


def runs_home(env: Mapping[str, str] | None = None) -> Path:
    """The directory of all runs: `$REDRAFT_HOME/runs`, else `$XDG_STATE_HOME/redraft/runs`, else
    `~/.local/state/redraft/runs`. A relative `XDG_STATE_HOME` counts as not set, as its rules say.

    Args:
        env: the environment; by default the process's.
    """
    env = os.environ if env is None else env
    if env.get("REDRAFT_HOME"):
        return Path(env["REDRAFT_HOME"]).expanduser().absolute() / "runs"
    state = Path(env.get("XDG_STATE_HOME") or "")
    if not state.is_absolute():
        state = Path(env.get("HOME") or Path.home()) / ".local" / "state"
    return state / "redraft" / "runs"


def new_run(
    home: Path | None = None, *, now: float | None = None, chance: Random | None = None
) -> Path:
    """Make the directory of a new run, private to its owner, under a name that is not taken.

    Args:
        home: the directory of all runs; by default `runs_home()`.
        now: the time, for the date in the name; by default the clock's.
        chance: picks the words; by default the operating system's.

    Returns:
        the directory, e.g. `.../2026-11-30-brisk-otter`.

    Raises:
        JournalError: it cannot be made.
    """
    home = make_runs_home(home)
    date = time.strftime("%Y-%m-%d", time.localtime(now))
    with _keeping(home):
        for _ in range(_TRIES):
            directory = home / f"{date}-{word_pair(chance or SystemRandom())}"
            with contextlib.suppress(FileExistsError):
                directory.mkdir(mode=0o700)
                return directory
    raise JournalError(f"{home} is full of today's runs; remove some with `redraft gc`.")


def make_runs_home(home: Path | None = None) -> Path:
    """Make the directory of all runs, private to its owner, where it is missing.

    Args:
        home: the directory; by default `runs_home()`.

    Returns:
        the directory.

    Raises:
        JournalError: it cannot be made.
    """
    home = runs_home() if home is None else home
    with _keeping(home):
        for place in (home.parent, home):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


@contextlib.contextmanager
def _keeping(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise of_system(
            error,
            f"no run can be kept in {home} ({error.strerror}); make the place writable and free some "
            "room, or set REDRAFT_HOME to another one.",
        ) from error


def list_runs(home: Path | None = None) -> list[RunInfo]:
    """All runs, the one that was active last first. Reads no log; one that cannot be read is listed as
    damaged.

    Args:
        home: the directory of all runs; by default `runs_home()`.
    """
    home = runs_home() if home is None else home
    try:
        places = [place for place in home.iterdir() if place.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise of_system(
            error, f"the runs in {home} cannot be listed ({error.strerror}); check its rights."
        ) from error
    infos = [run_info(place) for place in places if not place.name.startswith(".")]
    return sorted(infos, key=lambda info: (info.active, info.name), reverse=True)


def run_info(directory: Path) -> RunInfo:
    """What a list shows of the run in `directory`."""
    size, touched = _size(directory)
    writer = writer_of(directory / LOCK)
    meta: dict[str, Any] = {}
    active, status, why = touched, "empty", ""
    if (directory / JOURNAL).is_file():
        try:
            meta, newest = _peek(directory / JOURNAL)
            active, why = newest or touched, str(meta.get("why", ""))
            status = _status(meta.get("status", RUNNING)) if newest else status
        except JournalError as error:
            status, why = "damaged", str(error)
    return RunInfo(
        name=directory.name,
        directory=directory,
        status=status if writer is None else RUNNING,
        why=why,
        writer=writer,
        model=str(meta.get("model", "")),
        task=str(meta.get("task", "")),
        started=float(meta.get("started", touched)),
        active=active,
        size=size,
        meta=meta,
    )


def _status(said: object) -> str:
    return BROKEN_OFF if said == RUNNING else str(said)


def _peek(path: Path) -> tuple[dict[str, Any], float | None]:
    """The summary of a journal, and the time of its last entry."""
    with contextlib.closing(opened_to_read(path)) as database, reading():
        newest = database.execute("SELECT at FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        return read_meta(database), newest and newest[0]


def _size(directory: Path) -> tuple[int, float]:
    """(bytes of the files, time of the last change) of a run."""
    size, touched = 0, 0.0
    for place, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):  # gone meanwhile
                status = Path(place, name).lstat()
                size, touched = size + status.st_size, max(touched, status.st_mtime)
    if not touched:
        with contextlib.suppress(OSError):  # one without a file is as old as its directory
            touched = directory.stat().st_mtime
    return size, touched


def find_run(words: str, home: Path | None = None) -> Path:
    """The directory of the run that is meant.

    Args:
        words: its name, or the beginning of a part of it (`2026-11-30`, `brisk`, `ott`); `last` for the
            one that was active last; or a path with a slash in it.
        home: the directory of all runs; by default `runs_home()`.

    Raises:
        JournalError: no run is meant, or several are; the message names some.
    """
    if os.sep in words:
        if not Path(words, JOURNAL).is_file():
            raise JournalError(
                f"there is no run in {words}; name the directory that holds {JOURNAL}."
            )
        return Path(words)
    home = runs_home() if home is None else home
    runs = list_runs(home)
    if not runs:
        raise JournalError(f"there are no runs in {home} yet; start one with `redraft run`.")
    if words == LAST:
        return runs[0].directory
    exact = [run for run in runs if run.name == words]
    found = exact or [run for run in runs if words and _is_meant(run.name, words)]
    if len(found) == 1:
        return found[0].directory
    if not found:
        raise JournalError(f"no run is called {words!r}; the latest are {_names(runs)}.")
    raise JournalError(f"{words!r} may be {_names(found)}; give more of the name.")


def _is_meant(name: str, words: str) -> bool:
    return f"-{words}" in f"-{name}"


def _names(runs: list[RunInfo]) -> str:
    shown = ", ".join(run.name for run in runs[:_SHOWN])
    return shown if len(runs) <= _SHOWN else f"{shown} and {len(runs) - _SHOWN} more"


def gc_runs(
    home: Path | None = None,
    *,
    older_than: float | None = None,
    larger_than: int | None = None,
    keep: int = 0,
    dry_run: bool = False,
    now: float | None = None,
) -> list[RunInfo]:
    """Remove whole runs, the ones that were active longest ago first; never one that is running.

    Args:
        home: the directory of all runs; by default `runs_home()`.
        older_than: seconds; runs that were not active for longer go.
        larger_than: bytes; runs go until all together take no more.
        keep: so many of the runs that were active last stay whatever their age and size.
        dry_run: remove nothing, only say what would go.
        now: the time, in seconds since 1970; by default the clock's.

    Returns:
        the runs that are gone, or would be.

    Raises:
        JournalError: a run cannot be removed.
    """
    home = runs_home() if home is None else home
    runs = list_runs(home)
    total = sum(run.size for run in runs)
    before = (time.time() if now is None else now) - (older_than or 0.0)
    gone: list[RunInfo] = []
    for run in reversed(runs[max(keep, 0) :]):
        old = older_than is not None and run.active < before
        large = larger_than is not None and total > larger_than
        if run.running or not (old or large):
            continue
        if dry_run or _removed(run.directory):
            gone.append(run)
            total -= run.size
    if not dry_run:
        _sweep(home)
    return gone


def _removed(directory: Path) -> bool:
    """Remove a run; False where a process has begun to write to it."""
    try:
        with WriterLock(directory / LOCK):
            # Under another name first, so that nobody sees half a run.
            directory.rename(directory.with_name(f"{_GONE}{directory.name}-{os.getpid()}"))
    except JournalLockedError:
        return False
    except OSError as error:
        raise of_system(
            error, f"the run {directory} cannot be removed ({error.strerror}); check its rights."
        ) from error
    return True


def _sweep(home: Path) -> None:
    for place in home.glob(f"{_GONE}*"):
        shutil.rmtree(place, ignore_errors=True)
