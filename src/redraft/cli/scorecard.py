"""`redraft scorecard`: what each exchange of some runs took, and the means of all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from redraft.cli.kept import AsJson, to_read
from redraft.cli.texts import write_out
from redraft.events import aggregate, exchanges_of

__all__ = ["scorecard"]

_FIGURES = {
    "rounds": "rounds",
    "tool_calls": "calls",
    "input_tokens": "input",
    "total_tokens": "total",
    "tokens_per_tool_call": "per call",
    "tokens_per_round": "per round",
}
"""The figures of a row, and what a table calls them."""

_WIDE = 120
"""Characters of a line where no terminal sets a width."""


def scorecard(
    names: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Runs: names, starts of names, `last`, or paths."),
    ],
    as_json: AsJson = False,
) -> None:
    """Compare runs: a row for each exchange, from the user's words to the final answer.

    Tokens are as the server counted them; a run on a server that reports none has no such columns, and
    the means are over the rows that have them. `context_ops` counts the model's use of its context
    tools.

    \b
    Examples:
      redraft scorecard last
      redraft scorecard brisk-otter calm-heron --json
    """
    # A run that is named twice, as `last` and by its name, would count twice in the means.
    rows = [row for rows in dict(map(_rows, names)).values() for row in rows]
    means = aggregate(rows)
    if as_json:
        write_out(json.dumps({"rows": rows, "aggregate": means}))
        return
    table = Table(box=None, pad_edge=False)
    shown = [name for name in _FIGURES if any(name in row for row in rows)]
    table.add_column("run", overflow="fold", no_wrap=True)
    for title in ("exchange", *map(_FIGURES.__getitem__, shown)):
        table.add_column(title, justify="right", no_wrap=True)
    if any("context_ops" in row for row in rows):
        table.add_column("context tools")
    for row in rows:
        cells = [_figure(row.get(name)) for name in ("exchange", *shown)]
        ops = [_ops(row.get("context_ops", {}))][: len(table.columns) - len(cells) - 1]
        table.add_row(row["run"], *cells, *ops)
    if len(rows) > 1 and means:
        table.add_row("mean", "", *(_figure(means.get(f"avg_{name}")) for name in shown))
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    console.print(table)


def _rows(name: str) -> tuple[Path, list[dict[str, Any]]]:
    """A run's directory, and its rows."""
    with to_read(name) as journal:
        directory = journal.directory.resolve()
        exchanges = exchanges_of(journal.events())
    called = directory.name
    return directory, [
        {"run": called, "exchange": at, **one.row} for at, one in enumerate(exchanges, 1)
    ]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _ops(ops: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in ops.items() if count)
