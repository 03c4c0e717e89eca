"""Long runs of the policies by which a model acts, with calls right and wrong: legal, bounded, exact."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from action_world import act, ops, session_with
from session_world import ask, balanced, call, calling, legal, says, user

from redraft import Phase, Session
from redraft.policies.audit import exact_values

OPTIONS = {
    "fold": {"depth": "3", "bodies": "1"},
    "offload-and-retrieve": {},
    "self-compact": {"every": "1"},
}


class Player:
    """Works, and uses its policy's tools by chance: often sensibly, sometimes not."""

    def __init__(self, session: Session, policy: str) -> None:
        self.session, self.policy = session, policy
        self.chance = random.Random(policy)
        self.depth = 0

    def own(self, at: int) -> list[dict[str, Any]]:
        chance = self.chance
        if not chance.randrange(12):  # a slip
            name = {"fold": "branch", "self-compact": "compact_context"}.get(self.policy)
            return [act(name or "memory_fetch", f"w{at}", nonsense=1)]
        match self.policy:
            case "fold" if self.depth and not chance.randrange(5):
                self.depth -= 1
                return [act("return_from_branch", f"r{at}", result=f"Part {at} is well.")]
            case "fold" if self.depth < 3 and not chance.randrange(6):
                self.depth += 1
                return [act("branch", f"b{at}", description=f"part {at}", goal="know it")]
            case "self-compact" if self.session.tokens > 0.6 * self.session.limit:
                old = "\n".join(turn.content.text for turn in self.session.live.turns)
                values = " ".join(exact_values(old)) if chance.randrange(4) else ""
                return [act("compact_context", f"c{at}", summary=f"All is well. {values}", keep=2)]
            case "offload-and-retrieve" if not chance.randrange(3):
                fact = f"The service number {chance.randrange(50)} listens on port {40_000 + at}."
                return [
                    act("memory_store", f"s{at}", text=fact),
                    act("memory_fetch", f"f{at}", query=f"service number {chance.randrange(50)}"),
                ]
            case _:
                return []

    def output(self) -> str:
        words = ("parse", "build", "cache", "tail", "why")
        lines = [
            " ".join(self.chance.choices(words, k=30)) for _ in range(self.chance.randrange(1, 9))
        ]
        return f"commit {self.chance.randrange(16**12):012x}\n" + "\n".join(lines)


@pytest.mark.parametrize("rounds", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("policy", sorted(OPTIONS))
def test_a_long_run(policy: str, rounds: int) -> None:
    with session_with(policy, 9_000, policy_options=OPTIONS[policy]) as session:
        player = Player(session, policy)
        for at in range(rounds):
            if session.phase is Phase.STOPPED:
                session.append(user("Go on."))
            own = player.own(at)
            message = calling(*own, call(f"look {at}", f"x{at}"), text=f"step {at}")
            request = ask(session, says(f"Part {at} is well.") if at % 40 == 39 else message)
            assert request is not None
            assert legal(request["messages"])
            assert session.live.outgoing.tokens - session.live.turns[-1].tokens <= session.limit
            with session.round() as now:
                for asked in now.calls:
                    now.result(asked, player.output())
            if session.done:
                session.append(user(f"And part {at + 1}?"))
        done = Counter((op.op, op.ok) for op in ops(session))
        assert len(done) >= 2
        assert sum(count for (_, ok), count in done.items() if ok) >= rounds // 20
        assert balanced(session)
