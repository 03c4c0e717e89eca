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
from redraft.cli.asking import approver_for, ask_person, decide_now, pattern_of
from redraft.cli.exits import ExitCode, exit_code, explain, signals_end_cleanly
from redraft.cli.progress import Progress
from redraft.cli.report import as_json, summary
from redraft.cli.scheduled import chosen_of, memory_of, summarizer_of
from redraft.cli.texts import read_file, read_task, write_out
from redraft.cost import NoPrice
from redraft.dialects.fenced import Fenced
from redraft.errors import ModelAuthError, SettingsError
from redraft.events import Event
from redraft.models import Model, OpenAIModel
from redraft.sandbox import Sandbox, SandboxKind, make_sandbox
from redraft.session import Approval, Approver, Rejection, ToolCall
from redraft.session.pricing import Pricing
from redraft.session.summarizers import Summarizer
from redraft.session.terms import recorded_terms
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
        incognito: whether nothing of the run is kept.
        resumed: the name of the run to take up again; None for a new one.
        policy, policy_options: who decides beside the model, and its options, `NAME=VALUE` each.
        summarizer: who writes its summaries; None for what it was, and for the run's own model.
        memory: the file of its memory; None for what it was, and for none.
        json: whether standard output gets JSON.
        quiet: whether standard error stays empty but for errors.
        ask: which commands a person must approve, as a regular expression; None for what it was, and for
            none.
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
    incognito: bool = False
    resumed: str | None = None
    policy: str | None = None
    policy_options: tuple[str, ...] = ()
    summarizer: str | None = None
    memory: Path | None = None
    ask: str | None = None


_CODES = {RunStatus.FINISHED: ExitCode.FINISHED, RunStatus.WAITING: ExitCode.WAITING}


