"""When a scheduled policy is asked, and what becomes of what it wants.

It is asked before each request, once for each state of the context, and what it proposes goes through the
door like anything else. After a failure it is left in peace for a while (DESIGN.md section 4, rule 10).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from redraft.context import Draft, Gate, Insert, Live, Origin, Revision
from redraft.events import PolicyActed
from redraft.policies import Hybrid, Policy, Rotation
from redraft.prompts import intervention_notice, summary_heading
from redraft.session.core import Core
from redraft.session.keeping import state_of
from redraft.session.needs import Decided, Needs
from redraft.session.rotations import (
    PastRotations,
    RotationLog,
    audited,
    gone_on,
    restored,
    told_why,
)

__all__ = ["Cooldown", "Scheduler"]

_LONGEST = 8
"""How much longer than at first a policy is left in peace after failures running."""

_GREW = 0.1
"""The share of the limit by which the context may grow while a policy is left in peace: then there is more
to gain, and more to lose by waiting. It is as many times more after failures running."""


@dataclass(frozen=True, slots=True)
class Cooldown:
    """How long a policy is left in peace.

    Attributes:
        failures: failures running.
        until: the round from which it is asked again.
        tokens: raw tokens of the context from which it is asked earlier.
        refused: whether the door refused what it wanted; otherwise only its summarizer is spared.
    """

    failures: int = 0
    until: int = 0
    tokens: int = 0
    refused: bool = False

    def lasts(self, now: int, tokens: int) -> bool:
        """Whether it goes on in round `now`, with a context of `tokens`."""
        return self.failures > 0 and now < self.until and tokens < self.tokens

    def failed(self, now: int, rounds: int, live: Live, limit: int, *, refused: bool) -> Cooldown:
        """After one more failure.

        Args:
            now: the round in progress.
            rounds: how long the first wait is.
            live: the context.
            limit: the raw limit.
            refused: see the class.
        """
        times = min(2**self.failures, _LONGEST)
        grown = live.tokens + max(int(limit * _GREW * times), 1)
        return Cooldown(self.failures + 1, now + rounds * times, grown, refused)


class Scheduler:
    """Asks a policy, fulfils its needs, and takes what it wants to the door.

    Args:
        core: the session's state.
        needs: fulfils what it needs.
        tag: the session's tag.
        policy: the policy; None for a session without one.
        cooldown: rounds for which it is left in peace after a failure.
        clock: seconds since the epoch, for the log.

    Attributes:
        policy: as it stands: one that keeps a log has it with it.
        needs: as given; tools that need a summary ask here as well.
        log: the rotations so far, whichever policy made them.
    """

    def __init__(
        self,
        core: Core,
        needs: Needs,
        tag: str,
        policy: Policy | None = None,
        *,
        cooldown: int = 4,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policy = policy
        self.needs = needs
        self.log = RotationLog()
        self.clock = clock
        self._core = core
        self._tag = tag
        self._rounds = cooldown
        self._cooldown = Cooldown()
        self._seen: tuple[Live, int] | None = None

    def act(self) -> list[str]:
        """Before a request: let the policy do what it wants, if anything.

        Returns:
            what the model must be told of it, where it edits by itself and was too late.
        """
        core, policy, told = self._core, self.policy, len(self.log.rotations)
        now = core.live, core.raw_limit
        if policy is None or now == self._seen or _goes_on(core.live):
            return []
        resting = self._cooldown.lasts(core.round, core.live.tokens)
        if not (resting and self._cooldown.refused):
            decided = self.needs.decided(policy, paying=not resting)
            went = self._carry_out(policy, decided)
            self._mind(decided, went=went, resting=resting)
        self._seen = core.live, core.raw_limit
        news = self.log.rotations[told:] if isinstance(policy, Hybrid) else ()
        return [
            intervention_notice(
                one.method, core.shown(one.before), core.shown(one.after), self._tag
            )
            for one in news
        ]

    def instead(self, policy: Policy, decided: Decided) -> Policy:
        """Carry out what another policy than the scheduled one decided.

        Args:
            policy: the policy.
            decided: what it came to.

        Returns:
            the policy as it goes on.
        """
        return self._rotated(policy, decided)[0]

    def _mind(self, decided: Decided, *, went: bool, resting: bool) -> None:
        """Remember a failure, or that there is none any more."""
        core, refused = self._core, decided.revision is not None and not went
        if refused or decided.fault:
            self._cooldown = self._cooldown.failed(
                core.round, self._rounds, core.live, core.raw_limit, refused=refused
            )
        elif went and not resting:  # what went without its summarizer says nothing of that
            self._cooldown = Cooldown()

    def _carry_out(self, policy: Policy, decided: Decided) -> bool:
        self.policy, went = self._rotated(policy, decided)
        return went

    def _rotated(self, policy: Policy, decided: Decided) -> tuple[Policy, bool]:
        """The policy after its revision, and whether that passed the door."""
        core, revision = self._core, decided.revision
        if revision is None:
            return policy, False
        before, percent = core.live, round(100 * core.live.tokens / max(core.raw_limit, 1))
        # Whoever wrote the policy: one that does not pay for itself is refused.
        proposed = replace(_headed(before, revision, self._tag), author="policy")
        judged = core.propose(replace(proposed, gate=Gate.CONSERVE))
        if not judged.applied:
            return policy, False
        method, why = told_why(policy, revision, percent)
        rotation = Rotation(
            self.clock(), method, why, before.tokens, core.live.tokens, decided.spent
        )
        self._log(policy.name, judged.number, before, core.live, rotation)
        return gone_on(policy, before, core.live, rotation), True

    def _log(self, name: str, number: int, before: Live, after: Live, rotation: Rotation) -> None:
        core, report = self._core, audited(before, after)
        self.log = self.log.after(rotation, report)
        core.tell(
            PolicyActed(
                core.round,
                number,
                rotation.at,
                name,
                rotation.method,
                rotation.why,
                core.shown(before.tokens),
                core.shown(after.tokens),
                before.tokens,
                after.tokens,
                rotation.spent,
                len(report.found) + len(report.missing),
                len(report.missing),
            )
        )
        self.needs.keep(state_of(after, rotation, report), name)

    # -- another process -------------------------------------------------------------------------

    def recall(self, past: PastRotations) -> None:
        """Remember the rotations of another process."""
        self.log, self.policy = restored(past, self.policy)

    def tell_owed(self, past: PastRotations) -> None:
        """Tell of the rotation that another process recorded and did not get to tell of."""
        core, turned, own = self._core, past.untold, self.policy
        if turned is None:
            return
        before, after, name = turned.before, turned.after, turned.revision.source
        percent = round(100 * before.tokens / max(core.raw_limit, 1))
        ours = own if own is not None and own.name == name else None
        method, why = name, f"{percent} % of the limit was in use"
        if ours is not None:
            method, why = told_why(ours, turned.revision, percent)
        rotation = Rotation(self.clock(), method, why, before.tokens, after.tokens, past.since)
        self._log(name, turned.number, before, after, rotation)
        if ours is not None:
            self.policy = gone_on(ours, before, after, rotation)


def _goes_on(live: Live) -> bool:
    """Whether a context ends with words of the model's, which it is to go on from: those must stay."""
    return bool(live.turns) and live.turns[-1].role == "assistant"


def _headed(live: Live, revision: Revision, tag: str) -> Revision:
    """The revision with a line over each summary that it adds, which says what it is."""
    gone = sum(1 for change in revision.changes if change.new is None)

    def headed(insert: Insert) -> Insert:
        new = insert.new
        if not (isinstance(new, Draft) and new.origin is Origin.SUMMARY):
            return insert
        content = new.content
        text = f"{summary_heading(gone, tag)}\n{content.text}"
        written = live.dialect.write(content, text, content.calls, content.parts)
        return replace(insert, new=live.draft(written, new.origin))

    return replace(revision, inserts=tuple(map(headed, revision.inserts)))
