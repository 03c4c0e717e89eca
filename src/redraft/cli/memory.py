"""What is remembered beyond one context: added, found, listed, carried elsewhere, forgotten."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from redraft.cli.exits import ExitCode
from redraft.cli.groups import add_guarded, new_group
from redraft.cli.kept import AsJson
from redraft.cli.memory_files import read_export, write_export
from redraft.cli.texts import one_line, read_file, read_task, write_out
from redraft.cli.times import ago, ahead, local
from redraft.errors import SettingsError
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Draft, Hit, ItemQuery, MemoryItem
from redraft.store.memory_exchange import export_lines, import_lines
from redraft.store.memory_file import memory_path
from redraft.store.memory_search import FLOOR

__all__ = ["memory"]

memory = new_group()

InFile = Annotated[
    Path | None,
    typer.Option("--path", metavar="FILE", help="The memory. Default: $REDRAFT_HOME/memory.db."),
]
TaskType = Annotated[
    str | None, typer.Option("--task-type", metavar="NAME", help="The kind of task it serves.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="NAME", help="A tag; may be given again.")
]
InSession = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="The session that said it.")
]
Since = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="Said at or after: a date, a time, or a span such as 7d."),
]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Said before.")]


@memory.callback()
def about() -> None:
    """Remember facts beyond one context, and find those that support a task.

    The memory is one file, $REDRAFT_HOME/memory.db (default: ~/.local/state/redraft/memory.db), which only
    its owner can read. It is not encrypted: keep no secrets in it.

    \b
    Examples:
      redraft memory add "The staging database listens on port 5433." --tag database
      redraft memory search "connect to the staging database"
    """


def add(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="What to remember; `-` for standard input, `@FILE` for a file."
        ),
    ],
    *,
    task_type: TaskType = None,
    tag: Tags = None,
    session: InSession = None,
    turn: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The number of the turn that said it.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="It is found until then: a date, a time, or 30d."),
    ] = None,
    path: InFile = None,
    as_json: AsJson = False,
) -> None:
    """Remember a fact, in words that stand alone.

    One that is there already is merged with it, and both sources are kept. What is true for the moment
    only (logs, raw responses, stack traces) is refused with a reason, and the exit code is 2.
    """
    now = time.time()
    words = read_file(Path(text[1:]), "the text") if text[:1] == "@" else _given(text)
    draft = Draft(
        words,
        task_type or "",
        tuple(tag or ()),
        session or "",
        turn,
        now,
        ahead(expires, now),
    )
    with SQLiteMemory(path or memory_path()) as store:
        added = store.add(draft)
    if as_json:
        write_out(json.dumps(asdict(added)))
    elif added.id is not None:
        write_out(f"{added.outcome}: item {added.id}")
    else:
        print(f"redraft: refused: {one_line(added.reason, 500)}", file=sys.stderr)
    if added.id is None:
        raise typer.Exit(ExitCode.USAGE)


def _given(text: str) -> str:
    return read_task(text, sys.stdin.buffer) if text == "-" else text


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The task at hand, in words.")],
    *,
    task_type: TaskType = None,
    tag: Tags = None,
    session: InSession = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = 8,
    floor: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="SHARE", help="The least relevance that is shown."),
    ] = FLOOR,
    path: InFile = None,
    as_json: AsJson = False,
) -> None:
    """Find what supports a task, the most relevant first.

    Relevance is the share, from 0 to 1, of the question's words that an item has, or of the item's words
    that the question has, rare words weighing more. Where nothing is relevant enough nothing is shown.
    """
    query = _query(
        task_type=task_type, tags=tag, session=session, since=since, until=until, limit=limit
    )
    if not text.strip():
        raise SettingsError("say in words what to look for, or use `redraft memory list`")
    with _to_read(path) as store:
        hits = store.search(replace(query, text=text, floor=floor))
    _show(hits, as_json, "Nothing that is kept is relevant enough.")


def list_(
    *,
    task_type: TaskType = None,
    tag: Tags = None,
    session: InSession = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = 50,
    path: InFile = None,
    as_json: AsJson = False,
) -> None:
    """List what is remembered, the newest first."""
    with _to_read(path) as store:
        hits = store.search(
            _query(
                task_type=task_type,
                tags=tag,
                session=session,
                since=since,
                until=until,
                limit=limit,
            )
        )
    _show(hits, as_json, "Nothing is remembered here; add something with `redraft memory add`.")


def _query(
    *,
    task_type: str | None,
    tags: Sequence[str] | None,
    session: str | None,
    since: str | None,
    until: str | None,
    limit: int,
) -> ItemQuery:
    now = time.time()
    return ItemQuery(
        task_type=task_type,
        tags=tuple(tags or ()),
        session=session,
        since=ago(since, now),
        until=ago(until, now),
        limit=limit,
    )


def _to_read(path: Path | None) -> SQLiteMemory:
    """A memory that is there; looking into the usual one before anything is kept makes no file."""
    if path is not None and not path.exists():
        raise SettingsError(f"there is no memory at {path}; check the path")
    place = path or memory_path()
    return SQLiteMemory(place if place.exists() else None)


def _show(hits: Sequence[Hit], as_json: bool, nothing: str) -> None:
    if as_json:
        write_out(json.dumps([{**asdict(hit.item), "relevance": hit.relevance} for hit in hits]))
        return
    if not hits:
        write_out(nothing)
        return
    ranked = any(hit.relevance < 1 for hit in hits)
    table = Table(box=None, pad_edge=False)
    for title in ("item", *(["relevance"] if ranked else []), "said", "by", "for", "text"):
        table.add_column(
            title,
            justify="right" if title in ("item", "relevance") else "left",
            overflow="fold",
            no_wrap=title in ("item", "relevance", "said"),
        )
    for hit in hits:
        shown = [f"{hit.relevance:.2f}"] if ranked else []
        table.add_row(str(hit.item.id), *shown, *_cells(hit.item))
    Console(highlight=False, markup=False, emoji=False).print(table)


def _cells(item: MemoryItem) -> tuple[str, str, str, str]:
    last = item.sources[-1]
    turn = f"turn {last.turn}" if last.turn is not None else ""
    said = ", ".join(filter(None, (last.session, turn))) or "-"
    meant = " ".join(filter(None, (item.task_type, *(f"#{tag}" for tag in item.tags))))
    more = f" (and {len(item.sources) - 1} more)" if len(item.sources) > 1 else ""
    return local(item.at), one_line(said, 60) + more, one_line(meant, 60), one_line(item.text, 400)


def export(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, not to standard output."),
    ] = None,
    path: InFile = None,
) -> None:
    """Write everything that is kept as JSON lines: items and states of sessions."""
    with _to_read(path) as store:
        write_export(export_lines(store), output)


def import_(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines; `-` for standard input.")
    ],
    path: InFile = None,
    as_json: AsJson = False,
) -> None:
    """Take in what `redraft memory export` wrote.

    All of it is read before anything is changed. What is there already is merged, so an import may be
    done again; states of a session are taken where there is none of it yet.
    """
    lines = read_export(source)
    with SQLiteMemory(path or memory_path()) as store, Console(stderr=True).status("Taking in"):
        came = import_lines(store, lines)
    if as_json:
        write_out(json.dumps(asdict(came)))
        return
    write_out(
        f"items: {came.kept} kept, {came.merged} merged, {came.refused} refused; "
        f"states: {came.states} saved, {came.skipped} passed over"
    )


def forget(
    numbers: Annotated[
        list[int] | None, typer.Argument(metavar="[ITEM]...", help="Numbers of items.")
    ] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Everything that has expired, too.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    path: InFile = None,
    as_json: AsJson = False,
) -> None:
    """Remove items for good. It shows them and asks before.

    Where one of the numbers names no item, none is removed. Copies elsewhere (exports, backups) are not
    touched.
    """
    if not numbers and not expired:
        raise SettingsError("say which items: their numbers, see `redraft memory list`")
    with _to_read(path) as store:
        items = [store.item(number) for number in dict.fromkeys(numbers or ())]
        if not yes:
            for item in items:
                print(f"{item.id}: {one_line(item.text, 200)}", file=sys.stderr)
            what = f"{len(items)} item{'' if len(items) == 1 else 's'}" if items else "what expired"
            typer.confirm(f"Forget {what} for good?", abort=True, err=True)
        gone = store.forget(item.id for item in items)
        gone += store.prune() if expired else 0
    write_out(json.dumps({"forgotten": gone}) if as_json else f"forgotten: {gone}")


add_guarded(
    memory,
    {
        "add": add,
        "search": search,
        "list": list_,
        "export": export,
        "import": import_,
        "forget": forget,
    },
)
