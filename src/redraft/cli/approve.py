"""`redraft approve` and `redraft reject`: a person decides on the calls of a run that wait."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from redraft.cli.asking import command_of
from redraft.cli.kept import AsJson, RunName, to_read, to_write
from redraft.cli.texts import write_out
from redraft.errors import ApprovalError
from redraft.session import Pending, Session
from redraft.session.approvals import pending_of
from redraft.store import find_run
from redraft.store.runs import CONTEXT

__all__ = ["approve", "as_values", "reject"]

Id = Annotated[
    str | None,
    typer.Argument(metavar="[ID]", help="The approval; without it, those that wait are listed."),
]
EveryId = Annotated[str, typer.Argument(metavar="ID", help="The approval.")]


def approve(name: RunName, approval: Id = None, as_json: AsJson = False) -> None:
    """Let a call of a run be made that waits for you, or list the calls that wait.

    `redraft run --ask` lets commands wait. Look at them first: without an ID nothing is decided. An
    approved call is made by `redraft resume`, with just the arguments that were shown.

    \b
    Examples:
      redraft approve last
      redraft approve last a4.1
    """
    if approval is None:
        _list(name, as_json=as_json)
        return
    with (
        to_write(name) as journal,
        Session.resume(journal, path=find_run(name) / CONTEXT) as session,
    ):
        session.approve(approval)
        called = journal.directory.name
    if as_json:
        write_out(json.dumps({"run": called, "id": approval, "verdict": "granted"}))
        return
    write_out(f"approved: {approval}; `redraft resume {called}` makes the call and goes on")


def reject(
    name: RunName,
    approval: EveryId,
    why: Annotated[
        str, typer.Option(metavar="TEXT", help="The reason, for the model.", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Refuse a call of a run that waits for you. The model is told when the run goes on.

    \b
    Examples:
      redraft reject last a4.1 --why "Not on the production database."
    """
    with (
        to_write(name) as journal,
        Session.resume(journal, path=find_run(name) / CONTEXT) as session,
    ):
        session.reject(approval, why)
        called = journal.directory.name
    if as_json:
        write_out(json.dumps({"run": called, "id": approval, "verdict": "rejected"}))
        return
    write_out(f"rejected: {approval}; `redraft resume {called}` tells the model and goes on")


def _list(name: str, *, as_json: bool) -> None:
    with to_read(name) as journal:
        waiting, called = pending_of(journal), journal.directory.name
    if as_json:
        write_out(json.dumps(as_values(waiting)))
        return
    if not waiting:
        raise ApprovalError(f"no call of {called} waits for you.")
    for one in waiting:
        state = " (approved; `redraft resume` makes it)" if one.granted else ""
        write_out(f"{one.id}{state}:\n{command_of(one)}\n")
    ids = [one.id for one in waiting if not one.granted]
    if ids:
        write_out(f"Decide with `redraft approve {called} {ids[0]}`, or `redraft reject`.")


def as_values(waiting: Sequence[Pending]) -> list[dict[str, Any]]:
    """Calls that wait, for JSON."""
    return [
        {
            "id": one.id,
            "asked": one.asked,
            "tool": one.call.name,
            "arguments": dict(one.call.arguments),
            "round": one.round,
            "granted": one.granted,
        }
        for one in waiting
    ]
