"""Metrics from events alone."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.agent import Collector, CommandEnded, Metrics, Prodded, RequestRefused
from redraft.events import (
    ContextOps,
    EditJudged,
    Escalated,
    Event,
    HandedOver,
    NudgeGiven,
    ReplyRead,
    RequestMade,
    RolledBack,
    RoundEnded,
)


def collect(*events: Event) -> Metrics:
    collector = Collector()
    for event in events:
        collector = collector.after(event)
    return collector.metrics


def request(
    tokens: int, raw: int, reused: int = 0, reread: int = 0, limit: int = 9_000
) -> RequestMade:
    return RequestMade(1, tokens, limit, raw, reused, reread)


def answer(prompt: int = 0, cached: int = 0, output: int = 0, calls: int = 1) -> ReplyRead:
    return ReplyRead(1, calls, complete=True, prompt=prompt, cached=cached, output=output)


def edit(status: str, rule: str = "", author: str = "model") -> EditJudged:
    return EditJudged(1, 1, author, "file", status, 10, 5, rule, 0, 0)


def test_a_run_in_figures() -> None:
    metrics = collect(
        request(200, 100),
        answer(prompt=210, output=9),
        CommandEnded(1, 0, timed_out=False, printed=5),
        RoundEnded(1, 0, 9_000, 1),
        request(500, 250, reused=100),
        answer(prompt=510, cached=200, output=7),
        edit("applied"),
        RoundEnded(2, 0, 9_000, 0),
        request(300, 150, reused=50, reread=40),
        Prodded(3, "empty"),
        answer(calls=0),
    )
    assert metrics == Metrics(
        rounds=3,
        steps=2,
        free_rounds=1,
        commands=1,
        limit=9_000,
        peak_tokens=500,
        median_tokens=300,
        sent_tokens=1_000,
        read_tokens=200 + (500 - 200) + (300 - 100),
        reread_tokens=80,
        prompt_tokens=720,
        cached_tokens=200,
        output_tokens=16,
        edits={"applied": 1},
        prods=1,
        harness={"total_tokens": 736, "context_ops": ContextOps().as_dict()},
    )


def test_what_is_counted_one_by_one() -> None:
    metrics = collect(
        NudgeGiven(1, "tidy", 5),
        NudgeGiven(2, "urgent", 9),
        NudgeGiven(3, "urgent", 9),
        RolledBack(3, 1, (5,), 9, 4),
        Escalated(3, "file", "net -2"),
        HandedOver(4, "mask"),
        RequestRefused(4),
    )
    assert dict(metrics.nudges) == {"tidy": 1, "urgent": 2}
    assert (metrics.rollbacks, metrics.escalations, metrics.handovers) == (1, 1, 1)


def test_only_the_models_own_edits_count_as_edits() -> None:
    metrics = collect(edit("applied"), edit("grew"), edit("applied", author="harness"))
    assert dict(metrics.edits) == {"applied": 1, "grew": 1}
    assert metrics.applied == 2


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("fit: the result is over the limit", "fit"),
        ("conserve: frees 12, costs 34 to rewrite", "conserve"),
        ("turn 12 is pinned: the task stays", "turn N is pinned: the task stays"),
        ("turn 1,234 has changed", "turn N has changed"),
        ("the file is empty", "the file is empty"),
    ],
)
def test_rejections_are_counted_by_rule_whatever_the_numbers(words: str, rule: str) -> None:
    assert dict(collect(edit("rejected", words), edit("rejected", words)).rejected) == {rule: 2}


def test_metrics_are_plain_values() -> None:
    told = collect(request(9, 9), answer(), edit("rejected", "fit: no")).as_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["rejected"] == {"fit": 1}


def test_a_request_that_nobody_answered_counts_for_nothing() -> None:
    metrics = collect(request(900, 900), RequestRefused(0), request(100, 100, reused=20), answer())
    assert (metrics.peak_tokens, metrics.sent_tokens, metrics.read_tokens) == (100, 100, 100)


# --- reading, with refused requests in between --------------------------------------------------

Request = tuple[str, ...]


def common(left: Sequence[str], right: Sequence[str]) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )


@given(st.lists(st.tuples(st.text("ab", max_size=6).map(tuple), st.booleans()), max_size=12))
def test_what_must_be_read_is_counted_from_the_last_request_that_was_answered(
    runs: list[tuple[Request, bool]],
) -> None:
    """Exact where every request is answered. Around a refused one too much may be counted, where it
    shares just as much with both of its neighbours; never too little."""
    events: list[Event] = []
    before: Request = ()
    answered: Request = ()
    must = sent_in_all = 0
    for sent, is_answered in runs:
        events.append(request(len(sent), len(sent), reused=common(before, sent)))
        before = sent
        if is_answered:
            events.append(answer())
            must += len(sent) - common(answered, sent)
            sent_in_all += len(sent)
            answered = sent
    read = collect(*events).read_tokens
    assert must <= read <= sent_in_all
    if all(is_answered for _, is_answered in runs):
        assert read == must


def test_a_refused_request_and_a_rollback_cost_no_more_than_the_tail_is_long() -> None:
    """It grew by 500 and was refused; 400 of what it began with are sent again, and a notice."""
    metrics = collect(
        request(1_000, 1_000),
        answer(),
        request(1_500, 1_500, reused=1_000),
        RequestRefused(1),
        request(450, 450, reused=400),
        answer(),
    )
    assert metrics.read_tokens == 1_000 + 50


def test_what_is_read_again_is_not_forgotten_over_a_refused_request() -> None:
    """An edit at 200 of 1,000; the request behind it is refused, and the next has the same tail."""
    metrics = collect(
        request(1_000, 1_000),
        answer(),
        request(900, 900, reused=200, reread=600),
        RequestRefused(1),
        request(880, 880, reused=850),
        answer(),
    )
    assert metrics.reread_tokens == 600
    assert metrics.read_tokens == 1_000 + 680
