"""Rows of a scorecard, one a turn (an exchange), and their means: what a turn cost, and how it was used.

A turn that has no usage figures has no columns for them: a mean is taken over the rows that carry the
column, so a server that reports nothing does not pull it down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redraft.dialects import Usage
from redraft.events.context_ops import ContextOps

__all__ = ["aggregate", "harness_metrics", "scorecard_row"]

_AVERAGED = ("input_tokens", "total_tokens", "tokens_per_tool_call", "tokens_per_round")


def scorecard_row(
    *,
    rounds: int,
    tool_calls: int,
    usage: Sequence[Usage | None] = (),
    ops: ContextOps | None = None,
) -> dict[str, Any]:
    """One turn's row.

    Args:
        rounds: model calls that the turn took.
        tool_calls: calls of tools in it.
        usage: what the server reported for each model call; None where it reported nothing.
        ops: the turn's use of the context tools.

    Returns:
        `rounds` and `tool_calls`; with usage figures `input_tokens`, `total_tokens`, and where there
        was something to divide by `tokens_per_tool_call` and `tokens_per_round`; with any use of the
        context tools `context_ops`.
    """
    row: dict[str, Any] = {"rounds": rounds, "tool_calls": tool_calls}
    known = [one for one in usage if one is not None]
    if known:
        row["input_tokens"] = sum(one.prompt for one in known)
        row["total_tokens"] = _total(known)
        if tool_calls:
            row["tokens_per_tool_call"] = row["total_tokens"] / tool_calls
        if rounds:
            row["tokens_per_round"] = row["total_tokens"] / rounds
    if ops:
        row["context_ops"] = ops.as_dict()
    return row


def aggregate(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The means of a scorecard: `avg_` and the column's name, over the rows that carry the column.

    Args:
        rows: as `scorecard_row` makes them; other columns are left alone.

    Returns:
        the means; a column that no row carries has none.
    """
    all_rows = list(rows)
    means: dict[str, float] = {}
    for column in _AVERAGED:
        values = [row[column] for row in all_rows if row.get(column) is not None]
        if values:
            means[f"avg_{column}"] = sum(values) / len(values)
    return means


def harness_metrics(usage: Sequence[Usage | None], ops: ContextOps) -> dict[str, Any]:
    """What a turn's `metrics["harness"]` gains: `context_ops`, and `total_tokens` where the server
    reported any.

    Args:
        usage: what the server reported for each model call.
        ops: the turn's use of the context tools.
    """
    known = [one for one in usage if one is not None]
    total = {"total_tokens": _total(known)} if known else {}
    return {**total, "context_ops": ops.as_dict()}


def _total(usage: Sequence[Usage]) -> int:
    return sum(one.prompt + one.output for one in usage)
