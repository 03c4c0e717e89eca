"""Policies by name, and stand-ins for what a policy asks a model for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redraft.errors import SettingsError
from redraft.policies import POLICIES, Need, Policy, Summarize, extract
from redraft.replay.rollback import RollBack
from redraft.tokens import Meter

__all__ = ["known_policies", "policies_named", "stand_in"]


def known_policies() -> Mapping[str, Callable[[], Policy]]:
    """Every policy of `redraft.policies.POLICIES`, and `rollback`, by name."""
    return dict(sorted({**POLICIES, RollBack.name: RollBack}.items()))


def policies_named(names: Sequence[str]) -> list[Policy]:
    """New policies by their names.

    Raises:
        SettingsError: there is no policy of that name.
    """
    known = known_policies()
    for name in names:
        if name not in known:
            raise SettingsError(f"there is no policy {name!r}; use one of {', '.join(known)}")
    return [known[name]() for name in names]


def stand_in(need: Need, meter: Meter) -> str:
    """An answer to a policy's need without any model.

    A summary is what the built-in summarizer picks, as long as it may be; a memory has nothing.

    Args:
        need: what the policy asks for.
        meter: counts.
    """
    if not isinstance(need, Summarize):
        return ""
    return extract(need.text, need.max_tokens, meter.text, need.sections)
