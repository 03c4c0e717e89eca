"""`redraft policies`: who may decide when and how the context changes, and what can be set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from redraft.cli.kept import AsJson
from redraft.cli.texts import write_out
from redraft.policies import SPECTRUM, Described, described

__all__ = ["policies"]


def policies(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One of them, with its options and their defaults."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the policies: who decides when and how the context changes, and what happens.

    Choose one for a run with --policy NAME and --policy-option K=V. Those that the harness carries out
    can also be tried on recordings, with `redraft replay --policy NAME`.

    \b
    Examples:
      redraft policies
      redraft policies sliding-window
      redraft run "Mend the tests" --model gpt-5 --policy sliding-window --policy-option keep=6
    """
    chosen = list(SPECTRUM.values()) if name is None else [described(name)]
    if as_json:
        rows = [one.as_dict() for one in chosen]
        write_out(json.dumps(rows if name is None else rows[0]))
    elif name is None:
        write_out("\n".join(_lines(chosen)))
    else:
        write_out("\n".join(_told(chosen[0])))


def _lines(rows: list[Described]) -> Iterator[str]:
    wide = max(len(one.name) for one in rows)
    who = max(len(one.decides) for one in rows)
    for one in rows:
        yield f"{one.name:{wide}}  {one.decides:{who}}  {one.line}"


def _told(one: Described) -> Iterator[str]:
    yield f"{one.name}: {one.line}"
    yield f"decides: {one.decides}"
    if not one.options:
        yield "options: none"
        return
    yield "options, with their defaults:"
    for option in one.options:
        yield f"  {option.name}={option.default}  ({option.allowed})"
        yield f"      {option.meaning}"
