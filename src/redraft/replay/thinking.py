"""What becomes of earlier reasoning in the next request: sent again, or left out by the chat template.

Which of the two it was shows in the reported prompt sizes: at a new prompt of the user's they grow by
the answer and its reasoning, or by the answer alone. Where they do not tell, the model's name does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import get_args

from redraft.cost import Slicer
from redraft.cost.slices import Reasoning
from redraft.replay.sizes import fit_ratio
from redraft.replay.timeline import Stage, Timeline
from redraft.tokens import Meter, family_factor

__all__ = ["reasoning_by_model", "usual_reasoning"]

_STRIPPING = re.compile(r"claude-(?:3|.*?(?:opus-4(?![-.][5-9])|sonnet-4(?![-.][6-9])|haiku-4))")
_CLEARLY = 0.8


def usual_reasoning(model: str) -> Reasoning:
    """What a model's server does with reasoning from before the user's last prompt.

    Args:
        model: the name in any spelling.

    Returns:
        `keep` for Claude Opus 4.5, Sonnet 4.6 and later (platform.claude.com, extended thinking);
        `drop` for Gemini, where thoughts are not sent back; else `recent`: Claude before that, OpenAI's
        reasoning models, and most open models' chat templates leave it out.
    """
    name = model.lower()
    if "claude" in name:
        return "recent" if _STRIPPING.search(name) else "keep"
    return "drop" if "gemini" in name else "recent"


def reasoning_by_model(timeline: Timeline, meter: Meter) -> dict[str, Reasoning]:
    """For each model of a recording, what became of its reasoning.

    Args:
        timeline: the recording's calls.
        meter: how text is counted.

    Returns:
        the way whose sizes fit the reported ones best; where another way fits no clearly better, the
        one that is usual for the model.
    """
    sizes = {way: _sizes(timeline, meter, way) for way in _ways(timeline)}
    found: dict[str, Reasoning] = {}
    for model in dict.fromkeys(moment.call.model for moment in timeline):
        usual = usual_reasoning(model)
        errors = {way: _error(model, calls) for way, calls in sizes.items()}
        best = min(errors, key=lambda way: errors[way], default=usual)
        clear = bool(errors) and errors[best] < _CLEARLY * errors[usual]
        found[model] = best if clear else usual
    return found


def _ways(timeline: Timeline) -> tuple[Reasoning, ...]:
    """The ways that differ: none where the recording holds no reasoning."""
    hidden = any(content.hidden for moment in timeline for content in moment.new)
    return get_args(Reasoning) if hidden else ()


_Sizes = Mapping[tuple[str, str], list[tuple[int, int]]]


def _sizes(timeline: Timeline, meter: Meter, way: Reasoning) -> _Sizes:
    """By thread and model: each call's size as we count it, and as it was reported."""
    stage, slicer = Stage(timeline, meter), Slicer(meter, reasoning=way)
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for moment in timeline:
        live, call = stage.append(moment), moment.call
        size = call.reported.size if call.reported is not None else None
        if size is not None and call.body is None:
            pair = slicer.request(live).tokens, size
            found.setdefault((moment.thread.name, call.model), []).append(pair)
    return found


def _error(model: str, sizes: _Sizes) -> float:
    """How far the sizes grew apart from one call to the next, in all."""
    growth = [
        (now[0] - before[0], now[1] - before[1])
        for (_, asked), calls in sizes.items()
        if asked == model
        for before, now in pairwise(calls)
    ]
    ratio = fit_ratio(growth, family_factor(model))
    return sum(abs(theirs - ratio * ours) for ours, theirs in growth)
