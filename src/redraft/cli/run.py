"""`redraft run`: a task, a real model, a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redraft.cli.job import DEFAULT_KEY, Job, carry_out
from redraft.cli.scheduled import (
    MemoryFile,
    PolicyName,
    PolicyOptions,
    SummarizerName,
)

__all__ = ["run"]


def _option(text: str, metavar: str, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, help=text, metavar=metavar, show_default=False
    )
    return option


Task = Annotated[
    str,
    typer.Argument(
        help="What to do, in words. `-` reads it from standard input, `@FILE` from a file.",
        metavar="TASK",
    ),
]
Model = Annotated[
    str, _option("The model, by the name that its server knows.", "NAME", "--model", "-m")
]
BaseUrl = Annotated[
    str | None,
    _option(
        "An OpenAI-compatible server, e.g. http://localhost:8000/v1. Default: OPENAI_BASE_URL, or "
        "OpenAI.",
        "URL",
    ),
]
KeyName = Annotated[
    str,
    _option(
        "The environment variable that holds the key. Default: OPENAI_API_KEY.",
        "NAME",
        "--api-key-env",
    ),
]
Budget = Annotated[
    int | None,
    _option("Tokens that a prompt may take. Default: the model's window.", "TOKENS"),
]
Window = Annotated[
    int | None,
    _option("The model's window, where its name does not tell it.", "TOKENS"),
]
Gate = Annotated[
    str | None,
    _option(
        "What the model's edits must do: `fit` the limit (default), `shrink` the context, or "
        "`conserve`: free more than they cost.",
        "GATE",
    ),
]
Interface = Annotated[
    str | None,
    _option(
        "How the model edits its context: through the `file` (default), the `tool` edit_context, `both`; "
        "by the `context-tools`, offered when its context fills, on top of an automatic pass; or `all`.",
        "HOW",
    ),
]
ToolCalls = Annotated[
    str | None,
    _option(
        "How the model calls tools: `native` (default), by the server's function calling, or `fenced`, as "
        "text, for models and servers without it.",
        "HOW",
        "--tool-calls",
    ),
]
Workdir = Annotated[
    Path, _option("Where commands start. Default: this directory.", "DIR", "--workdir", "-C")
]
MaxSteps = Annotated[
    int | None,
    _option("Steps; a round that only edits the context costs none. Default: 200.", "N"),
]
Steer = Annotated[
    str | None,
    _option(
        "A sentence of strategy for the model, e.g. 'Compact past 16,000 tokens.' or 'Edit only at "
        "the end of a sub-task.'",
        "TEXT",
    ),
]
Timeout = Annotated[
    float | None,
    _option(
        "Seconds that a command may run unless the model asks for other. Default: 120.", "SECONDS"
    ),
]
RequestTimeout = Annotated[
    float,
    _option(
        "Seconds without a byte from the server before a try is given up. Default: 600.",
        "SECONDS",
        "--request-timeout",
    ),
]
Retries = Annotated[
    int,
    _option(
        "Further tries of a request that the server or the network failed. Default: 4.",
        "N",
        "--retries",
    ),
]
SystemFile = Annotated[
    Path | None,
    _option("A system prompt of your own, in place of ours.", "FILE", "--system"),
]
SettingsFile = Annotated[
    Path | None,
    _option("A TOML file with a table [redraft]; options win over it.", "FILE", "--settings"),
]
SandboxName = Annotated[
    str | None,
    _option(
        "Where commands run: contained by `bubblewrap` (default), `local` with your rights, or in a "
        "`container`.",
        "KIND",
        "--sandbox",
    ),
]
Container = Annotated[
    str,
    _option(
        "The command that leads into a container, e.g. 'docker exec -i box bash'; with --sandbox "
        "container.",
        "COMMAND",
        "--container",
    ),
]
Network = Annotated[bool, typer.Option("--network", help="Let contained commands use the network.")]
Incognito = Annotated[
    bool,
    typer.Option(
        "--incognito",
        help="Keep nothing: no run to resume or look into, no context file, no originals. The interface is "
        "then `context-tools`, or `tool`.",
    ),
]
Ask = Annotated[
    str | None,
    _option(
        "Do not run a command that this regular expression is found in before you approve it: at once on a "
        "terminal, else with `redraft approve`.",
        "REGEX",
        "--ask",
    ),
]
Telemetry = Annotated[
    bool,
    typer.Option(
        "--telemetry", help="Send spans and metrics to OpenTelemetry; needs the extra `otel`."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object: answer, status, figures, receipts.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress on standard error, only errors.")
]


def run(
    task: Task,
    *,
    model: Model,
    base_url: BaseUrl = None,
    key_name: KeyName = DEFAULT_KEY,
    budget: Budget = None,
    window: Window = None,
    gate: Gate = None,
    interface: Interface = None,
    policy: PolicyName = None,
    policy_options: PolicyOptions = None,
    summarizer: SummarizerName = None,
    memory: MemoryFile = None,
    tool_calls: ToolCalls = None,
    workdir: Workdir = Path(),
    max_steps: MaxSteps = None,
    steer: Steer = None,
    timeout: Timeout = None,
    sandbox: SandboxName = None,
    container: Container = "",
    network: Network = False,
    incognito: Incognito = False,
    request_timeout: RequestTimeout = 600.0,
    retries: Retries = 4,
    system_file: SystemFile = None,
    settings_file: SettingsFile = None,
    ask: Ask = None,
    telemetry: Telemetry = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Give a model a task and a shell.

    It manages its own context while it works. Its answer goes to standard output, progress to
    standard error. Commands are contained: they can change the work directory and nothing else, and
    have no network (--network). With --sandbox local they run with your rights: they can read, change
    and delete what you can. The run is kept, and can be resumed and looked into (`redraft ls`).

    \b
    Examples:
      redraft run "Which test is slowest, and why?" --model gpt-5 --budget 32000
      redraft run @task.md --model qwen3-coder --base-url http://localhost:8000/v1 --window 65536
      redraft run @task.md --model qwen3-coder --policy threshold-summary --policy-option trigger=0.8
      git diff | redraft run - --model gpt-5 --steer "Edit only at the end of a sub-task." --json

    The key is taken from OPENAI_API_KEY; many servers of your own need none. Every setting can also
    come from the environment, such as REDRAFT_OUTPUT_RESERVE=4096, or from a file.
    """
    job = Job(
        task=task,
        model=model,
        base_url=base_url,
        key_name=key_name,
        workdir=workdir,
        settings_file=settings_file,
        overrides={
            "budget": budget,
            "window": window,
            "gate": gate,
            "interface": interface,
            "tool_calls": tool_calls,
            "max_steps": max_steps,
            "steer": steer,
            "command_timeout": timeout,
            "sandbox": sandbox,
            "telemetry": "otel" if telemetry else None,
        },
        system_file=system_file,
        request_timeout=request_timeout,
        retries=retries,
        json=as_json,
        quiet=quiet,
        ask=ask,
        container=container,
        network=network,
        incognito=incognito,
        policy=policy,
        policy_options=tuple(policy_options or ()),
        summarizer=summarizer,
        memory=memory,
    )
    raise typer.Exit(carry_out(job))
