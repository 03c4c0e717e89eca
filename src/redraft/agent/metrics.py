"""What a run cost and what its model did with its context, gathered from events. Pure."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from redraft.agent.costs import ModelCall, OutsideCall
from redraft.dialects import Usage
from redraft.events import (
    CommandEnded,
    ContextOp,
    ContextOps,
    EditJudged,
    Escalated,
    Event,
    Exchange,
    HandedOver,
    NeedUnmet,
    NudgeGiven,
    PolicyActed,
    Prodded,
    ReplyRead,
    RequestMade,
    RolledBack,
    RoundEnded,
    SpentOutside,
    exchanges_after,
    harness_metrics,
)

__all__ = ["Collector", "Metrics", "collected", "metrics_of"]

_NONE: Mapping[str, int] = MappingProxyType({})
_REJECTED = "rejected"
_APPLIED = ("applied", "grew", "over")
_ELIDE = "elide"


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of one run. Tokens are as shown to the model unless the server's are named.

    Attributes:
        rounds: replies of the model.
        steps: rounds that cost a step of the budget.
        free_rounds: rounds with calls that cost none, since they only edited the context.
        commands: shell commands that were run.
        limit: tokens that the context may hold, at the end.
        peak_tokens, median_tokens: the largest request that was answered, and the middle one by size
            (of an even number the smaller of the two in the middle).
        sent_tokens: the tokens of all answered requests together.
        read_tokens: those of `sent_tokens` that stand behind the part which a request shares, byte for
            byte, with the answered request before it: what even a perfect prefix cache must read.
        reread_tokens: those of `read_tokens` that had been read before, and must be read again because
            something in front of them changed: the price of edits and rollbacks.
        prompt_tokens, cached_tokens, output_tokens: the same in the server's own count, as far as it
            reports them.
        elided_tokens: tokens that left the context because commands of applied edits became one line.
        edits: the model's edits by what became of them (`applied`, `grew`, `queued`, `rejected`, ...).
        rejected: its rejected edits by rule.
        nudges: notices on the context's fill, by tier.
        rollbacks: times that the newest turns were taken away.
        escalations: rewrites that could not prove that they free more than they cost.
        handovers: compactions that the harness did instead of the model.
        rotations: times that a scheduled policy changed the context, by the policy's name. Those of
            `hybrid` are its interventions.
        rotated_tokens: tokens that left the context by them.
        outside_tokens: tokens that were read and written outside of the window, by summarizers, as far as
            their servers counted them.
        unmet: summaries and look-ups that could not be had or used.
        prods: replies that were of no use, empty or broken off.
        harness: `total_tokens`, prompt and output as the server counted them, where it reports any, and
            `context_ops`: how often each context tool did something, and the tokens that it freed
            (`seeds/001_*`).
    """

    rounds: int = 0
    steps: int = 0
    free_rounds: int = 0
    commands: int = 0
    limit: int = 0
    peak_tokens: int = 0
    median_tokens: int = 0
    sent_tokens: int = 0
    read_tokens: int = 0
    reread_tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    elided_tokens: int = 0
    edits: Mapping[str, int] = field(default_factory=lambda: _NONE)
    rejected: Mapping[str, int] = field(default_factory=lambda: _NONE)
    nudges: Mapping[str, int] = field(default_factory=lambda: _NONE)
    rollbacks: int = 0
    escalations: int = 0
    handovers: int = 0
    rotations: Mapping[str, int] = field(default_factory=lambda: _NONE)
    rotated_tokens: int = 0
    outside_tokens: int = 0
    unmet: int = 0
    prods: int = 0
    harness: Mapping[str, Any] = field(default_factory=lambda: harness_metrics((), ContextOps()))

    @property
    def applied(self) -> int:
        """The model's edits that changed the context."""
        return sum(self.edits.get(status, 0) for status in _APPLIED)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            key: dict(value) if isinstance(value, Mapping) else value
            for key, value in ((item.name, getattr(self, item.name)) for item in fields(self))
        }


