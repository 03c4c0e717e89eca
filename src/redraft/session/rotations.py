"""What the rotations of a session were: the log, and the policy that goes on from it.

Built from values as they happen, and again from a run's record, so that a session that is taken up goes
on as it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from redraft.context import Live, Revision, Spend
from redraft.dialects.stubs import OverflowStub
from redraft.events import Event, PolicyActed, SpentOutside
from redraft.policies import (
    ContextReport,
    Hybrid,
    Manager,
    Policy,
    Preservation,
    Rotation,
    Tuning,
    critical,
    preserved,
)
from redraft.policies.report import MemoryPlan, saved_per_hour
from redraft.policies.tuning import Adjustment, adjusted
from redraft.prompts import FELL_BACK, NOTHING_ELSE

__all__ = [
    "PastRotations",
    "RotationLog",
    "Turned",
    "audited",
    "gone_on",
    "report_of",
    "restored",
    "told_why",
]

_WINDOW = "sliding-window"


@dataclass(frozen=True, slots=True)
class RotationLog:
    """The rotations of a session, whichever policy made them.

    Attributes:
        rotations: in order.
        preservation: what became of all that had to survive the newest one.
    """

    rotations: tuple[Rotation, ...] = ()
    preservation: Preservation = field(default_factory=Preservation)

    def after(self, rotation: Rotation, preservation: Preservation) -> RotationLog:
        """The log with one more."""
        return RotationLog((*self.rotations, rotation), preservation)


def audited(before: Live, after: Live) -> Preservation:
    """Hold a context against the one before a rotation: all that must survive, and the exact values of
    the turns that left, or whose words went without a pointer to where they are."""
    stays = {turn.number: turn for turn in after.turns}
    leaving = {
        turn.number
        for turn in before.turns
        if (now := stays.get(turn.number)) is None
        or (now.digest != turn.digest and OverflowStub.parse(now.content.text) is None)
    }
    return preserved(critical(before, leaving), after)


def told_why(policy: Policy, revision: Revision, percent: int) -> tuple[str, str]:
    """(method, why): the strategy that a revision follows, and the reason for it.

    Args:
        policy: who proposed it.
        revision: what was proposed.
        percent: how much of the limit was in use.
    """
    notes = list(revision.notes)
    late = ""
    if isinstance(policy, Hybrid):
        late, policy = notes.pop() if notes else "", policy.beneath
    method, why = policy.name, ""
    if isinstance(policy, Manager) and notes:
        method, _, why = notes.pop(0).partition(": ")
    slid = next((note for note in notes if note in (FELL_BACK, NOTHING_ELSE)), "")
    if slid and method != _WINDOW:
        method, why = _WINDOW, f"instead of {method}: {slid}"
    said = filter(None, (late, why or "; ".join(notes)))
    return method, "; ".join(said) or f"{percent} % of the limit was in use"


def gone_on(policy: Policy, before: Live, after: Live, rotation: Rotation) -> Policy:
    """The policy after a rotation of its: one that keeps a log has one more entry."""
    if isinstance(policy, Hybrid):
        return replace(policy, beneath=gone_on(policy.beneath, before, after, rotation))
    if not isinstance(policy, Manager):
        return policy
    why = f"{rotation.method}: {rotation.why}"
    return policy.rotated(before, after, rotation.at, why, rotation.spent)


def _recalled(policy: Policy, rotations: Sequence[Rotation], kept: Preservation) -> Policy:
    """The policy as it was after its rotations."""
    if isinstance(policy, Hybrid):
        return replace(policy, beneath=_recalled(policy.beneath, rotations, kept))
    if not isinstance(policy, Manager) or not rotations:
        return policy
    tuning, steps = _tuned(policy.tuning, rotations)
    return replace(
        policy, tuning=tuning, rotations=tuple(rotations), adjustments=steps, preservation=kept
    )


def _tuned(tuning: Tuning, rotations: Sequence[Rotation]) -> tuple[Tuning, tuple[Adjustment, ...]]:
    steps: list[Adjustment] = []
    for at in range(1, len(rotations) + 1):
        tuning, step = adjusted(tuning, rotations[:at])
        steps += [step] if step else []
    return tuning, tuple(steps)


def _rotation(event: PolicyActed) -> Rotation:
    return Rotation(
        event.time, event.method, event.why, event.before_raw, event.after_raw, event.spent
    )


def report_of(
    policy: Policy | None,
    log: RotationLog,
    live: Live,
    limit: int,
    *,
    shown: Callable[[int], int],
    chosen: str = "",
    memory: str = "",
    started: float,
    now: float,
) -> ContextReport:
    """The context report of a session, whatever its policy is.

    Args:
        policy: the scheduled policy as it stands; None for none.
        log: the rotations of the session.
        live: the live context.
        limit: the limit in tokens, as it is shown.
        shown: raw tokens as the model is told of them, and as a person set the limit.
        chosen: the policy that was chosen, also where the model is the one that decides; "" for none.
        memory: where the session's memory is; "" for none.
        started, now: the session's time, in seconds of one clock.
    """
    rotations = tuple(
        replace(one, before=shown(one.before), after=shown(one.after)) for one in log.rotations
    )
    last = rotations[-1] if rotations else None
    manager = policy.beneath if isinstance(policy, Hybrid) else policy
    quiet = "no policy is scheduled"
    if policy is not None:
        quiet = "nothing was rotated so far: all of it passes through"
    elif chosen:
        quiet = "the model decides; nothing is scheduled"
    return ContextReport(
        shown(live.tokens),
        limit,
        last.method if last else policy.name if policy is not None else chosen,
        last.why if last else quiet,
        log.preservation if last else preserved(critical(live), live),
        MemoryPlan.of(live, memory),
        saved_per_hour(rotations, started, now),
        rotations,
        manager.adjustments if isinstance(manager, Manager) else (),
    )


@dataclass(frozen=True, slots=True)
class Turned:
    """A policy's revision that passed the door, as a run's record has it.

    Attributes:
        number: the revision's number.
        revision: the revision.
        before, after: the context around it.
    """

    number: int
    revision: Revision
    before: Live
    after: Live


@dataclass(slots=True)
class PastRotations:
    """What a run's record says of rotations, and of what was spent outside of the window.

    Attributes:
        acted: what was told of each.
        newest: the last one that was told of.
        untold: the last one, where the process ended before it was told of.
        spend: the spend ledger.
        since: tokens that were spent since the last rotation.
    """

    acted: list[PolicyActed] = field(default_factory=list)
    newest: Turned | None = None
    untold: Turned | None = None
    spend: list[Spend] = field(default_factory=list)
    since: int = 0

    def committed(self, number: int, revision: Revision, before: Live, after: Live) -> None:
        """Take note of a revision that passed."""
        if revision.author == "policy":
            self.untold = Turned(number, revision, before, after)

    def told(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case SpentOutside(purpose=purpose, prompt=prompt, output=output):
                self.spend.append(Spend(purpose, prompt, output))
                self.since += prompt + output
            case PolicyActed(number=number):
                self.acted.append(event)
                if self.untold is not None and self.untold.number == number:
                    self.newest, self.untold = self.untold, None
                self.since = 0


def restored(past: PastRotations, policy: Policy | None) -> tuple[RotationLog, Policy | None]:
    """The log as a run's record has it, and the policy as it stood at the record's end.

    Args:
        past: what the record says.
        policy: the policy as it was at the beginning.
    """
    newest = past.newest
    kept = Preservation() if newest is None else audited(newest.before, newest.after)
    log = RotationLog(tuple(map(_rotation, past.acted)), kept)
    if policy is None:
        return log, None
    own = [_rotation(event) for event in past.acted if event.policy == policy.name]
    return log, _recalled(policy, own, kept)
