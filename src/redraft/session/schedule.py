"""Which policy a session has, who summarizes for it and where its memory is: as a client gives it, as a
record can hold it, and out of the record again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from redraft.errors import SettingsError
from redraft.policies import Policy, described, made, offered
from redraft.policies.options import options_of
from redraft.session.summarizers import EXTRACTIVE, OWN, Summarizer, named
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Memory

if TYPE_CHECKING:
    from redraft.session.terms import Terms

__all__ = ["INTERFACES", "Schedule"]

INTERFACES: Mapping[str, str] = MappingProxyType(
    {
        "context-file": "file",
        "context-tools": "context-tools",
        "fold": "none",
        "offload-and-retrieve": "none",
        "self-compact": "none",
    }
)
"""The interface that goes with a policy by which the model decides. One that brings tools of its own needs
no other."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who decides beside the model, and with what.

    Attributes:
        policy: the scheduled policy; None for none.
        summarizer: who writes summaries; None for the built-in one.
        memory: where things are looked up; None for nowhere.
        clock: seconds since the epoch.
        values: the same as plain values, for a record: `policy`, `policy_options`, `summarizer` and
            `memory` of `Terms`.
        owned: the memory, where the session opened it and must close it.
    """

    policy: Policy | None = None
    summarizer: Summarizer | None = None
    memory: Memory | None = None
    clock: Callable[[], float] = time.time
    values: Mapping[str, Any] = field(default_factory=dict)
    owned: SQLiteMemory | None = None

    @classmethod
    def of(
        cls,
        policy: Policy | str | None = None,
        options: Mapping[str, str] | None = None,
        summarizer: Summarizer | str | None = None,
        memory: Memory | str | Path | None = None,
        clock: Callable[[], float] = time.time,
        *,
        old: Terms | None = None,
    ) -> Self:
        """From what a client gives.

        Args:
            policy: a policy, or a name of `redraft.policies.SPECTRUM`.
            options: options of a policy that is named, as somebody would type them.
            summarizer: who summarizes, or `extractive`, the built-in one.
            memory: a memory, or the file of one.
            clock: seconds since the epoch.
            old: what the session was set up with before; it holds where nothing is given.

        Raises:
            SettingsError: there is no such policy, option or summarizer, or the record cannot bring back
                the policy.
        """
        if options and not isinstance(policy, str):
            raise SettingsError(
                "policy_options go with a policy that is named; give policy='NAME'."
            )
        if old is not None:
            policy, options = _again(policy, options, old)
            memory = (old.memory or None) if memory is None else memory
        options = options or {}
        if isinstance(policy, str):
            name, policy = policy, _made(policy, options)
            written: Mapping[str, str] | None = dict(options)
        else:
            name, written = policy.name if policy else "", _written(policy)
        who = summarizer if isinstance(summarizer, str) else named(summarizer) if summarizer else ""
        if old is not None and not who:  # whose client is not given now may be given the next time
            who, summarizer = old.summarizer, EXTRACTIVE
        path = str(Path(memory).absolute()) if isinstance(memory, (str, Path)) else ""
        owned = SQLiteMemory(Path(path)) if path else None
        if name == "offload-and-retrieve" and memory is None:  # one that ends with the session
            memory = owned = SQLiteMemory(None)
        return cls(
            policy,
            _summarizer(summarizer) if isinstance(summarizer, str) else summarizer,
            owned if isinstance(memory, (str, Path)) else memory,
            clock,
            {"policy": name, "policy_options": written, "summarizer": who, "memory": path},
            owned,
        )

    @property
    def interface(self) -> str:
        """By what means the model edits its context under this policy, where nothing else is said: "" for
        whatever the settings say."""
        return INTERFACES.get(str(self.values.get("policy", "")), "")

    def close(self) -> None:
        """Close what the session opened."""
        if self.owned is not None:
            self.owned.close()


def _made(name: str, options: Mapping[str, str]) -> Policy | None:
    """The harness's policy of this name; None for none, and for one by which the model decides: those are
    tools (`redraft.session.actions`), and the options are only held to their ranges here."""
    if not name or described(name).scheduled:
        return made(name, options) if name else None
    offered(name, options)
    return None


def _again(
    policy: Policy | str | None, options: Mapping[str, str] | None, old: Terms
) -> tuple[Policy | str | None, Mapping[str, str] | None]:
    """The policy that a session goes on with: the one that is given, else the one that it had."""
    if policy is not None:
        return policy, options
    if old.policy and old.policy_options is None:
        raise SettingsError(
            f"this session ran under a policy of its own, {old.policy!r}, which a record cannot hold. Give "
            "it again as policy=..., or go on without it: policy='append-only'."
        )
    return old.policy, old.policy_options


def _written(policy: Policy | None) -> Mapping[str, str] | None:
    """A policy's options as a record can hold them; None for one that no options make."""
    if policy is None:
        return {}
    try:
        start = {option.name: option.default for option in options_of(made(policy.name))}
        wanted = {option.name: option.default for option in options_of(policy)}
        options = {name: value for name, value in wanted.items() if start.get(name) != value}
        return options if made(policy.name, options) == policy else None
    except SettingsError:
        return None


def _summarizer(name: str) -> Summarizer | None:
    """A summarizer by its name; None for the built-in one. One that is a model's needs that model's client,
    which no record holds: where `own` is not given as a client, the built-in one does it."""
    if name in ("", EXTRACTIVE, OWN):
        return None
    raise SettingsError(
        f"there is no summarizer {name!r} here; give {EXTRACTIVE!r}, or ModelSummarizer(client)."
    )
