"""Looking into a run: what is in its context, what happened, and what an edit changed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from redraft.agent import collected, run_cost
from redraft.cli.approve import as_values as as_pending
from redraft.cli.context_report import report_lines
from redraft.cli.edit_costs import as_values, edit_cells, edit_values, pricing_of, words
from redraft.cli.kept import AsJson, RunName, to_read
from redraft.cli.progress import INDENT, Board, Line, line_of
from redraft.cli.report import costs, figures
from redraft.cli.texts import one_line, write_out
from redraft.context import Live, Turn
from redraft.cost import NoPrice, PriceCard
from redraft.errors import JournalError
from redraft.events import EditJudged, Event, RunEnded
from redraft.session.approvals import pending_of
from redraft.session.pricing import Pricing
from redraft.session.recorded import recorded_report
from redraft.session.terms import recorded_terms
from redraft.store import Committed, RevisionDiff, SQLiteJournal, Told, diff
from redraft.store.files import LOCK
from redraft.store.lock import writer_of

__all__ = ["diff_", "log", "show"]

_PAUSE = 0.3
"""Seconds between two looks at a log that is followed."""

_WORDS = 60
_TITLES = ("turn", "role", "origin", "tokens", "edit", "pays", "costs", "for", "says")


def show(
    name: RunName,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="The context report instead: status, strategy, what was preserved, memory, savings.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is in a run's context now, turn by turn.

    Sizes are in tokens of our own count. `edit` is what emptying the turn would make the server read
    again: everything behind it, and with a `+` the reasoning that would be lost. `pays` is the number of
    calls after which that has paid for itself, and `costs` what the next call costs more than without it;
    a line below names the price list. `for` names turns that left when a note came in their place. The
    last lines sum up what the run took so far.

    With --report it tells how full the context is, which strategy was chosen last and why, each critical
    item found or missing after it, where offloaded material is, and the tokens saved for each hour.
    """
    if report:
        with to_read(name) as journal:
            told_of = recorded_report(journal)
        lines = "\n".join(report_lines(told_of))
        write_out(json.dumps(told_of.as_dict()) if as_json else lines)
        return
    with to_read(name) as journal:
        live, stands = _state(journal)
        pricing = pricing_of(recorded_terms(journal), live.dialect)
        rows = list(_rows(live, stands, pricing))
        meta = journal.meta()
        so_far = collected(journal.events())
        waiting = pending_of(journal)
        model, prices = str(meta.get("model", "")), recorded_terms(journal).settings.price_file

        def find(other: str) -> PriceCard | NoPrice:
            return Pricing(other, live.dialect, prices).card

        cost = run_cost(so_far.calls, model, pricing.card, outside=so_far.outside, find=find)
    if as_json:
        exchanges = [exchange.as_dict() for exchange in so_far.exchanges]
        told = {
            "metrics": so_far.metrics.as_dict(),
            "exchanges": exchanges,
            "pending": as_pending(waiting),
            "cost": cost.as_dict(),
        }
        sizes = {"tokens": live.tokens, "frame": live.frame_tokens}
        write_out(json.dumps({**sizes, "prices": as_values(pricing), "turns": rows, **told}))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(_table(rows))
    console.print(
        f"{live.tokens:,} tokens in {len(rows)} turns, {live.frame_tokens:,} of them tools and "
        f"parameters; {meta.get('model', '')} {meta.get('status', '')}".rstrip()
    )
    console.print(words(pricing))
    console.print("\n".join(["", *figures(so_far.metrics), *costs(cost)]), soft_wrap=True)
    for one in waiting:
        console.print(
            f"waits for your approval: {one.id} ({one_line(one.asked, 200)})", soft_wrap=True
        )


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The turns as a table; columns that say nothing of any turn are left out."""
    table = Table(box=None, pad_edge=False)
    cells = [
        {
            "turn": str(row["turn"]),
            "role": row["role"],
            "origin": row["origin"],
            "tokens": f"{row['tokens']:,}",
            **edit_cells(row["edit"], row["held"]),
            "for": _ranges(row["stands_for"]),
            "says": one_line(row["says"], _WORDS),
        }
        for row in rows
    ]
    titles = [title for title in _TITLES if any(row[title] for row in cells)]
    for title in titles:
        number = title in ("turn", "tokens", "edit", "pays", "costs")
        table.add_column(title, justify="right" if number else "left", no_wrap=title != "says")
    for row in cells:
        table.add_row(*(row[title] for title in titles))
    return table


def _state(journal: SQLiteJournal) -> tuple[Live, dict[int, list[int]]]:
    """The live context at the end of the log, and which turns each note stands for."""
    tail = journal.tail()
    stands: dict[int, list[int]] = {}
    for recorded in tail.new():
        if isinstance(recorded.entry, Committed):
            moves = recorded.entry.commit.moves
            left = [move.old.number for move in moves if move.old and not move.new]
            came = [move.new for move in moves if move.new]
            for turn in came:
                known = stands.get(turn.number, [])
                stands[turn.number] = sorted({*known, *left} - {turn.number})
    if tail.live is None:
        raise JournalError("there is no session in this run yet; nothing was recorded.")
    return tail.live, stands


def _rows(live: Live, stands: dict[int, list[int]], pricing: Pricing) -> Iterator[dict[str, Any]]:
    for at, turn in enumerate(live.turns):
        held = _held(live, at)
        edit = None if held else edit_values(pricing, live, at)
        yield {
            "turn": turn.number,
            "role": turn.role,
            "origin": str(turn.origin),
            "held": held,
            "tokens": turn.tokens,
            "edit_cost": edit and edit["tail"],
            "edit": edit,
            "stands_for": stands.get(turn.number, []),
            "calls": [call.name for call in turn.content.calls],
            "says": _says(turn),
        }


def _held(live: Live, at: int) -> str:
    """Why no edit may touch the turn there, in a word; "" where one may."""
    if at < live.head or live.turns[at].role == "system" or live.turns[at].number in live.pins:
        return "pinned"
    return "unanswered" if live.holds(at) else "open" if at >= live.open_at else ""


def _says(turn: Turn) -> str:
    calls = " ".join(f"{call.name} {call.arguments}" for call in turn.content.calls)
    return one_line(" ".join(filter(None, (turn.content.text, calls))), 200)


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in short: 3-5, 8."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def log(
    name: RunName,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run ends; Ctrl-C stops looking.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, for every event.")
    ] = False,
) -> None:
    """Show what happened in a run, event by event.

    \b
    Examples:
      redraft log last
      redraft log last --follow --json | jq .type
    """
    with to_read(name) as journal:
        board, tail, ended = Board(), journal.tail(), False
        while True:
            # Before the look, so that whatever the writer said last is in it.
            written = writer_of(journal.directory / LOCK) is not None
            for recorded in tail.new():
                if not isinstance(recorded.entry, Told):
                    continue
                event = recorded.entry.event
                ended = isinstance(event, RunEnded)
                board = board.after(event)
                _tell(event, board, recorded.seq, recorded.at, as_json=as_json)
            if not follow or ended or not written:
                break
            time.sleep(_PAUSE)
    if follow and not ended:
        where = journal.directory.name
        print(f"redraft: nobody writes to this run; redraft resume {where}", file=sys.stderr)


def _tell(event: Event, board: Board, seq: int, at: float, *, as_json: bool) -> None:
    if as_json:
        write_out(json.dumps({"seq": seq, "at": at, **event.as_dict()}))
        return
    line = _revision(event) or line_of(event, board)
    clock = time.strftime("%H:%M:%S", time.localtime(at))
    if line is not None:
        write_out(f"{clock} {line.text}")
    elif isinstance(event, RunEnded):
        why = f": {event.why}" if event.why else ""
        write_out(f"{clock} {event.status}{one_line(why, 300)}")


def _revision(event: Event) -> Line | None:
    """A revision that is not the model's: its number is needed for `diff`, `undo` and `fork`."""
    if not isinstance(event, EditJudged) or event.author == "model" or not event.number:
        return None
    sizes = f"{event.before:,} -> {event.after:,} tokens"
    return Line(f"{INDENT}edit {event.number} by the {event.author} ({event.source}): {sizes}")


def diff_(
    name: RunName,
    revision: Annotated[
        int, typer.Argument(metavar="REVISION", help="Its number; see `redraft log`.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show what a revision changed: each turn before and after it."""
    with to_read(name) as journal:
        found = diff(journal, revision)
    if as_json:
        write_out(json.dumps(_as_values(found)))
        return
    receipt, info = found.info.receipt, found.info
    write_out(
        f"revision {info.number} by the {info.author} ({info.source}), {receipt.status}: "
        f"{receipt.before:,} -> {receipt.after:,} tokens"
    )
    for turn in found.turns:
        write_out("\n".join(turn.lines()) or f"turn {turn.number}: only white space differs")


def _as_values(found: RevisionDiff) -> dict[str, Any]:
    return {
        "revision": found.info.number,
        "at": found.info.at,
        "author": found.info.author,
        "source": found.info.source,
        "status": str(found.info.receipt.status),
        "before": found.info.receipt.before,
        "after": found.info.receipt.after,
        "turns": [
            {"turn": turn.number, "old": turn.old_text, "new": turn.new_text}
            for turn in found.turns
        ],
    }
