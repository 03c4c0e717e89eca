"""One run from its options to its exit code; the command itself only reads the options."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from redraft.agent import Agent, RunResult, RunStatus
from redraft.cli.exits import ExitCode, exit_code, explain, signals_end_cleanly
from redraft.cli.progress import Progress
from redraft.cli.report import as_json, summary
from redraft.cli.texts import read_file, read_task, write_out
from redraft.errors import ModelAuthError
from redraft.models import OpenAIModel
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings

__all__ = ["DEFAULT_KEY", "Job", "carry_out"]

DEFAULT_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Job:
    """What the command line asks for.

    Attributes:
        task: as it stands there; `-` and `@FILE` are read later.
        model: the model's name.
        base_url: the server, or None for the environment's or OpenAI.
        key_name: the environment variable that holds the key.
        workdir: where commands start.
        settings_file: a TOML file of settings, or None.
        overrides: settings by name; None where the option was not given.
        system_file: a system prompt of the user's own, or None.
        request_timeout: seconds without a byte from the server.
        retries: further tries of a failed request.
        json: whether standard output gets JSON.
        quiet: whether standard error stays empty but for errors.
    """

    task: str
    model: str
    base_url: str | None
    key_name: str
    workdir: Path
    settings_file: Path | None
    overrides: Mapping[str, Any]
    system_file: Path | None
    request_timeout: float
    retries: int
    json: bool
    quiet: bool


def carry_out(job: Job) -> ExitCode:
    """Run the agent; shows progress, writes the answer or the JSON object, reports what went wrong."""
    run = _Run(job)
    error: BaseException | None = None
    try:
        with signals_end_cleanly():
            run.go()
        code = ExitCode.FINISHED if run.result.status is RunStatus.FINISHED else ExitCode.STOPPED
    # Everything ends here: the partial result must come out whatever ended the run.
    except BaseException as ended:
        error, code = ended, exit_code(ended)
    try:
        run.report(code, error)
    except OSError as unwritable:  # e.g. the disk that standard output leads to is full
        return explain(unwritable)
    return code


class _Run:
    """A job in progress."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._agent: Agent | None = None
        self._settings = Settings()
        self._console = Console(stderr=True, quiet=job.quiet, highlight=False, emoji=False)

    @property
    def result(self) -> RunResult:
        """How the run stands, also where it came to none."""
        return self._agent.result if self._agent is not None else RunResult()

    def go(self) -> None:
        """Make what the run needs, the cheap things first, and run."""
        job = self._job
        settings = self._settings = _settings(job)
        task = read_task(job.task, sys.stdin.buffer)
        system = read_file(job.system_file, "the system prompt") if job.system_file else None
        # A key in a variable whose name does not look like one would reach the commands.
        hidden = {job.key_name: ""} if job.key_name in os.environ else {}
        with (
            LocalSandbox(
                job.workdir,
                env=hidden,
                timeout=settings.command_timeout,
                output_cap=settings.output_cap,
            ) as sandbox,
            _model(job) as model,
            Progress(self._console, settings.max_steps) as progress,
            Agent(
                model,
                sandbox,
                task=task,
                system=system,
                settings=settings,
                on_event=progress.see,
            ) as agent,
        ):
            self._agent = agent
            self._introduce(agent, sandbox.workdir)
            agent.run()

    def _introduce(self, agent: Agent, workdir: Path) -> None:
        job, session = self._job, agent.session
        self._say(
            f"{job.model}: a context of {session.limit:,} tokens, at most "
            f"{self._settings.max_steps:,} steps"
        )
        self._say(
            f"Commands run in {workdir} with your rights: they can do what you can do. Ctrl-C stops.",
            "yellow",
        )

    def _say(self, text: str, style: str = "") -> None:
        # The style belongs to the text: given to `print`, it would colour the bar below as well.
        self._console.print(Text(text, style), soft_wrap=True)

    def report(self, code: ExitCode, error: BaseException | None) -> None:
        """Say how it ended: figures and errors on standard error, the result on standard output."""
        result = self.result
        if self._agent is not None:
            for line in summary(result, self._settings.max_steps):
                self._say(line)
        elif error is not None:
            status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
            result = replace(result, status=status, why=str(error))
        if error is not None:
            explain(error)
        if self._job.json:
            write_out(as_json(result, model=self._job.model, code=code, error=error))
        elif result.answer:
            write_out(result.answer)


def _settings(job: Job) -> Settings:
    given = {name: value for name, value in job.overrides.items() if value is not None}
    return replace(Settings.load(job.settings_file, os.environ), **given)


def _model(job: Job) -> OpenAIModel:
    key = os.environ.get(job.key_name, "").strip()
    if job.key_name != DEFAULT_KEY and not key:
        raise ModelAuthError(
            f"{job.key_name} is empty or not set. Set it to the key, or leave out --api-key-env to use "
            f"{DEFAULT_KEY}."
        )
    return OpenAIModel(
        job.model,
        base_url=job.base_url,
        api_key=key or None,
        timeout=job.request_timeout,
        max_retries=job.retries,
    )
