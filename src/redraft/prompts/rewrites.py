"""What the harness's policies leave in the context, and what their receipts say."""

from __future__ import annotations

from redraft.prompts.tags import one_line, opening

__all__ = [
    "CARRIED",
    "FELL_BACK",
    "NOTHING_ELSE",
    "SPILLED",
    "masked_result",
    "stepped_in",
    "stepped_in_notice",
]

CARRIED = "Carried forward, word for word:"
"""The line in front of the exact values that a summary left out."""

FELL_BACK = "no usable summary: the oldest turns went instead"
"""What the receipt says where a summary could not be had."""

NOTHING_ELSE = "nothing else would have freed enough: the oldest turns went"
"""What the receipt says where a policy had nothing of its own to do."""

SPILLED = "no usable summary: results were spilled and nothing was folded"
"""What the receipt of the pressure pass says where a summary could not be had."""


def masked_result(tokens: int) -> str:
    """What stands in the place of a tool result that was masked.

    Args:
        tokens: raw tokens that the result had.
    """
    return f"[{tokens} tokens of tool output removed to save room]"


def stepped_in(policy: str, percent: int) -> str:
    """On a receipt: a scheduled policy acted, since the model had not.

    Args:
        policy: its name.
        percent: how much of the limit was in use.
    """
    return f"no edit in time at {percent} % of the limit: {one_line(policy, 60)} stepped in"


def stepped_in_notice(policy: str, percent: int, tag: str = "") -> str:
    """The same to the model, in the place of what went.

    Args:
        policy: the scheduled policy's name.
        percent: how much of the limit was in use.
        tag: the session's tag; "" where nobody gave one.
    """
    mark = opening(tag) if tag else "[redraft]"
    return f"{mark} {stepped_in(policy, percent)}. Old turns that stood here are gone."
