"""Prefix-reuse compute: the FLOPs of one model call when part of its prompt is served from a cache."""

from __future__ import annotations

from collections.abc import Iterable

from redraft.cost.caches import Use
from redraft.cost.geometry import Geometry

__all__ = ["call_flops", "use_flops"]


def call_flops(geometry: Geometry, prompt: int, reused: int, output: int) -> float:
    """FLOPs of one call whose first `reused` tokens come from a cache.

    Args:
        geometry: the model.
        prompt: tokens of the prompt, P.
        reused: tokens of its prefix that are reused, R.
        output: tokens generated, G.

    Returns:
        `C_tok (U + G) + C_attn ((P^2 - R^2)/2 + G P + G^2/2)` with U = P - R. Source: DESIGN.md
        section 7.

    Raises:
        ValueError: a number is negative, or more is reused than there is.
    """
    if not 0 <= reused <= prompt or output < 0:
        raise ValueError(
            f"prompt {prompt}, reused {reused}, output {output} cannot be; "
            "reused lies between 0 and the prompt, and nothing is negative"
        )
    return _flops(geometry, prompt, output, [(reused, prompt)])


def use_flops(geometry: Geometry, use: Use, output: int) -> float:
    """FLOPs of one call as a cache model accounted for it, moved spans included.

    Args:
        geometry: the model.
        use: what was reused; each computed token attends to all tokens in front of it.
        output: tokens generated.
    """
    return _flops(geometry, use.prompt, output, use.computed)


def _flops(
    geometry: Geometry, prompt: int, output: int, computed: Iterable[tuple[int, int]]
) -> float:
    tokens, pairs = output, output * prompt + output * output / 2
    for start, end in computed:
        tokens += end - start
        pairs += (end * end - start * start) / 2
    return geometry.token * tokens + geometry.attention * pairs
