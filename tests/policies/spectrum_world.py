"""What the properties of all policies share: eager policies, faulty summarizers, and what must hold."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from redraft.context import Commit, Live, Revision, commit
from redraft.dialects import Dialect, Profile, check, repair
from redraft.policies import (
    HierarchicalSummary,
    Hybrid,
    Manager,
    Need,
    ObservationMask,
    Offload,
    Policy,
    Pressure,
    SlidingWindow,
    StateRewrite,
    Summarize,
    ThresholdSummary,
    Tuning,
    View,
    critical,
    extract,
    preserved,
)
from redraft.testing.judge import Judge
from redraft.tokens import Meter

AT_ONCE = 1e-9
"""A trigger that any context is over."""

FAULTS = (
    "good",
    "nothing",  # a time-out and an error are this too: an empty answer
    "blank",
    "longer",
    "invented",
    "one digit",
    "unsorted",
    "echo",
)


class Words:
    """One token a word, and one for each 20 characters, so that no text is free."""

    def count(self, text: str) -> int:
        return len(text.split()) + len(text) // 20


class Heavy:
    """Eight tokens a character, so that short texts are worth their receipts."""

    def count(self, text: str) -> int:
        return 8 * len(text)


def start(dialect: Dialect, body: Any, meter: Meter, **options: Any) -> Live:
    frame, contents = dialect.split(body)
    return Live.start(dialect, meter, frame, contents, **options)


def summarizer(fault: str, need: Need, meter: Meter) -> str:
    """A summarizer that does what `fault` says."""
    if not isinstance(need, Summarize):
        return ""
    good = extract(need.text, need.max_tokens, meter.text, need.sections)
    return {
        "good": good,
        "nothing": "",
        "blank": " \n\t ",
        "longer": f"{need.text}\n{need.text}\nand more",
        "invented": f"{good}\n8812934 rows were lost",
        "one digit": wrong_digit(good, need.text),
        "unsorted": "All went well so far.",
        "echo": need.text,
    }[fault]


def wrong_digit(summary: str, originals: str) -> str:
    """The summary with one digit of a figure changed, so that no original has that figure."""
    for found in re.finditer(r"(?<!\w)\d+(?!\w)", summary):
        for other in "0123456789":
            changed = f"{other}{found.group()[1:]}"
            if not re.search(rf"(?<!\d){changed}(?!\d)", originals):
                return f"{summary[: found.start()]}{changed}{summary[found.end() :]}"
    return f"{summary}\n31 of 9973"


def decided(
    policy: Policy, live: Live, limit: int, fault: str
) -> tuple[Revision | None, Summarize | None]:
    """What a policy comes to, its needs met, and what it asked for; it may not ask for ever."""
    given_to: dict[str, str] = {}
    asked = None
    for _ in range(4):
        decision = policy.decide(View(live, limit, given_to))
        if decision is None or isinstance(decision, Revision):
            return decision, asked
        assert decision.key not in given_to, "it asks again for what it was given"
        assert isinstance(decision, Summarize)
        asked = decision
        given_to[decision.key] = summarizer(fault, decision, live.meter)
    raise AssertionError("it asks for ever")


def eager() -> dict[str, Callable[[], Policy]]:
    """The policies with everything in their reach, so that short conversations exercise them."""
    window = SlidingWindow(AT_ONCE, 0.0, keep=0)
    return {
        "sliding-window": lambda: window,
        "observation-mask": lambda: ObservationMask(AT_ONCE, 0.0, keep=0, least=0),
        "threshold-summary": lambda: ThresholdSummary(AT_ONCE, fallback=window),
        "hierarchical-summary": lambda: HierarchicalSummary(AT_ONCE, keep=0, fallback=window),
        "state-rewrite": lambda: StateRewrite(keep=0, fallback=window),
        "offload": lambda: Offload(AT_ONCE, 0.0, keep=0, least=1, fallback=window),
        "pressure": lambda: Pressure(AT_ONCE, keep=0, oversized=0, summary=200),
        "hybrid": lambda: Hybrid(window, late=AT_ONCE, last=AT_ONCE),
        "manager": lambda: Manager(Tuning(AT_ONCE, 0.0, AT_ONCE)),
    }


def complained(body: Any, live: Live, profile: Profile) -> tuple[set[str], list[str]]:
    """The rules that a context's own list breaks, and what the provider would refuse of the list that is
    sent, which is repaired on a copy.

    Args:
        body: the request that the conversation began with; what is signed in it counts as made there.
        live: the context.
        profile: the provider's rules.
    """
    judge = Judge(live.dialect.name, bound=live.binding != "free")
    judge.learn(body)
    whole = live.outgoing.body()
    field = live.dialect.turns_field
    broken = {one.rule for one in check(whole[field], profile)}
    whole[field] = list(repair(whole[field], profile))
    refused = [one.says for one in check(whole[field], profile)]
    return broken, refused + judge.complaints({"model": "m", "max_tokens": 9, **whole})


def holds(live: Live, revision: Revision, limit: int) -> Live:
    """Everything that may be asked of a policy's revision, the wire aside.

    It passes the door, shrinks, and frees more than it costs; the ledger is exact; what is critical and
    what is held stands as it stood.
    """
    done = commit(live, revision, max(limit, live.tokens))
    assert isinstance(done, Commit), done.receipt
    assert done.live.tokens < live.tokens
    assert done.deltas.net > 0
    assert (done.deltas.before, done.deltas.after) == (live.tokens, done.live.tokens)
    assert done.live.recount() == done.live.tokens
    report = preserved(critical(live), done.live)
    assert report.ok, report.missing
    held = {turn.number: turn for turn in live.turns if turn.number in live.protected()}
    stays = {turn.number: turn for turn in done.live.turns}
    # The very turn, but that reasoning which a change voids leaves it, as it leaves the wire.
    assert all(stays[number].digest == turn.digest for number, turn in held.items())
    if live.binding == "free":
        assert all(stays[number] is turn for number, turn in held.items())
    return done.live


def talk(chance: random.Random, at: int) -> list[Any]:
    """One exchange of Chat Completions: a question, sometimes rounds of tools, an answer."""
    words = " ".join(chance.choice(("parse", "build", "cache", "tail", "why")) for _ in range(60))
    messages: list[Any] = [{"role": "user", "content": f"Look at part {at}. {words}"}]
    if at % 50 == 7:
        messages[0]["content"] += f" You must never touch /srv/data/{at}."
    for call in range(chance.randrange(3)):
        function = {"name": "bash", "arguments": f'{{"command": "cat {at}.{call}"}}'}
        name = f"c{at}_{call}"
        tool_call = {"id": name, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [tool_call]})
        body = f"commit {chance.randrange(16**12):012x}\n{words}\n" * chance.randrange(1, 4)
        messages.append({"role": "tool", "tool_call_id": name, "content": body})
    messages.append({"role": "assistant", "content": f"Part {at} is well. {words}"})
    return messages
