"""A recording's requests as they were sent, in the server's own tokens as far as it reported them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from redraft.cost import Request, Slicer
from redraft.cost.slices import Reasoning
from redraft.replay.bodies import prompt_of
from redraft.replay.sizes import Anchor, fit_ratio
from redraft.replay.thinking import reasoning_by_model
from redraft.replay.timeline import Moment, Stage, Timeline
from redraft.tokens import Meter, family_factor

__all__ = ["Fitted", "fit"]

_PASSES = 3


@dataclass(frozen=True, slots=True)
class Fitted:
    """The requests of a recording.

    Attributes:
        requests: each call with its request, in order.
        ratio: the server's tokens for one of ours, by model.
        unseen: tokens of system prompt and tools that are not recorded, by kind of thread.
        renewed: the calls at which a prompt was smaller than what it goes on from, so that the
            unseen frame must have changed.
        marked, bare: as in `Recording`.
        reasoning: what became of earlier reasoning, by model.
    """

    requests: tuple[tuple[Moment, Request], ...]
    ratio: Mapping[str, float]
    unseen: Mapping[str, int]
    renewed: frozenset[int]
    marked: int = 1
    reasoning: Mapping[str, Reasoning] = field(default_factory=dict)
    bare: bool = False


def fit(timeline: Timeline, meter: Meter, reasoning: Reasoning | None = None) -> Fitted:
    """Rebuild each request and fit its size to what the server reported.

    Args:
        timeline: the recording's calls.
        meter: how text is counted.
        reasoning: what becomes of earlier reasoning; by default as the reported sizes and the model's
            name tell.
    """
    ways = _ways(timeline, meter, reasoning)
    raw = list(_requests(timeline, meter, ways))
    ratio = {model: _ratio(raw, model) for model in dict.fromkeys(r.model for _, r in raw)}
    fitting = _Fitting(timeline.recording.prunes, ratio)
    for _ in range(_PASSES):
        fitting.run(raw)
        if not fitting.improve():
            break
    source = timeline.recording
    return Fitted(
        tuple(fitting.fitted),
        ratio,
        {kind: tokens for (kind, _), tokens in reversed(fitting.frames.items())},
        frozenset(fitting.renewed),
        source.marked,
        ways,
        source.bare,
    )


@dataclass
class _Fitting:
    """One pass over all requests.

    Attributes:
        prunes: as in `Recording`.
        ratio: the server's tokens for one of ours, by model.
        known: sizes of unseen frames that an earlier pass found, by conversation and model.
        fitted, frames, renewed: what this pass found.
    """

    prunes: bool
    ratio: Mapping[str, float]
    known: dict[tuple[str, str], int] = field(default_factory=dict)
    fitted: list[tuple[Moment, Request]] = field(default_factory=list)
    frames: dict[tuple[str, str], int] = field(default_factory=dict)
    renewed: set[int] = field(default_factory=set)
    anchors: dict[tuple[str, str], Anchor] = field(default_factory=dict)

    def run(self, raw: Iterable[tuple[Moment, Request]]) -> None:
        """Give every request its size."""
        for found in (self.fitted, self.frames, self.renewed, self.anchors):
            found.clear()
        for moment, request in raw:
            anchor = self._anchor(moment, request.model)
            before = anchor.renewed
            reported = moment.call.reported
            self.fitted.append((moment, anchor.fit(request, reported.size if reported else None)))
            if anchor.renewed > before:
                self.renewed.add(moment.number)
            if anchor.unseen is not None:
                self.frames.setdefault((moment.thread.kind, request.model), anchor.unseen)

    def _anchor(self, moment: Moment, model: str) -> Anchor:
        key, kind = (moment.root, model), moment.thread.kind
        if key not in self.anchors:
            unseen = self.known.get(key, self.frames.get((kind, model)))
            name = f"{kind} {model}"
            self.anchors[key] = Anchor(self.ratio[model], name, unseen, self.prunes)
        return self.anchors[key]

    def improve(self) -> bool:
        """Take over better sizes of unseen frames; False where there are none."""
        better = {
            key: anchor.better for key, anchor in self.anchors.items() if anchor.better is not None
        }
        self.known |= better
        return bool(better)


def _ways(timeline: Timeline, meter: Meter, asked: Reasoning | None) -> dict[str, Reasoning]:
    if asked is None:
        return reasoning_by_model(timeline, meter)
    return {call.model: asked for _, call in timeline.recording.calls()}


def _requests(
    timeline: Timeline, meter: Meter, ways: Mapping[str, Reasoning]
) -> Iterator[tuple[Moment, Request]]:
    """Each call's request in our own sizes."""
    stage = Stage(timeline, meter)
    slicers = {way: Slicer(meter, reasoning=way) for way in set(ways.values())}
    for moment in timeline:
        call = moment.call
        live = stage.append(moment)
        if call.body is None or timeline.recording.bare:  # its turns are counted as they were
            request = slicers[ways[call.model]].request(live, settings=call.settings)
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
        if request.model != model or reported is None or reported.size is None:
            continue
        ours = request.tokens
        if moment.thread.name in last:
            before, counted = last[moment.thread.name]
            growth.append((ours - before, reported.size - counted))
        last[moment.thread.name] = (ours, reported.size)
    return fit_ratio(growth, family_factor(model))
