"""`redraft resume`: a run goes on where it ended, was stopped, or was killed."""

from __future__ import annotations

from typing import Annotated

import typer

from redraft.cli.job import DEFAULT_KEY, Job, carry_out
from redraft.cli.kept import RunName
from redraft.cli.run import (
    AsJson,
    BaseUrl,
    Budget,
    Container,
    KeyName,
    MaxSteps,
    Network,
    Quiet,
    RequestTimeout,
    Retries,
    SandboxName,
    Window,
)

__all__ = ["resume"]


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
    key_name: KeyName = DEFAULT_KEY,
    budget: Budget = None,
    window: Window = None,
    max_steps: MaxSteps = None,
    sandbox: SandboxName = None,
    container: Container = "",
    network: Network = False,
    request_timeout: RequestTimeout = 600.0,
    retries: Retries = 4,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Take up a run where it ended: the same context, the same bytes, the same place.

    Works after Ctrl-C, a crash, a full disk or a reboot. A call whose result never came gets one that
    says so. A run that has its answer needs --say to go on.

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
        key_name=key_name,
        workdir=None,
        settings_file=None,
        overrides={
            "budget": budget,
            "window": window,
            "max_steps": max_steps,
            "sandbox": sandbox,
        },
        system_file=None,
        request_timeout=request_timeout,
        retries=retries,
        json=as_json,
        quiet=quiet,
        container=container,
        network=network,
        resumed=name,
    )
    raise typer.Exit(carry_out(job))
