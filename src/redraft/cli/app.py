"""The commands, and what `redraft` says about itself."""

from __future__ import annotations

from typing import Annotated

import typer

from redraft import __version__
from redraft.cli.alter import fork, undo
from redraft.cli.approve import approve, reject
from redraft.cli.demo import demo
from redraft.cli.doctor import doctor
from redraft.cli.groups import add_guarded, new_group
from redraft.cli.inspect import diff_, log, show
from redraft.cli.kept import gc, ls
from redraft.cli.memory import memory
from redraft.cli.policies import policies
from redraft.cli.replay import replay
from redraft.cli.resume import resume
from redraft.cli.run import run
from redraft.cli.scorecard import scorecard

__all__ = ["app"]

app = new_group(name="redraft", add_completion=False, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"redraft {__version__}")
        raise typer.Exit


@app.callback()
def redraft(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Let a language model redraft its own context, safely.

    An agent's context fills up with what it read, and then something has to go. redraft gives the
    context to the model as a text file, which it edits with ordinary commands while it works. Every
    edit passes one door that checks, counts and records it, so nothing is lost and nothing breaks.

    \b
    Examples:
      redraft demo    # watch it work: no key, no network
      redraft run "Find out why the tests fail, and mend it" --model gpt-5
      redraft replay session.jsonl    # what a recording would have cost
    """


add_guarded(app, {"demo": demo, "doctor": doctor})
app.command("run")(run)  # these two tell how they ended by themselves
app.command("resume")(resume)
add_guarded(
    app,
    {
        "approve": approve,
        "reject": reject,
        "ls": ls,
        "show": show,
        "log": log,
        "diff": diff_,
        "scorecard": scorecard,
        "undo": undo,
        "fork": fork,
        "gc": gc,
        "policies": policies,
        "replay": replay,
    },
)
app.add_typer(memory, name="memory")
