"""The end of a run, in words and as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from redraft.agent import Metrics, RunResult, RunStatus

__all__ = ["as_json", "summary"]


def as_json(result: RunResult, *, model: str, code: int, error: BaseException | None = None) -> str:
    """A run as one JSON object on one line, in plain ASCII.

    Args:
        result: how it went, or how far it came.
        model: the model's name.
        code: the exit code.
        error: what ended it early.
    """
    told = {"type": type(error).__name__, "message": str(error)} if error is not None else None
    return json.dumps({"model": model, **result.as_dict(), "error": told, "exit_code": code})


def summary(result: RunResult, max_steps: int) -> list[str]:
    """A run in a few lines.

    Args:
        result: how it went, or how far it came.
        max_steps: steps that it might have taken.
    """
    m = result.metrics
    why = f", because {result.why}" if result.status is RunStatus.STOPPED and result.why else ""
    lines = [
        f"{result.status}{why}: {_count(m.steps, 'step')} of {max_steps:,} in "
        f"{_count(m.rounds, 'model call')}, {_count(m.commands, 'command')}",
        f"context: {_peak(m)}; {', '.join(_changes(m))}",
        f"tokens: {m.sent_tokens:,} sent, {m.read_tokens:,} of them not in the prefix of the request "
        f"before, {m.reread_tokens:,} of these read a second time after edits",
    ]
    if m.prompt_tokens:
        lines.append(
            f"the server counted {m.prompt_tokens:,} in ({m.cached_tokens:,} from its cache) and "
            f"{m.output_tokens:,} out"
        )
    return lines


def _peak(m: Metrics) -> str:
    if m.peak_tokens <= m.limit:
        return f"peak {m.peak_tokens:,} of {m.limit:,} tokens"
    # A server that refuses requests brings the limit down to what it takes.
    return f"peak {m.peak_tokens:,} tokens; the limit came down to {m.limit:,}"


def _changes(m: Metrics) -> Iterator[str]:
    yield f"{_count(m.applied, 'edit')} applied"
    if m.edits.get("grew"):
        yield f"{m.edits['grew']:,} of them grew"
    if m.rejected:
        yield f"{sum(m.rejected.values()):,} rejected ({_listed(m.rejected)})"
    for status in ("failed", "no-match", "ignored"):
        if m.edits.get(status):
            yield f"{m.edits[status]:,} {status}"
    yield _count(m.rollbacks, "rollback")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" if count > 1 else name for name, count in counts.items())


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"
