"""The options of a run that say who decides beside the model: read, and made into what an agent takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from redraft.errors import SettingsError
from redraft.models import Model
from redraft.policies import described, made, offered
from redraft.session.schedule import INTERFACES
from redraft.session.summarizers import EXTRACTIVE, OWN, ModelSummarizer, Summarizer
from redraft.session.terms import FILE_INTERFACES
from redraft.store.memory import SQLiteMemory

__all__ = [
    "Chosen",
    "MemoryFile",
    "PolicyName",
    "PolicyOptions",
    "SummarizerName",
    "chosen_of",
    "memory_of",
    "summarizer_of",
]

PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="Who decides when and how the context changes; `redraft policies` lists them. Default: the "
        "model, by --interface.",
        show_default=False,
    ),
]
PolicyOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--policy-option",
        metavar="K=V",
        help="An option of the policy, e.g. trigger=0.8; may be repeated. `redraft policies NAME` "
        "lists them.",
        show_default=False,
    ),
]
SummarizerName = Annotated[
    str | None,
    typer.Option(
        "--summarizer",
        metavar="WHO",
        help="Who writes a policy's summaries: the run's `own` model (default), `extractive`, the built-in "
        "one, which asks nobody, or another model of the same server, by its name.",
        show_default=False,
    ),
]
MemoryFile = Annotated[
    Path | None,
    typer.Option(
        "--memory",
        metavar="FILE",
        help="What a policy looks things up in; made where it is missing. See `redraft memory`.",
        show_default=False,
    ),
]


_WITH = {"file": FILE_INTERFACES, "context-tools": ("context-tools", "all")}
"""The interfaces that hold the one by which a policy of the model's works."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who decides.

    Attributes:
        policy: the policy's name; None where nothing was said.
        options: its options, as they were typed.
        interface: by what means the model edits; None for what the settings say.
    """

    policy: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    interface: str | None = None


def chosen_of(policy: str | None, typed: Sequence[str], interface: str | None) -> Chosen:
    """What the options of a run come to.

    Where the harness decides alone, the model has no means to edit unless one is named: otherwise a run
    would show what both do together.

    Args:
        policy: the name that was given.
        typed: its options, `NAME=VALUE` each.
        interface: the interface that was named.

    Raises:
        SettingsError: there is no such policy or option, an option is out of its range, or the interface is
            another one than the policy is.
    """
    options = dict(map(_pair, typed))
    if policy is None:
        if options:
            raise SettingsError("--policy-option goes with --policy; name the policy.")
        return Chosen(interface=interface)
    one = described(policy)
    if one.scheduled:
        made(policy, options)
        alone = one.decides in ("nobody", "harness")
        return Chosen(policy, options, interface or ("none" if alone else None))
    offered(policy, options)
    means = INTERFACES[policy]
    if interface and interface not in _WITH.get(means, (interface,)):
        raise SettingsError(
            f"--policy {policy} is --interface {means}, which {interface} lacks; leave one of the two out."
        )
    return Chosen(policy, options, interface or means)


def memory_of(file: Path | None) -> Path | None:
    """A memory's file, once it is known to be one: a run should not find out on its way.

    Args:
        file: as it was given; one that is missing is made by the run.

    Raises:
        MemoryStoreError: there is something, and it is no memory that can be used.
    """
    if file is not None and file.exists():
        with SQLiteMemory(file) as memory:
            memory.state("none")  # whichever: what is no memory cannot be read
    return file


def summarizer_of(name: str | None, client: Callable[[str], Model]) -> Summarizer | str:
    """A summarizer by its name.

    Args:
        name: `own`, `extractive`, or a model's name; None or "" for the first.
        client: makes the client of a model.
    """
    if name in (None, "", OWN, EXTRACTIVE):
        return name or OWN
    assert name is not None
    return ModelSummarizer(client(name))


def _pair(typed: str) -> tuple[str, str]:
    name, equals, value = typed.partition("=")
    if not (name.strip() and equals):
        raise SettingsError(
            f"--policy-option {typed!r} is no NAME=VALUE; write it like trigger=0.8 "
            "(`redraft policies NAME` lists the options)."
        )
    return name.strip(), value.strip()
