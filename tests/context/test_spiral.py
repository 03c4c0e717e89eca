"""The loop that was observed in `seeds/002`: every step sound by its own measure, and a context that
climbs from 91 % to 94 % and eats the policy's own decisions. The numbers are the seed's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from context_world import contents, insert, numbers, said, start, user, words

from redraft.context import (
    Change,
    Commit,
    Gate,
    Insert,
    Ledger,
    Live,
    Origin,
    Refusal,
    Revision,
    Row,
    Turn,
    commit,
)
from redraft.dialects import Content
from redraft.errors import RewriteBudgetViolation
from redraft.policies import View

LIMIT = 23_333
FRAMING = 4  # tokens of a turn beside its words
SPANS = 6
FREED, SUMMARIES, RATIONALE, TRACE = 1_580, 480, 700, 1_100
TRIGGER = 0.9


@dataclass
class Compactor:
    """Six spans to five summaries, with a rationale before and a measurement behind them.

    Args:
        gate: the rule on size.
        marked: whether rationale and measurement are marked as plans.
        trace: tokens of the measurement that it writes into the context.
        spans: how many spans it takes; doubled when the door refuses.
    """

    gate: Gate
    marked: bool
    trace: int = TRACE
    spans: int = SPANS
    name: str = "compactor"

    def decide(self, view: View) -> Revision | None:
        """The most verbose turns go first: they look like the best catch."""
        live = view.live
        if live.tokens < TRIGGER * view.limit:
            return None
        turns = live.candidates() if self.marked else live.editable()
        picked = sorted(turns, key=lambda turn: -turn.tokens)[: self.spans]
        changes = tuple(Change(turn.number, turn.digest, None) for turn in picked)
        after = max(picked, key=lambda turn: turn.place).number
        return Revision("policy", self.name, changes, tuple(self._written(live, after)), self.gate)

    def _written(self, live: Live, after: int) -> list[Insert]:
        sizes = [(RATIONALE, self.marked), (self.trace, self.marked)]
        summaries = 5 * self.spans // SPANS
        sizes += [(SUMMARIES // 5, False)] * summaries
        return [
            replace(insert(live, after, words(size - FRAMING), origin=Origin.SUMMARY), plan=plan)
            for size, plan in sizes
            if size
        ]


@dataclass
class Runtime:
    """A runtime that asks a policy before each request.

    Attributes:
        fills: how full the context was after each request, in percent.
        violations: rejected rewrites, apart from the net.
        nets: net tokens of the rewrites that were committed.
        rewritten: the turns that each committed rewrite took away.
    """

    live: Live
    policy: Compactor
    ledger: Ledger = field(default_factory=Ledger)
    fills: list[float] = field(default_factory=list)
    violations: list[RewriteBudgetViolation] = field(default_factory=list)
    nets: list[int] = field(default_factory=list)
    rewritten: list[list[Turn]] = field(default_factory=list)

    def round(self, intake: int = 0) -> None:
        row = Row(len(self.fills), self.live.tokens)
        if intake:
            self.live = self.live.append(said_turns(intake))
            row = row.add(intake=intake)
        revision = self.policy.decide(View(self.live, LIMIT))
        if revision is not None:
            row = self._judge(commit(self.live, revision, LIMIT), row)
        self.ledger.rows.append(row.close(self.live.tokens))
        self.fills.append(round(self.live.tokens * 100 / LIMIT, 1))

    def _judge(self, answer: Commit | Refusal, row: Row) -> Row:
        if isinstance(answer, Refusal):
            if answer.violation:
                self.violations.append(answer.violation)
                self.policy.spans *= 2
            return row
        self.live = answer.live
        self.policy.spans = SPANS // 2
        self.nets.append(answer.deltas.net)
        self.rewritten.append([move.old for move in answer.moves if move.old])
        return row.add(freed=answer.deltas.freed, rewrite=answer.deltas.replacement)


def said_turns(tokens: int) -> tuple[Content, ...]:
    return contents(said(words(tokens - FRAMING)))


def at_91_percent() -> Live:
    """A task, spans of which six are 1,580 tokens, and small talk up to 91 %."""
    spans = [264, 264, 263, 263, 263, 263] + [262] * 60
    live = start(user("task"), *(said(words(size - FRAMING)) for size in spans))
    rest = round(0.91 * LIMIT) - live.tokens
    while rest > 0:
        live = live.append(said_turns(min(rest, 200)))
        rest = round(0.91 * LIMIT) - live.tokens
    assert round(live.tokens * 100 / LIMIT, 1) == 91.0
    return live


class TestWithoutTheGate:
    def test_the_context_climbs_by_three_percent_a_turn_and_triggers_itself_again(self) -> None:
        runtime = Runtime(at_91_percent(), Compactor(Gate.FIT, marked=False))
        runtime.round()
        assert runtime.fills == [94.0]
        assert runtime.policy.decide(View(runtime.live, LIMIT)) is not None

    def test_and_the_policy_eats_its_own_decisions(self) -> None:
        """The rationale looks like verbose reasoning: the best catch there is."""
        runtime = Runtime(at_91_percent(), Compactor(Gate.FIT, marked=False))
        runtime.round()
        own = {turn.number for turn in runtime.live.turns if turn.tokens in (RATIONALE, TRACE)}
        assert len(own) == 2
        revision = runtime.policy.decide(View(runtime.live, LIMIT))
        assert revision is not None
        assert own <= {change.number for change in revision.changes}

    def test_a_cap_on_size_alone_sees_nothing_wrong(self) -> None:
        live = at_91_percent()
        revision = Compactor(Gate.FIT, marked=False).decide(View(live, LIMIT))
        assert revision is not None
        answer = commit(live, revision, LIMIT)
        assert isinstance(answer, Commit)
        assert answer.deltas.net == FREED - SUMMARIES - RATIONALE - TRACE - 64


class TestWithTheGate:
    def test_the_same_rewrite_is_refused_loudly_and_changes_nothing(self) -> None:
        live = at_91_percent()
        runtime = Runtime(live, Compactor(Gate.CONSERVE, marked=True))
        runtime.round()
        assert runtime.fills == [91.0]
        assert runtime.live is live
        (violation,) = runtime.violations
        assert "net -764" in str(violation)
        assert runtime.nets == []

    def test_the_context_stays_bounded_while_work_goes_on(self) -> None:
        """Measurement is amortized: the receipt takes its place. Some attempts are too small, are
        refused, and the next one is larger."""
        policy = Compactor(Gate.CONSERVE, marked=True, trace=0, spans=SPANS // 2)
        runtime = Runtime(at_91_percent(), policy)
        for _ in range(40):
            runtime.round(intake=120)
        assert min(runtime.fills) > 85
        assert max(runtime.fills) < 92
        assert len(runtime.nets) > 5
        assert min(runtime.nets) > 0

    def test_rejections_are_counted_apart_from_the_net(self) -> None:
        policy = Compactor(Gate.CONSERVE, marked=True, trace=0, spans=SPANS // 2)
        runtime = Runtime(at_91_percent(), policy)
        for _ in range(40):
            runtime.round(intake=120)
        assert len(runtime.violations) > 2
        total = runtime.ledger.total()
        assert total.after == runtime.live.tokens == total.expected
        receipts = 64 * len(runtime.nets)
        assert total.freed - total.rewrite_cost == sum(runtime.nets) + receipts

    def test_a_rationale_is_never_a_candidate_again(self) -> None:
        policy = Compactor(Gate.CONSERVE, marked=True, trace=0)
        runtime = Runtime(at_91_percent(), policy)
        for _ in range(40):
            runtime.round(intake=120)
        plans = {turn.number for turn in runtime.live.turns if turn.tokens == RATIONALE}
        assert plans == runtime.live.plans
        assert len(plans) == len(runtime.nets)
        assert not plans & {turn.number for taken in runtime.rewritten for turn in taken}
        assert not plans & {turn.number for turn in runtime.live.candidates()}

    def test_a_policy_that_reaches_for_its_plan_all_the_same_is_refused_as_a_violation(
        self,
    ) -> None:
        policy = Compactor(Gate.CONSERVE, marked=True, trace=0)
        runtime = Runtime(at_91_percent(), policy)
        runtime.round()
        (plan,) = runtime.live.plans
        turn = next(turn for turn in runtime.live.turns if turn.number == plan)
        answer = commit(
            runtime.live,
            Revision("policy", "spiral", (Change(plan, turn.digest, None),), gate=Gate.CONSERVE),
            LIMIT,
        )
        assert isinstance(answer, Refusal)
        assert isinstance(answer.violation, RewriteBudgetViolation)
        assert plan in numbers(runtime.live)
