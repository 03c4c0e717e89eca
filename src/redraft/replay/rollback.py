"""`rollback`: the harness's safety net by itself, as a policy to replay: overflow, and nothing before."""

from __future__ import annotations

from redraft import prompts
from redraft.budget import Rollbacks, choose, commands
from redraft.context import Change, Gate, Insert, Origin, Revision
from redraft.policies import View

__all__ = ["RollBack"]

_TAG = "0000"
_NOTICE = 512  # raw tokens that the notice may take


class RollBack:
    """Drop the newest groups once the context is over its limit (`redraft.budget.choose`).

    In a replay the transcript goes on as if nothing had been dropped, so the next results of the
    recorded run join a context that has a hole.
    """

    name = "rollback"

    def __init__(self) -> None:
        self._rollbacks = Rollbacks()

    def decide(self, view: View) -> Revision | None:
        """Nothing below the limit; above it, as much as frees the margin."""
        live = view.live
        depth = self._rollbacks.depth(view.limit)
        if live.tokens <= view.limit or depth is None:
            return None
        choice = choose(live, live.tokens - view.limit + depth + _NOTICE)
        if not choice.numbers:
            return None
        self._rollbacks = self._rollbacks.rolled()
        gone = set(choice.numbers)
        dropped = [turn for turn in live.turns if turn.number in gone]
        kept = [turn for turn in live.turns if turn.number not in gone]
        free = view.limit - (live.tokens - choice.freed)
        named = commands(live, choice.numbers)
        text = prompts.rollback_notice(len(dropped), named, max(free, 0), _TAG)
        note = live.draft(live.dialect.note("user", text), Origin.HARNESS)
        return Revision(
            "harness",
            self.name,
            tuple(Change(turn.number, turn.digest, None) for turn in dropped),
            (Insert(kept[-1].number if kept else 0, note),),
            Gate.FIT,
        )
