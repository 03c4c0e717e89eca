"""Changing a run that is kept: taking revisions back, and going another way from one."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from redraft.cli.kept import RunName, to_read, to_write
from redraft.cli.texts import write_out
from redraft.session import Session
from redraft.store import find_run, new_run
from redraft.store import fork as forked
from redraft.store.runs import CONTEXT

__all__ = ["fork", "undo"]

Number = Annotated[int, typer.Argument(metavar="REVISION", help="Its number; see `redraft log`.")]


def undo(
    name: RunName,
    revision: Number,
    since: Annotated[
        bool, typer.Option("--since", help="Take back every revision after this one, as one.")
    ] = False,
) -> None:
    """Take a revision back: its turns return as they were.

    It is refused, with the sizes, where the result would not fit the limit, or with the list of later
    revisions that must go first. A run in progress must end before.
    """
    with (
        to_write(name) as journal,
        Session.resume(journal, path=find_run(name) / CONTEXT) as session,
    ):
        receipt = session.undo_since(revision) if since else session.undo(revision)
    what = f"all revisions after {revision}" if since else f"revision {revision}"
    write_out(f"undone: {what}; {receipt.before:,} -> {receipt.after:,} tokens")


def fork(
    name: RunName,
    at: Annotated[
        int | None,
        typer.Option(
            metavar="REVISION", help="Up to this revision; 0 for before the first. Default: all."
        ),
    ] = None,
) -> None:
    """Copy a run, up to a revision, into a run of its own that can be resumed by itself."""
    with to_read(name) as journal:
        directory = new_run()
        try:
            entries = forked(journal, directory, at=at)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    write_out(f"{directory.name}: {entries} entries; go on with `redraft resume {directory.name}`")
