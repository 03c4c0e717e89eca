"""The replay: a recorded transcript through policies and cache models, and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from math import ceil

from redraft.budget import DEFAULT_WINDOW, check_room, window_of
from redraft.budget import limit as limit_of
from redraft.cost import (
    REFERENCE,
    SPANS,
    Cache,
    GenaiPrices,
    Geometry,
    LongestPrefix,
    PriceBook,
    Radix,
    SuffixReuse,
    Totals,
    find_geometry,
    use_flops,
)
from redraft.cost.slices import Reasoning
from redraft.policies import Policy
from redraft.replay.cache_reads import audit
from redraft.replay.choices import policies_named
from redraft.replay.fitted import fit
from redraft.replay.money import billed, money_of, recorded_usd
from redraft.replay.providers import ProviderCache, provider_of
from redraft.replay.recording import Recording
from redraft.replay.results import CacheResult, PolicyResult, Replay
from redraft.replay.timeline import Timeline
from redraft.replay.walk import Setting, Walk, walk
from redraft.settings import Settings
from redraft.tokens import Meter

__all__ = ["DEFAULT_POLICIES", "Progress", "replay"]

DEFAULT_POLICIES = ("append-only", "observation-mask")
"""What a replay runs where no policy is named: the baseline, and the smallest that acts."""

_BILLED = ("anthropic", "openai", "gemini")

Progress = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what is being done now."""


def replay(
    recording: Recording,
    policies: Sequence[Policy] | None = None,
    *,
    budget: int | None = None,
    window: int | None = None,
    settings: Settings | None = None,
    spans: Sequence[int] = SPANS,
    reasoning: Reasoning | None = None,
    geometry: Geometry | None = None,
    prices: Sequence[PriceBook] | None = None,
    meter: Meter | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Price a recorded transcript under policies and cache models. It prices a fixed transcript.

    Args:
        recording: what `redraft.replay.load` read.
        policies: by default those of `DEFAULT_POLICIES`.
        budget: tokens that a prompt may take, as the server counts them; by default the window.
        window: the model's window; by default by its name.
        settings: output reserve and margin, which the limit leaves room for.
        spans: the numbers of spans for which suffix reuse is reckoned.
        reasoning: what the chat template does with earlier reasoning; see `redraft.cost.Slicer`. By
            default as the reported sizes tell, else as is usual for the model.
        geometry: the model's shape for FLOPs; by default by its name, else that of the reference.
        prices: price lists, the first that has the model counts; by default `genai-prices`, as of the
            day of the recording.
        meter: counts text.
        progress: called as it goes on.

    Raises:
        BudgetError: the limit is not positive.
        DialectError: the messages are not chat messages.
    """
    meter = meter or Meter()
    policies = policies_named(DEFAULT_POLICIES) if policies is None else list(policies)
    timeline = Timeline(recording)
    steps = _Steps(progress, len(timeline) * (len(policies) + 1))
    fitted = fit(timeline, meter, reasoning)
    model = recording.model
    shape = geometry or find_geometry(model) or find_geometry(REFERENCE)
    assert shape is not None
    books = [GenaiPrices(_day(recording))] if prices is None else list(prices)
    limit = _limit(model, budget, window, settings or Settings())
    way = fitted.reasoning.get(model, "keep")
    setting = Setting(limit, fitted.ratio.get(model, 1.0), fitted.unseen, way)
    runs = []
    for policy in policies:
        caches = _caches(recording, spans)
        step = steps.named(policy.name)
        walked = walk(timeline, policy, setting, caches=caches, meter=meter, progress=step)
        runs.append(_result(policy.name, walked, setting, shape, books))
    reads = audit(fitted, steps.named("cache reads"))
    return Replay(
        recording.path,
        recording.format,
        model,
        len(recording.threads),
        len(timeline),
        setting.limit,
        setting.ratio,
        dict(fitted.unseen),
        shape.name,
        geometry is None and find_geometry(model) is None,
        tuple(runs),
        reads if reads.calls else None,
        billed(recording, books),
        recorded_usd(recording),
        tuple(_notes(recording, reads.calls)),
    )


class _Steps:
    """Counts steps for the progress callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def named(self, what: str) -> Callable[[], None] | None:
        if self._progress is None:
            return None

        def step() -> None:
            self._done += 1
            assert self._progress is not None
            self._progress(self._done, self._total, what)

        return step


def _limit(model: str, budget: int | None, window: int | None, settings: Settings) -> int:
    known = window or settings.window or window_of(model) or DEFAULT_WINDOW
    asked = budget if budget is not None else settings.budget
    limit = limit_of(
        known if asked is None else asked, known, settings.output_reserve, settings.margin
    )
    check_room(limit, {})
    return limit


def _caches(recording: Recording, spans: Sequence[int]) -> list[Cache]:
    caches: list[Cache] = [LongestPrefix(), Radix()]
    provider = provider_of(recording.model)
    if provider != Radix.name:
        caches.append(ProviderCache(provider, messages=recording.marked))
    return [*caches, *(SuffixReuse(count) for count in spans)]


def _day(recording: Recording) -> datetime:
    """When the recording ended; now, where it does not say."""
    times = [call.at for _, call in recording.calls() if call.at is not None]
    return datetime.fromtimestamp(max(times), UTC) if times else datetime.now(UTC)


def _result(
    name: str, walked: Walk, setting: Setting, shape: Geometry, books: Sequence[PriceBook]
) -> PolicyResult:
    sizes = [request.tokens for request, _ in walked.calls]
    outputs = [output for _, output in walked.calls]
    return PolicyResult(
        policy=name,
        calls=len(sizes),
        over=sum(size > setting.limit for size in sizes),
        peak=max(sizes, default=0),
        prompt=sum(sizes),
        output=sum(outputs),
        applied=walked.applied,
        refused=walked.refused,
        summaries=len(walked.spent),
        summary_prompt=ceil(sum(read for read, _ in walked.spent) * setting.ratio),
        summary_output=ceil(sum(written for _, written in walked.spent) * setting.ratio),
        caches=tuple(_cache_results(walked, shape, books)),
    )


def _cache_results(
    walked: Walk, shape: Geometry, books: Sequence[PriceBook]
) -> Iterator[CacheResult]:
    models = [request.model for request, _ in walked.calls]
    outputs = [output for _, output in walked.calls]
    other = "radix" if not set(_BILLED) & walked.uses.keys() else ""
    for name, uses in walked.uses.items():
        totals = Totals()
        for use in uses:
            totals.add(use)
        pairs = list(zip(uses, outputs, strict=True))
        flops = sum(use_flops(shape, use, output) for use, output in pairs)
        bills = name in (*_BILLED, other)
        money = money_of(models, pairs, books) if bills else None
        yield CacheResult(name, totals, flops, money)


def _notes(recording: Recording, audited: int) -> Iterator[str]:
    yield from recording.notes
    calls = [call for _, call in recording.calls()]
    if not calls:
        yield "the recording holds no answer of a model, so there is no call to price"
    elif not any(call.reported for call in calls):
        yield "no usage is reported: sizes are our own count, times the model family's factor"
    elif not audited:
        yield "the provider reported sizes but no cache reads"
    if any(call.at is None for call in calls):
        yield "not every call has a time: no cache entry expires where there is none"
