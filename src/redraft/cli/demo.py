"""`redraft demo`: watch a scripted player manage its own context, and the same task without."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table

from redraft.agent import Agent, CommandStarted, RunResult, RunStatus
from redraft.events import EditJudged, Event, PhaseChanged, RequestMade, RolledBack, RoundEnded
from redraft.sandbox import LocalSandbox
from redraft.session import Interface
from redraft.settings import Settings
from redraft.testing.alerts import AlertTask, Grade, make_alert_task
from redraft.testing.players import ScriptedModel, alert_player
from redraft.tokens import Meter

__all__ = ["Played", "demo", "play"]


@dataclass(frozen=True, slots=True)
class Played:
    """One run of the task.

    Attributes:
        name: which way of managing the context it was.
        grade: how well the answer did.
        result: how the run went.
    """

    name: str
    grade: Grade
    result: RunResult

    def row(self) -> dict[str, object]:
        """What the table and `--json` show of it."""
        metrics = self.result.metrics
        return {
            "policy": self.name,
            "score": round(self.grade.score, 3),
            "right": self.grade.right,
            "wrong": self.grade.wrong,
            "expected": self.grade.expected,
            "peak_context": metrics.peak_tokens,
            "limit": metrics.limit,
            "edits": metrics.applied,
            "tokens_reread": metrics.reread_tokens,
            "tokens_read": metrics.read_tokens,
            "model_calls": metrics.rounds,
            "ended": "finished" if self.result.status is RunStatus.FINISHED else "stopped",
        }


def demo(
    budget: Annotated[int, typer.Option(min=6_000, help="Tokens that a prompt may take.")] = 10_000,
    parts: Annotated[
        int, typer.Option(min=4, max=99, help="Parts of the log, about 1,300 tokens each.")
    ] = 62,
    seed: Annotated[int, typer.Option(help="Another seed makes another log.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, nothing else.")
    ] = False,
) -> None:
    """Watch a scripted player manage its own context. No key, no network, under a minute.

    A log of about eight times the budget is read part by part; every open alert must be reported
    letter by letter. The player edits the real context file with real shell and Python commands.
    Then the same player does the same task in a context that can only grow.
    """
    task = make_alert_task(parts, seed)
    console = Console(stderr=True, quiet=as_json)
    _introduce(console, task, budget)
    played = [
        _watched(console, task, "context-file", "file", budget),
        _watched(console, task, "append-only", "none", budget),
    ]
    if as_json:
        typer.echo(json.dumps({"player": "scripted", "runs": [run.row() for run in played]}))
        return
    _conclude(Console(), played)


def play(
    task: AlertTask, interface: Interface, budget: int, on_event: Callable[[Event], None]
) -> RunResult:
    """Let the scripted player do the task, in a sandbox of its own.

    Args:
        task: the task.
        interface: `file`, or `none` for a context that can only grow.
        budget: tokens that a prompt may take.
        on_event: called with every event.
    """
    rollbacks = 0 if interface == "none" else Settings().rollback_max
    settings = Settings(rollback_max=rollbacks, max_steps=10 * len(task.parts))
    with tempfile.TemporaryDirectory(prefix="redraft-demo-") as place:
        task.write(Path(place))
        with LocalSandbox(Path(place)) as sandbox:
            agent = Agent(
                ScriptedModel(alert_player),
                sandbox,
                task=task.prompt,
                budget=budget,
                interface=interface,
                settings=settings,
                on_event=on_event,
            )
            return agent.run()


def _watched(
    console: Console, task: AlertTask, name: str, interface: Interface, budget: int
) -> Played:
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(30, complete_style="cyan", finished_style="red"),
        MofNCompleteColumn(),
        TextColumn("tokens   call {task.fields[calls]}   edits {task.fields[edits]}"),
    )
    with Progress(*columns, console=console, disable=console.quiet) as progress:
        bar = progress.add_task(name, total=1, calls=0, edits=0)
        watcher = _Watcher(progress, bar, console)
        result = play(task, interface, budget, watcher.see)
    return Played(name, task.grade(result.answer), result)


class _Watcher:
    """Shows events as they come: the bar moves, edits land above it."""

    def __init__(self, progress: Progress, bar: TaskID, console: Console) -> None:
        self._progress = progress
        self._bar = bar
        self._console = console
        self._calls = 0
        self._edits = 0
        self._shown = False

    def see(self, event: Event) -> None:
        """Show one event."""
        match event:
            case RequestMade(tokens=tokens, limit=limit):
                self._calls += 1
                self._progress.update(self._bar, completed=tokens, total=limit, calls=self._calls)
            case CommandStarted(command=command) if "REDRAFT_CONTEXT_FILE" in command:
                if not self._shown:
                    self._shown = True
                    self._say("its first edit, in its own words:")
                    self._say(command)
            case RoundEnded(tokens=tokens):
                self._progress.update(self._bar, completed=tokens)
            case EditJudged(author="model", status="applied", number=number):
                self._edits += 1
                self._progress.update(self._bar, completed=event.after, edits=self._edits)
                self._say(f"edit {number} applied: {event.before:,} -> {event.after:,} tokens")
            case EditJudged(author="model", status=status, rule=rule):
                self._say(f"edit {status} {rule}")
            case RolledBack(before=before, after=after):
                self._say(f"rolled back: {before:,} -> {after:,} tokens")
            case PhaseChanged(phase="final", why=why):
                self._say(f"last turn: {why}")

    def _say(self, text: str) -> None:
        lines = indent(text, "  ")
        self._console.print(lines, style="dim", highlight=False, markup=False, soft_wrap=True)


def _introduce(console: Console, task: AlertTask, budget: int) -> None:
    tokens = sum(map(Meter().text, task.parts))
    console.print(
        f"A scripted player (no model) reads a log of {tokens:,} tokens with a budget of "
        f"{budget:,}, and must report {len(task.open)} open alerts letter by letter. First it may "
        "redraft its context through the context file; then it can only append.\n",
        highlight=False,
    )


def _conclude(console: Console, played: list[Played]) -> None:
    limit = played[0].result.metrics.limit
    table = Table(title=f"One task, one scripted player, a limit of {limit:,} tokens")
    for title in ("context", "score", "alerts", "peak", "edits", "re-read", "ended"):
        table.add_column(title, justify="left" if title in ("context", "ended") else "right")
    for run in played:
        row, grade = run.row(), run.grade
        table.add_row(
            run.name,
            f"{grade.score:.0%}",
            f"{grade.right} of {grade.expected}",
            f"{row['peak_context']:,}",
            f"{row['edits']:,}",
            f"{row['tokens_reread']:,}",
            str(row["ended"]),
        )
    console.print(table)
    console.print(
        "score    right alerts, less wrong ones\n"
        "peak     the largest request in tokens; a last turn may use the margin\n"
        "re-read  tokens that were sent before and had to be read again because an\n"
        "         edit changed something in front of them: the price of editing\n\n"
        "A scripted player shows that the mechanism works, not how well a model uses it.\n"
        'Next: redraft run "TASK" --model NAME   (redraft run --help)',
        highlight=False,
    )
