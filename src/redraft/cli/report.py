"""The end of a run, in words and as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from redraft.agent import Metrics, RunCost, RunResult, RunStatus

__all__ = ["as_json", "costs", "figures", "summary"]


def as_json(
    result: RunResult,
    *,
    model: str,
    code: int,
    error: BaseException | None = None,
    cost: RunCost | None = None,
) -> str:
    """A run as one JSON object on one line, in plain ASCII.

    Args:
        result: how it went, or how far it came.
        model: the model's name.
        code: the exit code.
        error: what ended it early.
        cost: what its model calls cost; by default without money.
    """
    cost = cost or result.cost()
    told = {"type": type(error).__name__, "message": str(error)} if error is not None else None
    values = {"model": model, **result.as_dict(), "cost": cost.as_dict()}
    return json.dumps({**values, "error": told, "exit_code": code})


def summary(result: RunResult, max_steps: int, cost: RunCost | None = None) -> list[str]:
    """A run in a few lines.

    Args:
        result: how it went, or how far it came.
        max_steps: steps that it might have taken.
        cost: what its model calls cost; by default without money.
    """
    m = result.metrics
    why = f", because {result.why}" if result.status is RunStatus.STOPPED and result.why else ""
    began = (
        f"{result.status}{why}: {_count(m.steps, 'step')} of {max_steps:,} in "
        f"{_count(m.rounds, 'model call')}, {_count(m.commands, 'command')}{_free(m)}"
    )
    return [began, *figures(m), *costs(cost or result.cost())]


def figures(m: Metrics) -> list[str]:
    """What became of the context in a run, and how many tokens that took, in a few lines."""
    lines = [
        f"context: {_peak(m)}; {', '.join(_changes(m))}",
        f"tokens: {m.sent_tokens:,} sent, {m.read_tokens:,} of them not in the prefix of the request "
        f"before, {m.reread_tokens:,} of these read a second time after edits",
    ]
    if m.prompt_tokens:
        lines.append(
            f"the server counted {m.prompt_tokens:,} in ({m.cached_tokens:,} from its cache) and "
            f"{m.output_tokens:,} out"
        )
    if m.rotations or m.unmet or m.outside_tokens:
        lines.append(_policies(m))
    used = {name: count for name, count in m.harness["context_ops"].items() if count}
    if used:
        freed = used.pop("tokens_freed", 0)
        counts = ", ".join(f"{name} {count:,}" for name, count in used.items())
        lines.append(f"context tools: {counts}; {freed:,} tokens freed")
    return lines


def costs(cost: RunCost) -> list[str]:
    """What a run's model calls cost, in a few lines; none where nothing of it is known."""
    lines = []
    if cost.flops:
        lines.append(
            f"compute: {cost.flops:.3g} FLOPs by the shape of {cost.geometry}, every prefix reused"
        )
    if cost.money is not None:
        money = cost.money
        lines.append(
            f"money: {_dollars(money.usd)} by the server's count, at the prices of {money.model} in "
            f"{money.source} {money.version}"
        )
    notes = [*(cost.money.notes if cost.money else ()), *cost.notes]
    return lines + ([f"  ({'; '.join(notes)})"] if lines and notes else [])


def _dollars(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def _free(m: Metrics) -> str:
    return f", {_count(m.free_rounds, 'free round')}" if m.free_rounds else ""


def _peak(m: Metrics) -> str:
    median = f", median {m.median_tokens:,}" if m.median_tokens else ""
    if m.peak_tokens <= m.limit:
        return f"peak {m.peak_tokens:,} of {m.limit:,} tokens{median}"
    # A server that refuses requests brings the limit down to what it takes.
    return f"peak {m.peak_tokens:,} tokens{median}; the limit came down to {m.limit:,}"


def _changes(m: Metrics) -> Iterator[str]:
    yield f"{_count(m.applied, 'edit')} applied"
    if m.edits.get("grew"):
        yield f"{m.edits['grew']:,} of them grew"
    if m.rejected:
        yield f"{sum(m.rejected.values()):,} rejected ({_listed(m.rejected)})"
    for status in ("queued", "failed", "no-match", "ignored"):
        if m.edits.get(status):
            yield f"{m.edits[status]:,} {status}"
    yield _count(m.rollbacks, "rollback")
    if m.nudges:
        yield f"{_count(sum(m.nudges.values()), 'nudge')} ({_listed(m.nudges)})"
    if m.elided_tokens:
        yield f"{m.elided_tokens:,} tokens of edits' own commands elided"


def _policies(m: Metrics) -> str:
    """What scheduled policies did, and what that cost outside of the window."""
    count = _count(sum(m.rotations.values()), "rotation")
    named = f" ({_listed(m.rotations)})" if m.rotations else ""
    failed = f"; {_count(m.unmet, 'summary', 'summaries')} not to be had" if m.unmet else ""
    return (
        f"policies: {count}{named}, {m.rotated_tokens:,} tokens saved, {m.outside_tokens:,} spent "
        f"outside of the window{failed}"
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" if count > 1 else name for name, count in counts.items())


def _count(number: int, name: str, many: str = "") -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {many or name + 's'}"
