"""What a replay found, as values that can be written as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redraft.cost import Money, NoPrice, Totals
from redraft.replay.cache_reads import Audit

__all__ = ["CAVEAT", "CacheResult", "PolicyResult", "Replay"]

CAVEAT = (
    "This prices a fixed transcript. With another context the model would have answered otherwise, "
    "and might have failed or needed more calls: nothing here says whether the task would have been "
    "solved."
)
"""What every report of a replay says."""


@dataclass(frozen=True, slots=True)
class CacheResult:
    """What a run costs under one model of a cache.

    Attributes:
        name: the cache model.
        totals: tokens read, written, fresh, and the breaks by cause.
        flops: prefix-reuse compute of all calls.
        money: what it costs, or why that is not known; None for caches that no provider bills by.
    """

    name: str
    totals: Totals
    flops: float
    money: Money | NoPrice | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values; money is null where it is not known, with the reason beside it."""
        return {
            "cache": self.name,
            **self.totals.as_dict(),
            "flops": self.flops,
            **_priced("money", self.money),
        }


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What became of a recording under one policy.

    Attributes:
        policy: its name.
        calls: model calls.
        over: those whose request was over the limit.
        peak: tokens of the largest request.
        prompt, output: tokens of all requests, and of all answers.
        applied, refused: revisions that passed the door, and that did not.
        summaries: summaries that it asked for; stand-ins took their place.
        summary_prompt, summary_output: tokens that a model would have read and written for them.
        caches: its cost under each model of a cache.
    """

    policy: str
    calls: int
    over: int
    peak: int
    prompt: int
    output: int
    applied: int
    refused: int
    summaries: int
    summary_prompt: int
    summary_output: int
    caches: tuple[CacheResult, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "policy": self.policy,
            "calls": self.calls,
            "over_limit": self.over,
            "peak": self.peak,
            "prompt": self.prompt,
            "output": self.output,
            "applied": self.applied,
            "refused": self.refused,
            "summaries": self.summaries,
            "summary_prompt": self.summary_prompt,
            "summary_output": self.summary_output,
            "caches": [cache.as_dict() for cache in self.caches],
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """Everything that a replay of one recording found.

    Attributes:
        path, format, model: of the recording.
        threads, calls: how many of them it has.
        limit: tokens that a request may have, as the server counts them.
        ratio: the server's tokens for one of ours.
        unseen: tokens of system prompt and tools that are not recorded, by kind of thread.
        geometry: the model whose shape the FLOPs are reckoned with.
        stand_in: whether that is another model than the one that answered.
        runs: one a policy.
        audit: predicted against reported cache reads; None where none were reported.
        billed: what the reported usage costs at the prices that were used here, or why that is not
            known; None where no usage was reported.
        recorded_usd: what the recorder itself reckoned, summed; None where it did not.
        notes: what the reader should know.
    """

    path: str
    format: str
    model: str
    threads: int
    calls: int
    limit: int
    ratio: float
    unseen: dict[str, int]
    geometry: str
    stand_in: bool
    runs: tuple[PolicyResult, ...]
    audit: Audit | None
    billed: Money | NoPrice | None = None
    recorded_usd: float | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values: what `--json` prints."""
        return {
            "path": self.path,
            "format": self.format,
            "model": self.model,
            "threads": self.threads,
            "calls": self.calls,
            "limit": self.limit,
            "tokens_per_ours": self.ratio,
            "unseen_frame": dict(self.unseen),
            "flops_of": self.geometry,
            "flops_stand_in": self.stand_in,
            "policies": [run.as_dict() for run in self.runs],
            "cache_reads": self.audit.as_dict() if self.audit else None,
            **_priced("reported_usage", self.billed),
            "recorded_usd": self.recorded_usd,
            "notes": list(self.notes),
            "caveat": CAVEAT,
        }


def _priced(name: str, money: Money | NoPrice | None) -> dict[str, Any]:
    """An amount under its name; null where there is none, with the reason beside it if there is one."""
    if isinstance(money, NoPrice):
        return {name: None, f"no_{name}": money.reason}
    return {name: money.as_dict() if money is not None else None}
