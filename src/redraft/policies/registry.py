"""Who may decide, by name: the whole control spectrum, and how a policy is made from typed options.

The harness's policies are classes of this package. The names that let the model decide are described here
too, so that a command can list them; what they mean is tools and a context file, which a session offers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal

from redraft.errors import SettingsError
from redraft.policies.append_only import AppendOnly
from redraft.policies.base import Policy
from redraft.policies.hierarchical_summary import HierarchicalSummary
from redraft.policies.hybrid import Hybrid
from redraft.policies.manager import Manager
from redraft.policies.observation_mask import ObservationMask
from redraft.policies.offers import ContextFile, ContextTools, Fold, OffloadAndRetrieve, SelfCompact
from redraft.policies.offload import Offload
from redraft.policies.options import Option, changed, listed, options_of
from redraft.policies.pressure import Pressure
from redraft.policies.sliding_window import SlidingWindow
from redraft.policies.state_rewrite import StateRewrite
from redraft.policies.threshold_summary import ThresholdSummary

__all__ = ["POLICIES", "SPECTRUM", "Decider", "Described", "described", "made", "offered"]

Decider = Literal["nobody", "harness", "model by action", "model by file", "both"]
"""Who decides when and how the context changes."""

POLICIES: Mapping[str, Callable[[], Policy]] = MappingProxyType(
    {
        "append-only": AppendOnly,
        "hierarchical-summary": HierarchicalSummary,
        "hybrid": Hybrid,
        "manager": Manager,
        "observation-mask": ObservationMask,
        "offload": Offload,
        "pressure": Pressure,
        "sliding-window": SlidingWindow,
        "state-rewrite": StateRewrite,
        "threshold-summary": ThresholdSummary,
    }
)
"""Every policy of the harness, by name; each can be made without arguments."""

_OFFERS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "context-file": ContextFile,
        "context-tools": ContextTools,
        "fold": Fold,
        "offload-and-retrieve": OffloadAndRetrieve,
        "self-compact": SelfCompact,
    }
)

_LINES: Mapping[Decider, Mapping[str, str]] = MappingProxyType(
    {
        "nobody": {
            "append-only": "nothing changes; the baseline",
        },
        "harness": {
            "hierarchical-summary": "older turns become goals, facts, pending actions and constraints",
            "manager": "watches the budget, chooses a strategy by rules, adjusts its trigger",
            "observation-mask": "old tool results become one-line stubs, many at once",
            "offload": "old tool results go to the overflow store, a pointer stays",
            "pressure": "the pass under the context tools: spills results, then folds history",
            "sliding-window": "the oldest groups go, the newest that fit stay",
            "state-rewrite": "one consolidated state, written anew at every call",
            "threshold-summary": "the whole history becomes one summary at a threshold",
        },
        "model by action": {
            "context-tools": "tools to drop, note, pin and read back tool results, and to see the state",
            "fold": "two tools: branch off for a sub-task, come back with its outcome",
            "offload-and-retrieve": (
                "two tools: store something outside, fetch it again; nothing is evicted"
            ),
            "self-compact": "one tool: the model compacts its context, by a rubric on when",
        },
        "model by file": {
            "context-file": "the model edits its context as a file, with its own tools",
        },
        "both": {
            "hybrid": "the model edits; where it does not in time, a scheduled policy steps in",
        },
    }
)


@dataclass(frozen=True, slots=True)
class Described:
    """One place on the control spectrum.

    Attributes:
        name: what it is chosen by.
        decides: who decides when and how the context changes.
        line: what happens, in one line.
        options: what can be set.
    """

    name: str
    decides: Decider
    line: str
    options: tuple[Option, ...]

    @property
    def scheduled(self) -> bool:
        """Whether it is a policy that `made` makes; otherwise tools or a file that a session offers."""
        return self.name in POLICIES

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "name": self.name,
            "decides": self.decides,
            "line": self.line,
            "options": [option.as_dict() for option in self.options],
        }


def _spectrum() -> Iterator[Described]:
    for decides, lines in _LINES.items():
        for name, line in lines.items():
            start: Any = (POLICIES.get(name) or _OFFERS[name])()
            yield Described(name, decides, line, options_of(start))


SPECTRUM: Mapping[str, Described] = MappingProxyType(
    {one.name: one for one in sorted(_spectrum(), key=attrgetter("name"))}
)
"""The whole control spectrum by name: who decides, what happens, what can be set."""


def described(name: str) -> Described:
    """One entry of `SPECTRUM`.

    Raises:
        SettingsError: there is no such policy.
    """
    if name not in SPECTRUM:
        near = get_close_matches(name, SPECTRUM, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SettingsError(
            f"there is no policy {name!r}.{hint} Use one of {', '.join(sorted(SPECTRUM))}"
        )
    return SPECTRUM[name]


def made(name: str, options: Mapping[str, str] | None = None) -> Policy:
    """A policy of the harness with options as somebody typed them.

    Args:
        name: one of `POLICIES`.
        options: texts by the options' names, e.g. `{"trigger": "0.8"}`. What lies beneath is reached with
            a dot: `{"beneath": "threshold-summary", "beneath.trigger": "0.6"}`.

    Raises:
        SettingsError: there is no such policy or option, or an option is out of its range; the message
            lists all options with their defaults and ranges.
    """
    if not described(name).scheduled:
        raise SettingsError(
            f"{name} is no policy that the harness carries out: the model decides, by what a session "
            f"offers it. Use one of {', '.join(POLICIES)}"
        )
    start, typed = POLICIES[name](), dict(options or {})
    if isinstance(start, Hybrid) and "beneath" in typed:
        start = replace(start, beneath=_beneath(typed.pop("beneath").strip()))
    policy: Policy = changed(start, typed)
    return policy


def offered(name: str, options: Mapping[str, str] | None = None) -> Any:
    """What a session offers a model that decides, with options as somebody typed them.

    Args:
        name: a name of `SPECTRUM` that is not `scheduled`.
        options: texts by the options' names.

    Returns:
        the dataclass of that name in `redraft.policies.offers`.

    Raises:
        SettingsError: as for `made`.
    """
    if described(name).scheduled:
        raise SettingsError(
            f"{name} is a policy of the harness, not something that a model is offered"
        )
    return changed(_OFFERS[name](), options or {})


def _beneath(name: str) -> Policy:
    """What a hybrid is to fall back to."""
    if name in POLICIES.keys() - {"hybrid", "append-only"}:
        return POLICIES[name]()
    names = ", ".join(sorted(POLICIES.keys() - {"hybrid", "append-only"}))
    raise SettingsError(
        f"hybrid: beneath={name} cannot be used; it must be one of {names}\n{listed(Hybrid())}"
    )
