"""`redraft resume`: a run goes on where it ended, was stopped, or was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redraft.cli.job import DEFAULT_KEY, Job, carry_out
from redraft.cli.kept import RunName
from redraft.cli.run import AsJson, Container, Network, Quiet, RequestTimeout, Retries
from redraft.errors import RedraftError
from redraft.store import find_run, run_info

__all__ = ["resume"]


def _option(text: str, metavar: str, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, help=f"{text} Default: as it was.", metavar=metavar, show_default=False
    )
    return option


BaseUrl = Annotated[str | None, _option("The server, where it has another address.", "URL")]
KeyName = Annotated[
    str | None, _option("The environment variable that holds the key.", "NAME", "--api-key-env")
]
Budget = Annotated[int | None, _option("Tokens that a prompt may take.", "TOKENS")]
Window = Annotated[int | None, _option("The model's window.", "TOKENS")]
MaxSteps = Annotated[
    int | None, _option("Steps of the whole run, those that it has taken included.", "N")
]
Workdir = Annotated[Path | None, _option("Where commands start.", "DIR", "--workdir", "-C")]
SandboxName = Annotated[
    str | None,
    _option("Where commands run: `bubblewrap`, `local`, or `container`.", "KIND", "--sandbox"),
]


def resume(
    name: RunName,
    *,
    say: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="Words of yours for the model; `-` and `@FILE` as for a task."
        ),
    ] = "",
    base_url: BaseUrl = None,
    key_name: KeyName = None,
    budget: Budget = None,
    window: Window = None,
    workdir: Workdir = None,
    max_steps: MaxSteps = None,
    sandbox: SandboxName = None,
    container: Container = "",
    network: Network = False,
    request_timeout: RequestTimeout = 600.0,
    retries: Retries = 4,
    ask: Annotated[
        str | None, _option("Which commands must be approved; see `redraft run`.", "REGEX", "--ask")
    ] = None,
    telemetry: Annotated[
        bool | None,
        typer.Option(
            "--telemetry/--no-telemetry",
            help="Send spans and metrics to OpenTelemetry, or not. Default: as it was.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped, failed or was killed.

    It takes up the very context that was sent last, in the same place: after Ctrl-C, a crash, a full
    disk or a reboot. The model is told of a command that was cut off, and that its shell is a new one.
    A run out of steps needs a larger --max-steps, one that has its answer needs --say to go on.

    \b
    Examples:
      redraft resume last
      redraft resume brisk-otter --max-steps 400
      redraft resume last --say "Now write the tests for it."
    """
    job = Job(
        task=say,
        model="",
        base_url=base_url,
        key_name=key_name or _key_name(name),
        workdir=workdir,
        settings_file=None,
        overrides={
            "budget": budget,
            "window": window,
            "max_steps": max_steps,
            "sandbox": sandbox,
            "telemetry": None if telemetry is None else "otel" if telemetry else "off",
        },
        system_file=None,
        request_timeout=request_timeout,
        retries=retries,
        json=as_json,
        quiet=quiet,
        ask=ask,
        container=container,
        network=network,
        resumed=name,
    )
    raise typer.Exit(carry_out(job))


def _key_name(name: str) -> str:
    """The variable that held the key when the run began. Whatever is wrong with the run is said when it
    is taken up."""
    try:
        return str(run_info(find_run(name)).meta.get("key_name", DEFAULT_KEY))
    except RedraftError:
        return DEFAULT_KEY
