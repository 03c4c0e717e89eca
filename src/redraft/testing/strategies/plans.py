"""Conversations that know no wire format, so that several formats meet the same ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from redraft.testing.strategies.texts import stock, words

__all__ = ["NAMES", "Exchange", "Plan", "Round", "plans"]

Json = dict[str, Any]

NAMES = ("bash", "read_file")
"""The tools that are called."""


@dataclass
class Round:
    """One answer of the model with its results.

    Attributes:
        text: what the model says.
        thought: what it thinks; "" for nothing.
        server: whether a tool of the server's stands in the answer, with what it found.
        strange: whether blocks of a type that nobody knows, and sealed thoughts, stand in it.
        calls: `id`, `name` and `input` of each call.
        results: a text for each call.
        pictures: whether the first result holds an image.
        also: words of the user that came while the calls ran; "" for none.
        failed: whether the calls failed.
    """

    text: str
    thought: str
    server: bool
    strange: bool
    calls: list[Json]
    results: list[str]
    pictures: bool
    also: str
    failed: bool


@dataclass
class Exchange:
    """A question, the rounds of work on it, and the answer."""

    question: str
    picture: bool
    rounds: list[Round]
    answer: str | None


@dataclass
class Plan:
    """A conversation, and what the request holds besides.

    Attributes:
        exchanges: in order.
        open_calls: how many calls of the last round have no result.
        split_results: whether each result stands in a message of its own.
        question: the user's last words, not answered yet; "" for none.
        fields: further fields of the request.
    """

    exchanges: list[Exchange]
    open_calls: int = 0
    split_results: bool = False
    question: str = ""
    fields: Json = field(default_factory=dict)


_INPUTS = st.sampled_from(
    ({}, {"command": "ls"}, {"path": "é\n", "n": None}, {"deep": [{"a": [1]}]})
)
_FLAGS = st.sampled_from(list(product((False, True), repeat=4)))
_SIZES = st.sampled_from(((1, 0), (2, 0), (2, 5), (3, 2)))
_THOUGHTS = st.sampled_from(("", "", "hm", "let me see\n"))
_COIN = st.booleans()
_ALSO = st.sampled_from(("", "", "also this"))
_TEXTS = {broken: stock(surrogates=broken) for broken in (False, True)}
_WORDS = words()


@st.composite
def _rounds(draw: DrawFn, prefix: str, *, surrogates: bool) -> Round:
    """One round. Where `prefix` is "", ids repeat from round to round, as some providers have it."""
    text = _TEXTS[surrogates]
    server, strange, pictures, failed = draw(_FLAGS)
    count, first = draw(_SIZES)
    calls = [
        {
            "id": f"toolu_{prefix}{first + at}",
            "name": NAMES[(first + at) % 2 and at % 2],
            "input": draw(_INPUTS),
        }
        for at in range(count)
    ]
    return Round(
        text=draw(text),
        thought=draw(_THOUGHTS),
        server=server,
        strange=strange,
        calls=calls,
        results=[draw(text) for _ in calls],
        pictures=pictures,
        also=draw(_ALSO),
        failed=failed,
    )


@st.composite
def plans(
    draw: DrawFn,
    *,
    legal: bool = False,
    max_exchanges: int = 2,
    surrogates: bool = False,
    interrupted: bool = True,
    repeated_ids: bool = True,
) -> Plan:
    """Conversations.

    Args:
        legal: only such as a server takes: every result stands where servers want it, no call is open,
            no id repeats, and the user's words end it.
        max_exchanges: questions at most.
        surrogates: whether texts may hold lone surrogates; never where they are `legal`.
        interrupted: whether the last calls may lack their results.
        repeated_ids: whether call ids may repeat from round to round.
    """
    repeated, broken = repeated_ids and not legal, surrogates and not legal
    exchanges = []
    for number in range(draw(st.integers(1, max_exchanges))):
        rounds: list[Round] = []
        for at in range(draw(st.integers(0, 2))):
            prefix = "" if repeated else f"{number}_{at}_"
            rounds.append(draw(_rounds(prefix, surrogates=broken)))
        question, answer = draw(_WORDS), draw(_WORDS)
        exchanges.append(Exchange(question, draw(_COIN), rounds, answer))
    plan = Plan(exchanges)
    last = exchanges[-1]
    if legal:
        _mend(plan)
        if last.rounds and not last.rounds[-1].also and draw(_COIN):
            last.answer = None
        else:
            plan.question = draw(_WORDS)
        return plan
    plan.split_results = draw(_COIN)
    if bool(last.rounds) and draw(_COIN):
        last.answer = None
        if interrupted:
            plan.open_calls = draw(st.integers(0, len(last.rounds[-1].calls)))
    return plan


def _mend(plan: Plan) -> None:
    """The Messages API takes no blank text, and no failure that says nothing."""
    for turn in (turn for exchange in plan.exchanges for turn in exchange.rounds):
        turn.text = turn.text if turn.text.strip() else ""
        turn.results = [text if text.strip() else "" for text in turn.results]
        turn.failed = turn.failed and all(turn.results)
