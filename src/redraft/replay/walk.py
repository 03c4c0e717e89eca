"""One policy over one recording: each call's request as the policy would have had it sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from redraft.context import Commit, Live, Revision, commit
from redraft.cost import Cache, Cause, Request, Slicer, Use
from redraft.cost.slices import Reasoning
from redraft.policies import Policy, Summarize, View
from redraft.replay.choices import stand_in
from redraft.replay.timeline import Moment, Stage, Timeline
from redraft.tokens import Meter

__all__ = ["Setting", "Walk", "walk"]

_ASKS = 8
"""Needs that a policy may have at one call before it is left alone."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all policies of a replay have in common.

    Attributes:
        limit: tokens that a request may have, as the server counts them.
        ratio: the server's tokens for one of ours.
        unseen: tokens of the unseen frame, by kind of thread.
        reasoning: what the chat template does with earlier reasoning.
    """

    limit: int
    ratio: float
    unseen: Mapping[str, int]
    reasoning: Reasoning = "keep"

    def raw_limit(self, kind: str) -> int:
        """What turns and recorded frame may take, in our own tokens."""
        return int((self.limit - self.unseen.get(kind, 0)) / self.ratio)


@dataclass
class Walk:
    """What a policy did to a recording.

    Attributes:
        calls: (request, tokens of the answer), in order.
        uses: by cache, what each request cost it.
        applied, refused: revisions that passed the door, and that did not.
        spent: for each summary asked for, the tokens read and written.
    """

    calls: list[tuple[Request, int]] = field(default_factory=list)
    uses: dict[str, list[Use]] = field(default_factory=dict)
    applied: int = 0
    refused: int = 0
    spent: list[tuple[int, int]] = field(default_factory=list)


def walk(
    timeline: Timeline,
    policy: Policy,
    setting: Setting,
    *,
    caches: Sequence[Cache],
    meter: Meter,
    progress: Callable[[], None] | None = None,
) -> Walk:
    """Run a policy open-loop: at each call it may revise the context, then the recorded turns follow.

    Args:
        timeline: the recording's calls.
        policy: decides; at most one revision of its passes at each call.
        setting: limit and sizes.
        caches: the models that account for each request.
        meter: counts.
        progress: called after each call.
    """
    done = Walk(uses={cache.name: [] for cache in caches})
    stage = Stage(timeline, meter)
    slicers = {
        kind: Slicer(
            meter,
            reasoning=setting.reasoning,
            ratio=setting.ratio,
            unseen=setting.unseen.get(kind, 0),
        )
        for kind in ("main", "side")
    }
    for moment in timeline:
        kind = moment.thread.kind
        live, changed = _decide(policy, stage.append(moment), setting.raw_limit(kind), meter, done)
        stage.put(moment, live)
        request = slicers[kind].request(
            live,
            at=moment.call.at,
            thread=moment.root,
            changed=changed or moment.changed,
            model=moment.call.model,
            settings=moment.call.settings,
        )
        done.calls.append((request, _output(moment, setting.ratio, meter)))
        for cache in caches:
            done.uses[cache.name].append(cache.serve(request))
        if progress is not None:
            progress()
    return done


def _decide(
    policy: Policy, live: Live, limit: int, meter: Meter, done: Walk
) -> tuple[Live, Cause | None]:
    given: dict[str, str] = {}
    for _ in range(_ASKS):
        decision = policy.decide(View(live, limit, given))
        if decision is None:
            break
        if isinstance(decision, Revision):
            return _apply(decision, live, limit, done)
        given[decision.key] = stand_in(decision, meter)
        if isinstance(decision, Summarize):
            done.spent.append((meter.text(decision.text), meter.text(given[decision.key])))
    return live, None


def _apply(revision: Revision, live: Live, limit: int, done: Walk) -> tuple[Live, Cause | None]:
    if not revision:
        return live, None
    # A rollback may leave the context over its limit: then it is rolled back again.
    judged = commit(live, revision, live.tokens if revision.author == "harness" else limit)
    if not isinstance(judged, Commit):
        done.refused += 1
        return live, None
    done.applied += 1
    return judged.live, Cause.ROLLBACK if revision.author == "harness" else Cause.POLICY


def _output(moment: Moment, ratio: float, meter: Meter) -> int:
    """Tokens of the answer: as reported, else counted."""
    reported = moment.call.reported
    if reported is not None and reported.output:
        return reported.output
    return round(meter.content(moment.reply) * ratio) if moment.reply is not None else 0
