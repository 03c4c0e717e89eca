"""A context report in words, in the order of its five parts. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from redraft.cli.texts import one_line
from redraft.policies import ContextReport, Item

__all__ = ["report_lines"]

_WORDS = 100
_MOST = 20
"""Rotations, the newest, that are listed."""


def report_lines(report: ContextReport) -> Iterator[str]:
    """The report, line by line.

    Args:
        report: the report.
    """
    yield "1. Context status"
    yield f"   {report.tokens:,} of {report.limit:,} tokens, {100 * report.share:.1f} % used"
    yield "2. Strategy"
    yield f"   {report.strategy or 'none'}: {one_line(report.why, _WORDS)}"
    yield "3. Preservation audit"
    yield from _audit(report)
    yield "4. External memory"
    yield from _memory(report)
    yield "5. Token efficiency"
    yield f"   {report.saved_per_hour:,.0f} tokens saved for each hour of the session, summaries paid"
    if report.rotations:
        yield "Rotations"
        yield from _rotations(report)
    for step in report.adjustments:
        moved = f"trigger {step.before:.0%} -> {step.after:.0%}"
        yield f"   {_at(step.at)}  {moved}: {one_line(step.why, _WORDS)}"


def _audit(report: ContextReport) -> Iterator[str]:
    kept = report.preservation
    total = len(kept.found) + len(kept.missing)
    verdict = "all of it is there" if kept.ok else f"{len(kept.missing):,} missing"
    yield f"   {total:,} critical items: {verdict}"
    for item in kept.missing:
        yield f"   missing  {_item(item)}"
    for item in kept.found:
        yield f"   found    {_item(item)}"
    for value in kept.invented:
        yield f"   invented {one_line(value, _WORDS)}"


def _item(item: Item) -> str:
    turn = f" (turn {item.number})" if item.number else ""
    return f"{item.kind}{turn}: {one_line(item.shown or item.value, _WORDS)}"


def _memory(report: ContextReport) -> Iterator[str]:
    plan = report.memory
    where = ", ".join(plan.storage)
    if plan.pointers:
        yield f"   {plan.pointers:,} pointers to {plan.size:,} bytes ({where}); {plan.query}"
    else:
        yield "   nothing is offloaded"
    if plan.items:
        yield f"   items and states in {one_line(plan.items, _WORDS)}; by words, task type, time, tag"


def _rotations(report: ContextReport) -> Iterator[str]:
    left_out = len(report.rotations) - _MOST
    if left_out > 0:
        yield f"   {left_out:,} earlier ones"
    for one in report.rotations[-_MOST:]:
        spent = f", {one.spent:,} spent" if one.spent else ""
        yield (
            f"   {_at(one.at)}  {one.method}: {one.before:,} -> {one.after:,} tokens{spent} "
            f"({one_line(one.why, _WORDS)})"
        )


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
