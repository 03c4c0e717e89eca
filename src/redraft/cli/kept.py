"""Runs that were kept: found by name, listed, and removed."""

from __future__ import annotations

import json
import re
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from redraft.cli.texts import one_line, write_out
from redraft.errors import SettingsError
from redraft.store import (
    RunInfo,
    SQLiteJournal,
    find_run,
    gc_runs,
    list_runs,
    prune_overflow,
)

__all__ = ["AsJson", "RunName", "gc", "ls", "to_read", "to_write"]

RunName = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run: its name or the start of it, `last`, or a path."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def to_read(name: str) -> SQLiteJournal:
    """The journal of a run, open to read; a run in progress is not disturbed."""
    return SQLiteJournal(find_run(name), write=False)


def to_write(name: str) -> SQLiteJournal:
    """The journal of a run, open to write; raises `JournalLockedError` while it runs."""
    return SQLiteJournal(find_run(name))


def ls(as_json: AsJson = False) -> None:
    """List the runs that were kept, the latest first.

    A run is kept in a directory of its own below $REDRAFT_HOME (default:
    ~/.local/state/redraft). Every command that takes a RUN also takes the start of its name,
    or `last`.
    """
    runs = list_runs()
    if as_json:
        write_out(json.dumps([_values(run) for run in runs]))
        return
    if not runs:
        write_out("No runs are kept yet; start one with `redraft run`.")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("run", "status", "active", "size", "model", "task"):
        # A name must come out whole, so that it can be copied; the last two give way.
        table.add_column(
            title,
            justify="right" if title == "size" else "left",
            overflow="fold",
            no_wrap=title not in ("model", "task"),
        )
    for run in runs:
        table.add_row(
            run.name,
            run.status,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(run.active)),
            _size(run.size),
            one_line(run.model, 30),
            one_line(run.task, 60),
        )
    Console(highlight=False, markup=False, emoji=False).print(table)


def gc(
    *,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Runs not active for longer go: 30d, 12h, 90m."),
    ] = None,
    larger_than: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Oldest go until the rest takes less: 500MB, 2GB."),
    ] = None,
    keep: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="The latest N stay, whatever their age and size."),
    ] = 0,
    overflow: Annotated[
        bool,
        typer.Option(
            "--overflow",
            help="Remove, in place of runs, originals that no context cites any more and no undo could "
            "bring back: older ones, or in each run the oldest until they take less.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Remove nothing, only say what would go.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove whole runs by age or by total size. A run in progress is never removed.

    \b
    Examples:
      redraft gc --older-than 30d --dry-run
      redraft gc --larger-than 2GB --keep 10
      redraft gc --overflow --older-than 7d
    """
    if older_than is None and larger_than is None:
        what = "originals" if overflow else "runs"
        raise SettingsError(f"say which {what} should go: --older-than 30d, or --larger-than 2GB")
    age = _amount(older_than, _AGES, "an age such as 30d, 12h or 90m")
    size = _whole(_amount(larger_than, _SIZES, "a size such as 500MB or 2GB"))
    if overflow:
        _prune(age, size, dry_run=dry_run, as_json=as_json)
        return
    gone = gc_runs(older_than=age, larger_than=size, keep=keep, dry_run=dry_run)
    if as_json:
        write_out(json.dumps([_values(run) for run in gone]))
        return
    verb = "would go" if dry_run else "removed"
    for run in gone:
        write_out(f"{verb}: {run.name} ({_size(run.size)})")
    write_out(
        f"{len(gone)} {'run' if len(gone) == 1 else 'runs'}, {_size(sum(r.size for r in gone))}"
    )


def _prune(age: float | None, size: int | None, *, dry_run: bool, as_json: bool) -> None:
    """Prune the overflow store of every run, those in progress too."""
    if dry_run:
        raise SettingsError(
            "--overflow removes only what nothing can bring back; leave --dry-run out"
        )
    pruned = {
        run.name: prune_overflow(run.directory, max_age=age, max_bytes=size)
        for run in list_runs()
        if run.status != "damaged"
    }
    if as_json:
        rows = [
            {"run": name, "removed": list(one.removed), "kept": one.kept, "bytes": one.size}
            for name, one in pruned.items()
        ]
        write_out(json.dumps(rows))
        return
    for name, one in pruned.items():
        if one.removed:
            write_out(f"removed: {len(one.removed)} of {name} ({_size(one.size)} left)")
    count = sum(len(one.removed) for one in pruned.values())
    write_out(f"{count} {'original' if count == 1 else 'originals'}")


_AGES = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "w": 604_800}
_SIZES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "k": 10**3, "m": 10**6, "g": 10**9}


def _amount(text: str | None, units: dict[str, int], wanted: str) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower())
    if found is None or found[2] not in units:
        raise SettingsError(f"{text!r} is not {wanted}")
    return float(found[1]) * units[found[2]]


def _whole(amount: float | None) -> int | None:
    return None if amount is None else int(amount)


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def _values(run: RunInfo) -> dict[str, object]:
    return {
        "run": run.name,
        "directory": str(run.directory),
        "status": run.status,
        "why": run.why,
        "writer": run.writer,
        "model": run.model,
        "task": run.task,
        "started": run.started,
        "active": run.active,
        "bytes": run.size,
    }
