"""What leaves when the context has overflowed: the newest groups, and how many of them.

After an overflow a model tends to run the very command again that caused it. So a rollback that is
not followed by an edit goes deeper than the one before it, and the notice names the commands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from redraft.budget.limits import MARGIN
from redraft.context import Group, Live, Origin, Turn, groups
from redraft.dialects.base import Call

__all__ = [
    "MAXIMUM",
    "NAMED",
    "PATIENCE",
    "Choice",
    "Overflow",
    "Phase",
    "Rollbacks",
    "choose",
    "commands",
    "overflow",
]

MAXIMUM = 50
"""Rollbacks in one run (DESIGN.md section 6)."""
PATIENCE = 4
"""Rollbacks since the last applied edit that free no more than the margin."""
NAMED = 5
"""Commands that the notice names."""

_LINE = 120


class Phase(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    FINAL = "final"
    """One last turn: the model is to answer with what it has."""
    STOPPED = "stopped"

    def ended(self) -> Phase:
        """What follows once the run cannot go on as it is: the final turn, then the stop."""
        return Phase.FINAL if self is Phase.RUNNING else Phase.STOPPED


@dataclass(frozen=True, slots=True)
class Rollbacks:
    """How often the context was rolled back.

    Attributes:
        count: rollbacks in this run.
        since_edit: rollbacks since the last applied edit.
    """

    count: int = 0
    since_edit: int = 0

    def depth(self, limit: int, *, margin: int = MARGIN, maximum: int = MAXIMUM) -> int | None:
        """Tokens that must be free after the next rollback.

        Args:
            limit: tokens that a context may hold.
            margin: the step in tokens.
            maximum: rollbacks allowed in a run.

        Returns:
            the margin for the first four since the last applied edit, one margin more for each
            further one, at most three quarters of the limit; None once `maximum` is spent.
        """
        if self.count >= maximum:
            return None
        steps = max(self.since_edit - PATIENCE + 1, 0) + 1
        return min(steps * margin, limit * 3 // 4)

    def rolled(self) -> Rollbacks:
        """The state after one more rollback."""
        return Rollbacks(self.count + 1, self.since_edit + 1)

    def applied_edit(self) -> Rollbacks:
        """The state after an applied edit, the only thing that resets the depth: a mere dip under
        the limit would keep a livelock alive."""
        return replace(self, since_edit=0)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which turns a rollback drops.

    Attributes:
        numbers: the turns, in the context's order; whole groups.
        freed: raw tokens that leave with them.
        enough: whether that is what was needed.
    """

    numbers: tuple[int, ...]
    freed: int
    enough: bool


def choose(live: Live, needed_raw: int) -> Choice:
    """Pick the newest groups until enough is freed.

    Skipped: protected turns, everything that a user turn says (flattened tool output is not that),
    groups with an unanswered call, and plans of a policy, which the door would refuse to drop.

    Args:
        live: the live context.
        needed_raw: raw tokens that must go. Count in what the notice will take.

    Returns:
        what can be dropped, even where it is not enough.
    """
    fixed = live.protected() | live.plans
    picked: list[Turn] = []
    freed = 0
    for group in reversed(list(groups(live.turns, live.head))):
        if freed >= needed_raw:
            break
        if _stays(group, fixed):
            continue
        picked.extend(reversed(group.turns))
        freed += sum(turn.tokens for turn in group.turns)
    numbers = tuple(turn.number for turn in reversed(picked))
    return Choice(numbers, freed, freed >= needed_raw)


def _stays(group: Group, fixed: frozenset[int]) -> bool:
    head = group.head
    said = head.role == "user" and head.origin is not Origin.TOOL
    return said or bool(group.open_calls) or any(turn.number in fixed for turn in group.turns)


def commands(
    live: Live, numbers: Iterable[int], describe: Callable[[Call], str] | None = None
) -> tuple[str, ...]:
    """The calls among the dropped turns, for the notice.

    Args:
        live: the live context before the rollback.
        numbers: the turns that are dropped.
        describe: puts a call into words; by default its `command`, `cmd` or `script` argument, else
            its name and arguments.

    Returns:
        at most five, the newest last, each one line of at most 120 characters.
    """
    dropped = set(numbers)
    calls = [call for turn in live.turns if turn.number in dropped for call in turn.content.calls]
    return tuple(_line((describe or _describe)(call)) for call in calls[-NAMED:])


def _describe(call: Call) -> str:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        for key in ("command", "cmd", "script"):
            value = arguments.get(key)
            if isinstance(value, str) and value.strip():
                return value
    return f"{call.name} {call.arguments}"


def _line(text: str) -> str:
    # Only the start is looked at: arguments may hold a whole file.
    words = "".join(c if c.isprintable() else " " for c in text[: 8 * _LINE]).split()
    line = " ".join(words)
    return line if len(line) <= _LINE and len(text) <= 8 * _LINE else f"{line[: _LINE - 1]}…"


@dataclass(frozen=True, slots=True)
class Overflow:
    """What to do about an overflow.

    Attributes:
        rollbacks: the state after it.
        phase: how the run stands after it.
        choice: what to drop; None where there is nothing more to roll back.
    """

    rollbacks: Rollbacks
    phase: Phase
    choice: Choice | None


def overflow(
    live: Live,
    rollbacks: Rollbacks,
    phase: Phase,
    limit: int,
    needed_raw: Callable[[int], int],
    *,
    margin: int = MARGIN,
    maximum: int = MAXIMUM,
) -> Overflow:
    """Decide on a context that is over its limit.

    Cases: (1) outside the running phase no rollback is left to make: the run stops; (2) the
    rollbacks are spent, or nothing can be dropped: the final turn; (3) else a rollback.

    Args:
        live: the live context.
        rollbacks: how often it was rolled back.
        phase: how the run stands.
        limit: tokens that a context may hold.
        needed_raw: raw tokens that must go so that so many tokens are free.
        margin: the depth's step in tokens.
        maximum: rollbacks allowed in a run.
    """
    depth = rollbacks.depth(limit, margin=margin, maximum=maximum)
    if phase is not Phase.RUNNING or depth is None:
        return Overflow(rollbacks, phase.ended(), None)  # (1), (2)
    choice = choose(live, needed_raw(depth))
    if not choice.numbers:
        return Overflow(rollbacks, phase.ended(), None)  # (2)
    return Overflow(rollbacks.rolled(), phase, choice)  # (3)
