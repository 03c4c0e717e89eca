"""Which models edit their context well by themselves, so that nothing needs to step in for them."""

from __future__ import annotations

import re
from dataclasses import replace

from redraft.policies import Hybrid, Policy

__all__ = ["STRONG", "edits_well", "for_model"]

STRONG = (
    r"claude-(?:opus|sonnet)-[4-9]",
    r"gpt-[5-9](?!.*(?:mini|nano))",
    r"gemini-(?:2-5|[3-9](?:-\d)?)-pro",
)
"""The large models of three makers, by what stands in their names. A judgement, not a measurement: small
models edit rarely (DESIGN.md section 9), and nobody calls these small. A model that is not named here
counts as one that may need help."""

_STRONG = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(STRONG)})")
_BETWEEN = re.compile("[^a-z0-9]+")


def edits_well(model: str) -> bool:
    """Whether a model is known to edit its context well by itself.

    Args:
        model: its name, in any spelling: `claude-opus-4-5`, `openai/gpt-5`. "" for unknown.
    """
    return _STRONG.search(_BETWEEN.sub("-", model.lower())) is not None


def for_model(policy: Policy | None, model: str) -> Policy | None:
    """A policy as it is with a model: a hybrid leaves a strong one alone unless it was told otherwise."""
    if isinstance(policy, Hybrid) and edits_well(model):
        return replace(policy, strong=True)
    return policy
