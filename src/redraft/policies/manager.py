"""`manager`: the scheduled manager of `seeds/003_*`. It watches the budget, chooses a strategy by rules,
rotates, and keeps a log.

Pure like every policy: it has no clock and keeps nothing. Whoever uses it hands in the time with `rotated`
and goes on with the manager that comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from redraft.context import Commit, Live, Revision, commit, groups
from redraft.errors import SettingsError
from redraft.policies.audit import Preservation, critical, preserved
from redraft.policies.base import Need, Policy, View
from redraft.policies.folding import movable, size
from redraft.policies.hierarchical_summary import HierarchicalSummary
from redraft.policies.offload import Offload
from redraft.policies.options import nested
from redraft.policies.report import ContextReport, MemoryPlan, saved_per_hour
from redraft.policies.sliding_window import SlidingWindow
from redraft.policies.superseded import stale_notes
from redraft.policies.threshold_summary import ThresholdSummary
from redraft.policies.tuning import Adjustment, Rotation, Tuning, adjusted

__all__ = ["RULES", "Manager", "Rule", "Situation", "dry_run"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules look at.

    Attributes:
        share: the share of the limit that is used.
        tools: the share of the movable tokens that tool results hold.
        rounds: groups with tool calls.
        rotations: how often the context was rotated before.
    """

    share: float
    tools: float
    rounds: int
    rotations: int

    @classmethod
    def of(cls, live: Live, limit: int, rotations: int = 0) -> Situation:
        """The situation of a context.

        Args:
            live: the live context.
            limit: the raw limit in tokens.
            rotations: see the class.
        """
        old = movable(live)
        results = sum(t.tokens for group in old for t in group.turns if t.role == "tool")
        called = sum(1 for group in groups(live.turns, live.head) if group.head.content.calls)
        share = live.tokens / limit if limit > 0 else 1.0
        return cls(share, results / max(size(old), 1), called, rotations)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of choice.

    Attributes:
        strategy: the name of the strategy.
        why: the reason that goes into the log.
        holds: whether it applies.
    """

    strategy: str
    why: str
    holds: Callable[[Situation], bool]


RULES = (
    Rule("offload", "most of the context is tool output", lambda s: s.tools >= 0.6),
    Rule("hierarchical-summary", "a task in many steps: its state matters", lambda s: s.rounds > 5),
    Rule("sliding-window", "a conversation: recent words matter most", lambda s: s.rotations == 0),
    Rule("threshold-summary", "it was cut before: sliding again would drift", lambda _: True),
)
"""The built-in rules, the first that holds wins. Sources: `seeds/003_*`, core workflow, step 2, and its
warning not to rely on sliding windows alone."""


def _strategies(tuning: Tuning) -> Mapping[str, Policy]:
    """The strategies, all with the manager's own thresholds."""
    low, target = tuning.lowest, tuning.target
    window = SlidingWindow(low, target)
    made: tuple[Policy, ...] = (
        Offload(low, target, fallback=window),
        HierarchicalSummary(low, fallback=window),
        ThresholdSummary(low, fallback=window),
        window,
    )
    return MappingProxyType({policy.name: policy for policy in made})


