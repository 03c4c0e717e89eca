"""The commands, and what `redraft` says about itself."""

from __future__ import annotations

from typing import Annotated

import typer

from redraft import __version__
from redraft.cli.alter import fork, undo
from redraft.cli.approve import approve, reject
from redraft.cli.demo import demo
from redraft.cli.doctor import doctor
from redraft.cli.exits import guarded
from redraft.cli.inspect import diff_, log, show
from redraft.cli.kept import gc, ls
from redraft.cli.memory import memory
from redraft.cli.policies import policies
from redraft.cli.replay import replay
from redraft.cli.resume import resume
from redraft.cli.run import run
from redraft.cli.scorecard import scorecard

__all__ = ["app"]

app = typer.Typer(
    name="redraft",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


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


app.command("demo")(guarded(demo))
app.command("doctor")(guarded(doctor))
app.command("run")(run)
app.command("resume")(resume)
app.command("approve")(guarded(approve))
app.command("reject")(guarded(reject))
app.command("ls")(guarded(ls))
app.command("show")(guarded(show))
app.command("log")(guarded(log))
app.command("diff")(guarded(diff_))
app.command("scorecard")(guarded(scorecard))
app.command("undo")(guarded(undo))
app.command("fork")(guarded(fork))
app.command("gc")(guarded(gc))
app.command("policies")(guarded(policies))
app.add_typer(memory, name="memory")
app.command("replay")(guarded(replay))
