"""A replay in plain lines, for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.cost import Money, NoPrice
from redraft.replay.cache_reads import Audit
from redraft.replay.results import CAVEAT, CacheResult, PolicyResult, Replay

__all__ = ["summary"]


def summary(found: Replay, *, misses: int | None = None) -> list[str]:
    """A replay in words.

    Args:
        found: the replay.
        misses: how many large misses are listed, the rest being counted; None for all.
    """
    return list(_lines(found, misses))


def _lines(found: Replay, misses: int | None) -> Iterator[str]:
    model = found.model or "model not recorded"
    yield (
        f"{found.path}: {found.format}, {model}, {_count(found.calls, 'call')} in "
        f"{_count(found.threads, 'thread')}"
    )
    unseen = ", ".join(f"{tokens:,} ({kind})" for kind, tokens in found.unseen.items() if tokens)
    sizes = f"limit {found.limit:,} tokens; {found.ratio:.2f} of the model's tokens for one of ours"
    yield f"{sizes}; system prompt and tools not recorded: {unseen}" if unseen else sizes
    shape = f"FLOPs as of {found.geometry}"
    yield f"{shape}, standing in for a model whose shape is not known" if found.stand_in else shape
    for run in found.runs:
        yield ""
        yield from _policy(run)
    if found.audit is not None:
        yield ""
        yield from _reads(found.audit, misses)
    if found.billed is not None:
        recorded = "" if found.recorded_usd is None else f"; recorded: ${found.recorded_usd:,.2f}"
        yield f"reported usage: {_money(found.billed)}{recorded}"
    yield ""
    yield from (f"note: {note}" for note in found.notes)
    yield CAVEAT


def _policy(run: PolicyResult) -> Iterator[str]:
    edits = f"{_count(run.applied, 'revision')} applied, {run.refused:,} refused"
    yield (
        f"{run.policy}: {run.prompt:,} tokens in, {run.output:,} out; peak {run.peak:,}; "
        f"{_count(run.over, 'request')} over the limit; {edits}"
    )
    if run.summaries:
        yield (
            f"  {_count(run.summaries, 'summary', 'summaries')} by stand-ins: {run.summary_prompt:,} "
            f"tokens read, {run.summary_output:,} written, not counted above"
        )
    yield f"  {'cache':<16}{'read':>14}{'written':>12}{'fresh':>11}{'lost':>12}{'FLOPs':>11}  money"
    yield from (_cache(cache) for cache in run.caches)
    for cache in run.caches:
        breaks = ", ".join(
            f"{count:,} x {cause} ({lost:,} lost)"
            for cause, (count, lost) in sorted(cache.totals.breaks.items())
        )
        if breaks and not cache.name.startswith("suffix"):
            yield f"  breaks, {cache.name}: {breaks}"


def _cache(cache: CacheResult) -> str:
    t = cache.totals
    return (
        f"  {cache.name:<16}{t.read:>14,}{t.written:>12,}{t.fresh:>11,}{t.lost:>12,}"
        f"{cache.flops:>11.3e}  {_money(cache.money) if cache.money is not None else ''}"
    ).rstrip()


def _money(money: Money | NoPrice) -> str:
    if isinstance(money, NoPrice):
        return f"no price ({money.reason})"
    return f"${money.usd:,.2f} ({money.source} {money.version}, {money.model})"


def _reads(audit: Audit, misses: int | None) -> Iterator[str]:
    yield (
        f"cache reads: predicted {audit.predicted:,}, reported {audit.reported:,} "
        f"({audit.error:+.1%}) in {_count(audit.calls, 'call')}; {audit.close:,} of them within 2 %; "
        f"mean error {audit.mean_error:.1%} of the prompt"
    )
    for cause, (count, lost) in sorted(audit.explained.items()):
        yield f"  predicted breaks: {count:,} x {cause} ({lost:,} tokens)"
    shown = audit.misses[:misses]
    for miss in shown:
        line = f", line {miss.line}" if miss.line else ""
        yield (
            f"  call {miss.number}{line}: predicted {miss.predicted:,}, reported {miss.reported:,} of "
            f"{miss.prompt:,}; {miss.cause}: {miss.why}"
        )
    if len(audit.misses) > len(shown):
        yield f"  and {len(audit.misses) - len(shown):,} more"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many or one + 's'}"
