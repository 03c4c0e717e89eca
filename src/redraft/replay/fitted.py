"""A recording's requests as they were sent, in the server's own tokens as far as it reported them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from redraft.cost import Request, Slicer
from redraft.replay.bodies import prompt_of
from redraft.replay.sizes import Anchor, fit_ratio
from redraft.replay.timeline import Moment, Stage, Timeline
from redraft.tokens import Meter, family_factor

__all__ = ["Fitted", "fit"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The requests of a recording.

    Attributes:
        requests: each call with its request, in order.
        ratio: the server's tokens for one of ours, by model.
        unseen: tokens of system prompt and tools that are not recorded, by kind of thread.
        renewed: the calls at which a prompt was smaller than what it goes on from, so that the
            unseen frame must have changed.
        marked: as in `Recording`.
    """

    requests: tuple[tuple[Moment, Request], ...]
    ratio: Mapping[str, float]
    unseen: Mapping[str, int]
    renewed: frozenset[int]
    marked: int = 1


def fit(timeline: Timeline, meter: Meter) -> Fitted:
    """Rebuild each request and fit its size to what the server reported.

    Args:
        timeline: the recording's calls.
        meter: how text is counted.
    """
    raw = list(_requests(timeline, meter))
    ratio = {model: _ratio(raw, model) for model in dict.fromkeys(r.model for _, r in raw)}
    anchors: dict[tuple[str, str], Anchor] = {}
    frames: dict[tuple[str, str], int] = {}
    fitted: list[tuple[Moment, Request]] = []
    renewed: set[int] = set()
    for moment, request in raw:
        model, kind = request.model, moment.thread.kind
        anchor = anchors.get((moment.root, model))
        if anchor is None:
            anchor = Anchor(ratio[model], f"{kind} {model}", frames.get((kind, model)))
            anchors[moment.root, model] = anchor
        before = anchor.renewed
        reported = moment.call.reported
        fitted.append((moment, anchor.fit(request, reported.prompt if reported else None)))
        if anchor.renewed > before:
            renewed.add(moment.number)
        if anchor.unseen is not None:
            frames.setdefault((kind, model), anchor.unseen)
    unseen = {kind: tokens for (kind, _), tokens in reversed(frames.items())}
    marked = timeline.recording.marked
    return Fitted(tuple(fitted), ratio, unseen, frozenset(renewed), marked)


def _requests(timeline: Timeline, meter: Meter) -> Iterator[tuple[Moment, Request]]:
    """Each call's request in our own sizes."""
    stage, slicer = Stage(timeline, meter), Slicer(meter)
    for moment in timeline:
        call = moment.call
        live = stage.append(moment)
        if call.body is None:
            request = slicer.request(live, settings=call.settings)
        else:
            prompt = prompt_of(call.body, call.api, meter)
            request = Request(tuple(prompt.segments), marks=tuple(prompt.marks))
        yield (
            moment,
            replace(
                request,
                at=call.at,
                thread=moment.root,
                changed=moment.changed,
                model=call.model,
            ),
        )


def _ratio(raw: list[tuple[Moment, Request]], model: str) -> float:
    growth: list[tuple[int, int]] = []
    last: dict[str, tuple[int, int]] = {}
    for moment, request in raw:
        reported = moment.call.reported
        if request.model != model or reported is None:
            continue
        ours = request.tokens
        if moment.thread.name in last:
            before, counted = last[moment.thread.name]
            growth.append((ours - before, reported.prompt - counted))
        last[moment.thread.name] = (ours, reported.prompt)
    return fit_ratio(growth, family_factor(model))