@dataclass(frozen=True, slots=True)
class Manager:
    """Check the budget, choose, rotate.

    Attributes:
        tuning: the thresholds.
        rules: what chooses, in order.
        strategies: what can be chosen, by name; by default the four of the rules.
        rotations, adjustments: the log so far.
        preservation: the preservation report of the newest rotation.
    """

    tuning: Tuning = field(default_factory=Tuning, metadata=nested(inline=True))
    rules: tuple[Rule, ...] = RULES
    strategies: Mapping[str, Policy] = field(default_factory=dict)
    rotations: tuple[Rotation, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    preservation: Preservation = field(default_factory=Preservation)
    name: str = "manager"

    def __post_init__(self) -> None:
        if any(isinstance(policy, Manager) for policy in self.strategies.values()):
            raise SettingsError("a manager cannot manage itself; name other strategies")
        known = self.known()
        for rule in self.rules:
            if rule.strategy not in known:
                raise SettingsError(
                    f"a rule names the strategy {rule.strategy!r}; use one of {', '.join(known)}"
                )

    def known(self) -> Mapping[str, Policy]:
        """The strategies by name."""
        return self.strategies or _strategies(self.tuning)

    def choose(self, live: Live, limit: int) -> Rule | None:
        """The rule that chooses for this context; None where none holds.

        Args:
            live: the live context.
            limit: the raw limit in tokens.
        """
        situation = Situation.of(live, limit, len(self.rotations))
        return next((rule for rule in self.rules if rule.holds(situation)), None)

    def decide(self, view: View) -> Revision | Need | None:
        """What to do now.

        (1) Below the trigger: nothing. (2) Ask the strategy that the rules choose. (3) What it wants to
        do is tried first: it must pass the door and keep what is critical, else the window slides.
        (4) Stale notes go along.
        """
        live = view.live
        if live.tokens < self.tuning.trigger * view.limit:
            return None
        rule = self.choose(live, view.limit)
        if rule is None:
            return None
        decision = self.known()[rule.strategy].decide(view)
        if decision is not None and not isinstance(decision, Revision):
            return decision
        window = SlidingWindow(self.tuning.lowest, self.tuning.target)
        for revision in (decision, window.decide(view)):
            if revision is not None:
                tidy = self._named(_with_stale(live, revision), rule)
                for one in (tidy, self._named(revision, rule)):
                    if self._good(live, one, view.limit):
                        return one
        return None

    def rotated(self, before: Live, after: Live, at: float, why: str, spent: int = 0) -> Manager:
        """The manager once a rotation is through the door.

        Args:
            before, after: the context around it.
            at: when, in seconds of the caller's clock.
            why: what the revision's first note says: `strategy: reason`.
            spent: tokens that its summary cost outside of the window.
        """
        method, _, reason = why.partition(": ")
        rotation = Rotation(at, method, reason, before.tokens, after.tokens, spent)
        rotations = (*self.rotations, rotation)
        tuning, step = adjusted(self.tuning, rotations)
        gone = {t.number for t in before.turns} - {t.number for t in after.turns}
        return replace(
            self,
            tuning=tuning,
            rotations=rotations,
            adjustments=(*self.adjustments, step) if step else self.adjustments,
            preservation=preserved(critical(before, gone), after),
        )

    def report(self, live: Live, limit: int, started: float, now: float) -> ContextReport:
        """The context report.

        Args:
            live: the live context.
            limit: the raw limit in tokens.
            started, now: the session's time, in seconds of the caller's clock.
        """
        last = self.rotations[-1] if self.rotations else None
        return ContextReport(
            live.tokens,
            limit,
            last.method if last else "",
            last.why if last else "below the trigger: all of it passes through",
            self.preservation if last else preserved(critical(live), live),
            MemoryPlan.of(live),
            saved_per_hour(self.rotations, started, now),
            self.rotations,
            self.adjustments,
        )

    def _named(self, revision: Revision, rule: Rule) -> Revision:
        strategy = revision.source
        why = rule.why if strategy == rule.strategy else f"instead of {rule.strategy}"
        notes = (f"{strategy}: {why}", *revision.notes)
        return replace(revision, source=self.name, notes=notes)

    def _good(self, live: Live, revision: Revision, limit: int) -> bool:
        done = commit(live, revision, limit)
        return isinstance(done, Commit) and preserved(critical(live), done.live).ok


def dry_run(live: Live, revision: Revision, limit: int) -> int | None:
    """Raw tokens of the context that a revision would make, before it is used.

    Args:
        live: the live context.
        revision: what is proposed.
        limit: the raw limit in tokens.

    Returns:
        the count; None where the door would refuse it.
    """
    done = commit(live, revision, limit)
    return done.live.tokens if isinstance(done, Commit) else None


def _with_stale(live: Live, revision: Revision) -> Revision:
    touched = {change.number for change in revision.changes}
    anchors = {insert.after for insert in revision.inserts}
    more = [
        one for one in stale_notes(live) if one.number not in touched and one.number not in anchors
    ]
    return replace(revision, changes=(*revision.changes, *more))
