"""Policies by name, and stand-ins for what a policy asks a model for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import redraft.policies
from redraft.errors import SettingsError
from redraft.policies import Need, Policy, Summarize
from redraft.replay.rollback import RollBack
from redraft.tokens import Meter

__all__ = ["known_policies", "policies_named", "stand_in"]


def known_policies() -> Mapping[str, Callable[[], Policy]]:
    """Every policy of `redraft.policies` that can be made without arguments, and `rollback`, by name."""
    found: dict[str, Callable[[], Policy]] = {RollBack.name: RollBack}
    for name in redraft.policies.__all__:
        made: Any = getattr(redraft.policies, name)
        called = _name(made) if isinstance(made, type) and hasattr(made, "decide") else None
        if isinstance(called, str):
            found[called] = made
    return dict(sorted(found.items()))


def _name(made: type) -> object:
    """The policy's name, where it can be made without arguments."""
    if getattr(made, "_is_protocol", False):
        return None
    try:
        return made().name
    except (AttributeError, TypeError):
        return None


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
    """An answer to a policy's need without any model: it has the size of one, not its sense.

    A summary is made of the start and the end of what was to be summarized, as long as it may be; a
    memory has nothing.

    Args:
        need: what the policy asks for.
        meter: counts.
    """
    if not isinstance(need, Summarize):
        return ""
    text, tokens = need.text, meter.text(need.text)
    if tokens <= need.max_tokens:
        return text
    half = len(text) * need.max_tokens // tokens // 2
    while half > 0:
        cut = f"{text[:half]}\n[...]\n{text[len(text) - half :]}"
        if meter.text(cut) <= need.max_tokens:
            return cut
        half = half * 9 // 10
    return ""
