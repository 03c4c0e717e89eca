"""Trials: a conversation and a script of edits in, what the provider refuses out.

What the property tests assert and the fuzzer (`make fuzz`) looks for: one list that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redraft.context import Live
from redraft.dialects import Profile, check, profile_of, repair
from redraft.dialects.capabilities import capabilities_of
from redraft.errors import BudgetError
from redraft.testing.edits import Play, Step, closed
from redraft.testing.judge import Judge
from redraft.testing.rehearsal import MODELS, Rehearsal, dialect_named
from redraft.tokens import Meter

__all__ = ["TRIALS", "door_trial", "list_trial", "session_trial"]

Json = dict[str, Any]
Trial = Callable[[str, Json, Iterable[Step]], list[str]]


class _Letters:
    """A counter that is fast and never wrong: one token a character."""

    def count(self, text: str) -> int:
        return len(text)


class _Provider:
    """Judges every request of a script, and remembers the answers in it."""

    def __init__(self, name: str, body: Mapping[str, Any]) -> None:
        self.found: list[str] = []
        self._field = dialect_named(name).turns_field
        self._profile = profile_of(dialect_named(name), MODELS[name])
        self._judge = Judge(name)
        self._judge.learn(body)

    def asked(self, live: Live, response: Mapping[str, Any]) -> None:
        """A request whose answer is known."""
        body = self.judged(live)
        self._judge.answered(body, response)

    def judged(self, live: Live) -> Json:
        """The request as a session sends it, repaired on a copy; complaints are kept."""
        body = live.outgoing.body()
        body[self._field] = list(repair(body[self._field], self._profile))
        self.found += self._judge.complaints(body)
        self.found += [one.says for one in check(body[self._field], self._profile)]
        return body


def door_trial(name: str, body: Json, script: Iterable[Step]) -> list[str]:
    """Play a script at the door, without a session.

    Args:
        name: the wire format's name.
        body: the request that the conversation begins with.
        script: what happens to it.

    Returns:
        what the provider would refuse of the lists on the way; empty if nothing.

    Raises:
        AssertionError: the running sum of tokens is not the recount.
    """
    dialect = dialect_named(name)
    frame, contents = dialect.split(body)
    binding = capabilities_of(MODELS[name], name).reasoning
    live = Live.start(dialect, Meter(_Letters()), frame, contents, binding=binding)
    provider = _Provider(name, body)
    play = Play(live, asked=provider.asked)
    for step in script:
        play.step(step)
        if play.live.recount() != play.live.tokens:
            raise AssertionError(f"{play.live.tokens} is not the recount after {step}")
    provider.judged(closed(play.live))
    return provider.found


def session_trial(
    name: str, body: Json, script: Iterable[Step], *, budget: int | None = None
) -> list[str]:
    """Play a script in a whole session against the fake provider.

    Args:
        name: the wire format's name.
        body: the request that the conversation begins with.
        script: what happens in it.
        budget: tokens that a prompt may take; where the task alone does not fit, nothing happens.

    Returns:
        what the provider refused; empty if nothing.

    Raises:
        AssertionError: the running sum of tokens is not the recount.
    """
    try:
        rehearsal = Rehearsal(name, body, budget=budget)
    except BudgetError:
        return []
    with rehearsal:
        rehearsal.run(script)
        live = rehearsal.session.live
        if live.recount() != live.tokens:
            raise AssertionError(f"{live.tokens} is not the recount")
        return rehearsal.refusals


def list_trial(name: str, messages: list[Json], profile: Profile | None = None) -> list[str]:
    """Repair a list, legal or not, and ask the provider.

    Args:
        name: the wire format's name.
        messages: the list.
        profile: whose rules to repair it by; by default those of the format.
    """
    rules = profile or profile_of(dialect_named(name), MODELS[name])
    mended = repair(messages, rules)
    if not mended:
        return []
    body = {"model": "m", "max_tokens": 9, dialect_named(name).turns_field: list(mended)}
    found = [one.says for one in check(mended, rules)]
    if repair(mended, rules) is not mended:
        found.append("a repaired list is repaired again")
    return found + Judge(name, bound=False).stateless(body)


TRIALS: Mapping[str, Trial] = {"door": door_trial, "session": session_trial}
"""The trials that take a request and a script, by name."""