@dataclass(frozen=True, slots=True)
class Collector:
    """Metrics so far, and the request that waits for its answer.

    Attributes:
        metrics: the figures.
        asked: the last request, until it is answered.
        shared: raw tokens at the start of `asked` that the last *answered* request began with too.
        again: raw tokens in `asked` that were read before and must be read again.
        calls: the requests that were answered, in order.
        sizes: their sizes, the smallest first.
        outside: the calls beside the window, in order.
        exchanges: what each exchange took; the last one may still be going on.
        ops: the use of the context tools.
    """

    metrics: Metrics = field(default_factory=Metrics)
    asked: RequestMade | None = None
    shared: int = 0
    again: int = 0
    calls: tuple[ModelCall, ...] = ()
    sizes: tuple[int, ...] = ()
    outside: tuple[OutsideCall, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    ops: ContextOps = field(default_factory=ContextOps)

    def after(self, event: Event) -> Collector:
        """The state after an event; unknown ones change nothing."""
        exchanges = exchanges_after(self.exchanges, event)
        return replace(self._counted(event), exchanges=exchanges)

    def _counted(self, event: Event) -> Collector:
        m = self.metrics
        match event:
            case RequestMade():
                return self._requested(event)
            case ReplyRead():
                return self._answered(event)
            case RoundEnded(cost=cost):
                return self._with(steps=m.steps + cost, free_rounds=m.free_rounds + (cost == 0))
            case CommandEnded():
                return self._with(commands=m.commands + 1)
            case EditJudged(author="model"):
                return self._edited(event)
            case EditJudged(source=source, status=status) if (
                source == _ELIDE and status in _APPLIED
            ):
                return self._with(elided_tokens=m.elided_tokens + event.before - event.after)
            case NudgeGiven(tier=tier):
                return self._with(nudges=_plus(m.nudges, tier))
            case RolledBack():
                return self._with(rollbacks=m.rollbacks + 1)
            case Escalated():
                return self._with(escalations=m.escalations + 1)
            case HandedOver():
                return self._with(handovers=m.handovers + 1)
            case ContextOp():
                return replace(self, ops=self.ops.add(event))._harnessed()
            case PolicyActed(policy=policy, before=before, after=after):
                rotations = _plus(m.rotations, policy)
                return self._with(
                    rotations=rotations, rotated_tokens=m.rotated_tokens + before - after
                )
            case SpentOutside(model=model, prompt=prompt, output=output):
                spent = self._with(outside_tokens=m.outside_tokens + prompt + output)
                return replace(spent, outside=(*self.outside, OutsideCall(model, prompt, output)))
            case NeedUnmet():
                return self._with(unmet=m.unmet + 1)
            case Prodded():
                return self._with(prods=m.prods + 1, steps=m.steps + 1)
        return self

    def _with(self, **changes: Any) -> Collector:
        return replace(self, metrics=replace(self.metrics, **changes))

    def _harnessed(self) -> Collector:
        m = self.metrics
        usage = Usage(m.prompt_tokens, m.cached_tokens, m.output_tokens)
        known = [usage] if usage.prompt or usage.output else []
        return self._with(harness=harness_metrics(known, self.ops))

    def _requested(self, event: RequestMade) -> Collector:
        # The event compares with the last request, answered or not. Where that one was refused, what
        # this one shares with the last answered one is at least the lesser of the two figures, and
        # exactly that where they differ: common prefixes obey the ultrametric inequality.
        shared, again = event.reused_raw, event.reread_raw
        if self.asked is not None:
            shared = min(shared, self.shared)
            again = min(again + self.again, event.raw - shared)
        metrics = replace(self.metrics, limit=event.limit)
        return replace(self, metrics=metrics, asked=event, shared=shared, again=again)

    def _answered(self, event: ReplyRead) -> Collector:
        m, asked = self.metrics, self.asked
        tokens = asked.tokens if asked else 0
        raw = max(asked.raw, 1) if asked else 1
        shared = tokens * self.shared // raw
        place = bisect(self.sizes, tokens)
        sizes = (*self.sizes[:place], tokens, *self.sizes[place:]) if asked else self.sizes
        counted = replace(
            m,
            rounds=m.rounds + 1,
            peak_tokens=sizes[-1] if sizes else 0,
            median_tokens=sizes[(len(sizes) - 1) // 2] if sizes else 0,
            sent_tokens=m.sent_tokens + tokens,
            read_tokens=m.read_tokens + tokens - shared,
            reread_tokens=m.reread_tokens + tokens * self.again // raw,
            prompt_tokens=m.prompt_tokens + event.prompt,
            cached_tokens=m.cached_tokens + event.cached,
            output_tokens=m.output_tokens + event.output,
        )
        call = ModelCall(tokens, shared, event.prompt, event.cached, event.output)
        told = replace(self, metrics=counted, calls=(*self.calls, call), sizes=sizes)
        return replace(told, asked=None, shared=0, again=0)._harnessed()

    def _edited(self, event: EditJudged) -> Collector:
        m = self.metrics
        edits = _plus(m.edits, event.status)
        if event.status != _REJECTED:
            return self._with(edits=edits)
        return self._with(edits=edits, rejected=_plus(m.rejected, _rule(event.rule)))


def collected(events: Iterable[Event]) -> Collector:
    """The state after `events`, e.g. those of a journal (`SQLiteJournal.events`)."""
    collector = Collector()
    for event in events:
        collector = collector.after(event)
    return collector


def metrics_of(events: Iterable[Event]) -> Metrics:
    """The figures of a run from all that was told of it, in order."""
    return collected(events).metrics


def _plus(counts: Mapping[str, int], name: str) -> Mapping[str, int]:
    return {**counts, name: counts.get(name, 0) + 1}


def _rule(words: str) -> str:
    """A rule without what belongs to one case: numbers, and a gate's reasons."""
    gate, colon, _ = words.partition(":")
    if colon and gate in ("fit", "shrink", "conserve"):
        return gate
    return re.sub(r"\d[\d,]*", "N", words)