def carry_out(job: Job) -> ExitCode:
    """Run the agent; shows progress, writes the answer or the JSON object, reports what went wrong."""
    run = _Run(job)
    error: BaseException | None = None
    try:
        with signals_end_cleanly():
            run.go()
        code = _CODES.get(run.result.status, ExitCode.STOPPED)
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
        pattern_of(job.ask or "")
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
        chosen = chosen_of(job.policy, job.policy_options, job.overrides.get("interface"))
        task = read_task(job.task, sys.stdin.buffer)
        system = read_file(job.system_file, "the system prompt") if job.system_file else None
        place = Place(
            str((job.workdir or Path()).absolute()), settings.sandbox, job.container, job.network
        )
        model = stack.enter_context(_model(job, job.model, job.base_url))
        given: dict[str, Any] = {
            "task": task,
            "system": system,
            "interface": chosen.interface,
            "policy": chosen.policy,
            "policy_options": chosen.options,
            "summarizer": self._summarizer(stack, job.summarizer, job.base_url),
            "memory": memory_of(job.memory),
        }
        sandbox_of = self._sandbox_maker(place, settings)
        if job.incognito:
            home = runs_home()
            sandbox = stack.enter_context(sandbox_of(None, *([home] if home.is_dir() else [])))
            agent = self._made(stack, model, sandbox, incognito=True, **given)
            self._agent = stack.enter_context(agent)
            self._introduce(agent, place)
            return
        # A run is kept only once it can begin: a mistake in an option leaves nothing behind.
        with TemporaryDirectory(prefix="redraft-") as trial:
            sandbox_of(Path(trial)).close()
        directory = new_run()
        self._name = directory.name
        try:
            dialect = Fenced() if settings.tool_calls == "fenced" else None
            journal = stack.enter_context(SQLiteJournal(directory, dialect=dialect))
            journal.set_meta(place=asdict(place), base_url=job.base_url, key_name=job.key_name)
            if job.ask is not None:
                journal.set_meta(ask=job.ask)
            sandbox = stack.enter_context(sandbox_of(_context_place(directory), runs_home()))
            given |= {"journal": journal, "path": directory / CONTEXT}
            agent = self._made(stack, model, sandbox, **given)
        except BaseException:
            stack.close()
            shutil.rmtree(directory, ignore_errors=True)
            self._name = ""
            raise
        self._agent = stack.enter_context(agent)
        self._introduce(agent, place)

    def _made(self, stack: ExitStack, model: Model, sandbox: Sandbox, **given: Any) -> Agent:
        """The agent of a new run, under the eyes of whoever sits there."""
        job, settings = self._job, self._settings
        progress = stack.enter_context(Progress(self._console, settings.max_steps))
        return Agent(
            model,
            sandbox,
            settings=settings,
            approver=self._approver(job.ask, progress),
            on_event=self._watch(stack, progress, settings.telemetry, job.model, job.base_url),
            **given,
        )

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
        if job.ask is not None:
            journal.set_meta(ask=job.ask)
        ask = job.ask if job.ask is not None else meta.get("ask")
        old, terms = Settings.load(job.settings_file, os.environ), recorded_terms(journal)
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
            summarizer=self._summarizer(stack, job.summarizer or terms.summarizer, url),
            memory=memory_of(job.memory),
            approver=self._approver(ask, progress),
            on_event=self._watch(
                stack,
                progress,
                job.overrides.get("telemetry") or terms.settings.telemetry,
                terms.model,
                url,
            ),
            path=directory / CONTEXT,
        )
        self._agent = stack.enter_context(agent)
        self._settings = agent.session.settings
        # Only from here on can it be said that it goes on: what ended before is said by its error.
        self._name = directory.name
        if self._person:
            with progress.paused() as console:
                decide_now(agent.session, console)
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

        def make(context: Path | None, *hidden: Path) -> Sandbox:
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

    def _summarizer(self, stack: ExitStack, name: str | None, url: str | None) -> Summarizer | str:
        def client(other: str) -> Model:
            return stack.enter_context(_model(self._job, other, url))

        return summarizer_of(name, client)

    @property
    def _person(self) -> bool:
        """Whether somebody sits at a terminal who can be asked."""
        typed = self._job.task == "-"
        return sys.stdin.isatty() and self._console.is_terminal and not (typed or self._job.quiet)

    def _approver(self, ask: str | None, progress: Progress) -> Approver | None:
        if not ask:
            return None
        pattern = pattern_of(ask)
        if not self._person:
            if self._job.incognito:
                raise SettingsError(
                    "--ask needs a terminal in an incognito run: a call that waits could never be made, "
                    "since the run is not kept; leave out one of the two."
                )
            return approver_for(pattern, None)

        def person(call: ToolCall) -> Approval | Rejection | None:
            with progress.paused() as console:
                return ask_person(console, call)

        return approver_for(pattern, person)

    def _watch(
        self, stack: ExitStack, progress: Progress, how: str, model: str, base_url: str | None
    ) -> Callable[[Event], None]:
        """Who is told of every event."""
        if how == "off":
            return progress.see
        from redraft.cli.telemetry import watched  # costs nothing where it is off

        watching = watched(model=model, base_url=base_url, run=self._name, then=progress.see)
        return stack.enter_context(watching)

    def _introduce(self, agent: Agent, place: Place) -> None:
        session = agent.session
        kept = f"kept as {self._name}" if self._name else "incognito: nothing of it is kept"
        self._say(
            f"{session.model}: a context of {session.limit:,} tokens, at most "
            f"{self._settings.max_steps:,} steps; {kept}"
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
        if result.status is RunStatus.WAITING:
            return f"Decide with: redraft approve {self._name}   Then go on with: {again}"
        if result.status is RunStatus.STOPPED and result.metrics.steps >= most:
            return f"Its steps are spent. Go on with: {again} --max-steps {2 * most}"
        return f"Go on with: {again}"

    def _cost(self, result: RunResult) -> RunCost:
        """What the model calls cost. Prices are looked up only where the server counted anything: that
        takes half a second."""
        if self._agent is None or not any(call.prompt for call in result.calls):
            return result.cost()
        session = self._agent.session
        dialect, prices = session.live.dialect, session.settings.price_file
        try:
            pricing = Pricing(session.model, dialect, prices)
        except SettingsError as error:  # the file is gone; the answer must come out all the same
            return result.cost(NoPrice(str(error)))
        return result.cost(pricing.card, lambda name: Pricing(name, dialect, prices).card)


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
