"""`redraft replay`: what recordings of real agents would have cost, by policy and by kind of cache."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from redraft.cli.texts import read_file, write_out
from redraft.cost import GenaiPrices, LiteLLMPrices, PriceBook
from redraft.errors import SettingsError
from redraft.replay import known_policies, load, policies_named, summary
from redraft.replay import replay as replayed
from redraft.replay.runner import DEFAULT_POLICIES

__all__ = ["replay"]


def replay(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Recordings, or directories of redraft's own runs; their format is detected.",
        ),
    ],
    *,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="A,B,...", help=f"Policies: {', '.join(known_policies())}."
        ),
    ] = ",".join(DEFAULT_POLICIES),
    budget: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="TOKENS", help="Tokens that a prompt may take. Default: the window."
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="TOKENS", help="The model's window, where its name does not tell."
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A price file in LiteLLM's format; it wins over genai-prices."
        ),
    ] = None,
    skip_damaged: Annotated[
        bool,
        typer.Option(
            "--skip-damaged", help="Pass over damaged lines with a note, where a file has lines."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array: an object for each recording.")
    ] = False,
) -> None:
    """Price recordings of real agents: tokens, compute and money under prefix caches.

    Each recording's transcript is run through the policies and cache models as it stands: requests
    over the limit, peak, tokens, FLOPs, money, cache breaks and their causes. Where it has the
    provider's usage, predicted cache reads are held against the reported ones. It prices a fixed
    transcript; it does not say whether the task would have been solved.

    Read are session files of pi and Claude Code, trajectories of SWE-agent and mini-swe-agent, event logs
    of OpenHands, results of tau-bench, ATIF, recorded HTTP, plain lists of messages, and redraft's own
    journals (RUN_DIR/journal.db).

    \b
    Examples:
      redraft replay session.jsonl
      redraft replay *.traj --policy append-only,observation-mask --budget 32000 --json
    """
    names = [name.strip() for name in policy.split(",") if name.strip()]
    if not names:
        raise SettingsError(f"--policy names nothing; use some of {', '.join(known_policies())}")
    books = None if prices is None else _books(prices)
    policies = policies_named(names)
    recordings = [load(path, skip_damaged=skip_damaged) for path in files]
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(30), TimeRemainingColumn())
    found = []
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        for recording in recordings:
            task = bar.add_task(Path(recording.path).name)

            def show(done: int, total: int, what: str, task: TaskID = task) -> None:
                bar.update(task, completed=done, total=total, description=what)

            found.append(
                replayed(
                    recording,
                    policies,
                    budget=budget,
                    window=window,
                    prices=books,
                    progress=show,
                )
            )
    if as_json:
        write_out(json.dumps([item.as_dict() for item in found], ensure_ascii=False))
    else:
        write_out("\n\n".join("\n".join(summary(item)) for item in found))


def _books(path: Path) -> list[PriceBook]:
    """A price file, and behind it the built-in list for what it does not have."""
    try:
        own = LiteLLMPrices.parse(read_file(path, "the price list"), path.name)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return [own, GenaiPrices(datetime.now(UTC))]
