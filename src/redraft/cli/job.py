"""One run from its options to its exit code; the command itself only reads the options."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.text import Text

from redraft.agent import Agent, RunCost, RunResult, RunStatus
from redraft.cli.exits import ExitCode, exit_code, explain, signals_end_cleanly
from redraft.cli.progress import Progress
from redraft.cli.report import as_json, summary
from redraft.cli.texts import read_file, read_task, write_out
from redraft.cost import NoPrice
from redraft.errors import ModelAuthError, SettingsError
from redraft.models import OpenAIModel
from redraft.sandbox import Sandbox, SandboxKind, make_sandbox
from redraft.session.pricing import Pricing
from redraft.settings import Settings
from redraft.store import SQLiteJournal, find_run, new_run, runs_home
from redraft.store.runs import CONTEXT, make_runs_home

__all__ = ["DEFAULT_KEY", "Job", "carry_out"]

DEFAULT_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Place:
    """Where a run's commands run; kept with the run, so that it is resumed in the same place.

    Attributes:
        workdir: the directory of the first command.
        kind: the sandbox.
        container: the command that leads into a container.
        network: whether commands may use the network, where the sandbox can refuse it.
    """

    workdir: str
    kind: SandboxKind = "bubblewrap"
    container: str = ""
    network: bool = False

    def words(self) -> str:
        """What commands can do there, for a person."""
        match self.kind:
            case "local":
                return (
                    f"Commands run in {self.workdir} with your rights: they can do what you can do."
                )
            case "container":
                return f"Commands run through `{self.container}`."
        net = "with" if self.network else "without"
        return f"Commands run in a sandbox: they can change {self.workdir} and nothing else, {net} network."


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
        container: the command that leads into a container, for the sandbox `container`.
        network: whether commands may use the network.
        resumed: the name of the run to take up again; None for a new one.
        json: whether standard output gets JSON.
        quiet: whether standard error stays empty but for errors.
    """

    task: str
    model: str
    base_url: str | None
    key_name: str
    workdir: Path | None
    settings_file: Path | None
    overrides: Mapping[str, Any]
    system_file: Path | None
    request_timeout: float
    retries: int
    json: bool
    quiet: bool
    container: str = ""
    network: bool = False
    resumed: str | None = None


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
        self._name = ""
        self._rounds = 0
        self._settings = Settings()
        self._console = Console(stderr=True, quiet=job.quiet, highlight=False, emoji=False)

    @property
    def result(self) -> RunResult:
        """How the run stands, also where it came to none."""
        return self._agent.result if self._agent is not None else RunResult()

    def go(self) -> None:
        """Make what the run needs, the cheap things first, and run."""
        job = self._job
        with ExitStack() as stack:
            if job.resumed is None:
                self._begin(stack)
            else:
                self._take_up(stack, job.resumed)
            assert self._agent is not None
            self._agent.run()

    def _begin(self, stack: ExitStack) -> None:
        job = self._job
        settings = self._settings = _settings(job)
        task = read_task(job.task, sys.stdin.buffer)
        system = read_file(job.system_file, "the system prompt") if job.system_file else None
        place = Place(
            str((job.workdir or Path()).absolute()), settings.sandbox, job.container, job.network
        )
        model = stack.enter_context(_model(job, job.model, job.base_url))
        sandbox_of = self._sandbox_maker(place, settings)
        # A run is kept only once it can begin: a mistake in an option leaves nothing behind.
        with TemporaryDirectory(prefix="redraft-") as trial:
            sandbox_of(Path(trial)).close()
        directory = new_run()
        self._name = directory.name
        try:
            journal = stack.enter_context(SQLiteJournal(directory))
            journal.set_meta(place=asdict(place), base_url=job.base_url, key_name=job.key_name)
            sandbox = stack.enter_context(sandbox_of(_context_place(directory), runs_home()))
            progress = stack.enter_context(Progress(self._console, settings.max_steps))
            agent = Agent(
                model,
                sandbox,
                task=task,
                system=system,
                settings=settings,
                on_event=progress.see,
                journal=journal,
                path=directory / CONTEXT,
            )
        except BaseException:
            stack.close()
            shutil.rmtree(directory, ignore_errors=True)
            self._name = ""
            raise
        self._agent = stack.enter_context(agent)
        self._introduce(agent, place)

    def _take_up(self, stack: ExitStack, name: str) -> None:
        job = self._job
        said = read_task(job.task, sys.stdin.buffer) if job.task else ""
        directory = find_run(name)
        journal = stack.enter_context(SQLiteJournal(directory))
        meta = journal.meta()
        known = Place(**meta["place"]) if "place" in meta else Place(str(Path.cwd()))
        place = replace(
            known,
            workdir=str(job.workdir.absolute()) if job.workdir else known.workdir,
            kind=job.overrides.get("sandbox") or known.kind,
            container=job.container or known.container,
            network=job.network or known.network,
        )
        url = job.base_url or meta.get("base_url")
        model = stack.enter_context(_model(job, job.model or str(meta.get("model", "")), url))
        old = Settings.load(job.settings_file, os.environ)
        sandbox_of = self._sandbox_maker(place, old)
        # A run that was named by its path may lie anywhere; what is to be hidden must be there.
        hidden = make_runs_home(), directory.absolute()
        sandbox = stack.enter_context(sandbox_of(_context_place(directory), *hidden))
        progress = stack.enter_context(Progress(self._console, old.max_steps))
        agent = Agent.resume(
            model,
            sandbox,
            journal,
            budget=job.overrides.get("budget"),
            window=job.overrides.get("window"),
            max_steps=job.overrides.get("max_steps"),
            on_event=progress.see,
            path=directory / CONTEXT,
        )
        self._agent = stack.enter_context(agent)
        self._settings = agent.session.settings
        # Only from here on can it be said that it goes on: what ended before is said by its error.
        taken = agent.result.metrics
        self._name, self._rounds = directory.name, taken.rounds
        progress.take_up(taken.steps, self._settings.max_steps)
        if said:
            agent.session.append({"role": "user", "content": said})
        self._introduce(agent, place)

    def _sandbox_maker(self, place: Place, settings: Settings) -> Callable[..., Sandbox]:
        """Makes the sandbox for a directory of the context file, and what commands must not see."""
        # A key in a variable whose name does not look like one would reach the commands.
        keyless = {self._job.key_name: ""} if self._job.key_name in os.environ else {}

        def make(context: Path, *hidden: Path) -> Sandbox:
            return make_sandbox(
                place.kind,
                Path(place.workdir),
                context_dir=context,
                network=place.network,
                hidden=hidden,
                command=place.container,
                env=keyless,
                timeout=settings.command_timeout,
                output_cap=settings.output_cap,
            )

        return make

    def _introduce(self, agent: Agent, place: Place) -> None:
        session = agent.session
        self._say(
            f"{session.model}: a context of {session.limit:,} tokens, at most "
            f"{self._settings.max_steps:,} steps; kept as {self._name}"
        )
        self._say(f"{place.words()} Ctrl-C stops.", "yellow")

    def _say(self, text: str, style: str = "") -> None:
        # The style belongs to the text: given to `print`, it would colour the bar below as well.
        self._console.print(Text(text, style), soft_wrap=True)

    def report(self, code: ExitCode, error: BaseException | None) -> None:
        """Say how it ended: figures and errors on standard error, the result on standard output."""
        result, cost = self.result, None
        if self._agent is not None:
            cost = self._cost(result)
            for line in summary(result, self._settings.max_steps, cost):
                self._say(line)
        elif error is not None:
            status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
            result = replace(result, status=status, why=str(error))
        if self._name and (hint := self._hint(result)):
            self._say(f"{hint}   (redraft log {self._name})")
        if error is not None:
            explain(error)
        if self._job.json:
            model = self._job.model or result.model
            write_out(as_json(result, model=model, code=code, error=error, cost=cost))
        elif result.answer:
            write_out(result.answer)

    def _hint(self, result: RunResult) -> str:
        """How to go on with a run that is not done, or that was done before it was taken up."""
        again, most = f"redraft resume {self._name}", self._settings.max_steps
        if result.status is RunStatus.FINISHED:
            if self._job.resumed is None or result.metrics.rounds > self._rounds:
                return ""
            return f'It had its answer already. Say more with: {again} --say "..."'
        if result.status is RunStatus.STOPPED and result.metrics.steps >= most:
            return f"Its steps are spent. Go on with: {again} --max-steps {2 * most}"
        return f"Go on with: {again}"

    def _cost(self, result: RunResult) -> RunCost:
        """What the model calls cost. Prices are looked up only where the server counted anything: that
        takes half a second."""
        if self._agent is None or not any(call.prompt for call in result.calls):
            return result.cost()
        session = self._agent.session
        try:
            pricing = Pricing(session.model, session.live.dialect, session.settings.price_file)
        except SettingsError as error:  # the file is gone; the answer must come out all the same
            return result.cost(NoPrice(str(error)))
        return result.cost(pricing.card)


def _settings(job: Job) -> Settings:
    given = {name: value for name, value in job.overrides.items() if value is not None}
    return replace(Settings.load(job.settings_file, os.environ), **given)


def _context_place(directory: Path) -> Path:
    """The directory of a run's context file, made so that a sandbox can show it."""
    place = directory / CONTEXT
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def _model(job: Job, name: str, base_url: str | None) -> OpenAIModel:
    key = os.environ.get(job.key_name, "").strip()
    if job.key_name != DEFAULT_KEY and not key:
        raise ModelAuthError(
            f"{job.key_name} is empty or not set. Set it to the key, or leave out --api-key-env to use "
            f"{DEFAULT_KEY}."
        )
    return OpenAIModel(
        name,
        base_url=base_url,
        api_key=key or None,
        timeout=job.request_timeout,
        max_retries=job.retries,
    )
