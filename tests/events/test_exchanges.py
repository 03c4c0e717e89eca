"""What each exchange took, from nothing but events."""

from __future__ import annotations

import pytest

from redraft.agent import collected
from redraft.dialects import Usage
from redraft.events import (
    ContextOp,
    ContextOps,
    Event,
    ExchangeEnded,
    Prodded,
    ReplyRead,
    RequestMade,
    aggregate,
    exchanges_after,
    exchanges_of,
)

ZERO = {"status": 0, "pins": 0, "unpins": 0, "drops": 0, "notes": 0, "tokens_freed": 0}


def reply(number: int, calls: int, prompt: int = 100, output: int = 10, **more: bool) -> ReplyRead:
    return ReplyRead(number, calls, more.get("complete", True), prompt, 0, output)


TWO: tuple[Event, ...] = (
    reply(1, 2),
    ContextOp(1, "drop", True, ("call_1",), 50, ("a",)),
    ContextOp(1, "pin", False, ("zz",)),
    reply(2, 1, 200, 20),
    ContextOp(2, "status", True),
    reply(3, 0, 300, 30),
    reply(4, 0, 400, 40),
)


def test_an_exchange_goes_to_the_final_answer() -> None:
    first, second = exchanges_of(TWO)
    assert (first.first, first.rounds, first.tool_calls, first.answered) == (1, 3, 3, True)
    assert first.usage == (Usage(100, 0, 10), Usage(200, 0, 20), Usage(300, 0, 30))
    assert first.ops == ContextOps(status=1, drops=1, tokens_freed=50)
    assert (second.first, second.rounds, second.tool_calls) == (4, 1, 0)


def test_its_metrics_are_those_of_the_seed() -> None:
    first, second = exchanges_of(TWO)
    harness = first.metrics["harness"]
    assert harness == {
        "total_tokens": 660,
        "context_ops": {**ZERO, "status": 1, "drops": 1, "tokens_freed": 50},
    }
    assert second.metrics == {"harness": {"total_tokens": 440, "context_ops": ZERO}}
    assert first.row == {
        "rounds": 3,
        "tool_calls": 3,
        "input_tokens": 600,
        "total_tokens": 660,
        "tokens_per_tool_call": 220.0,
        "tokens_per_round": 220.0,
        "context_ops": harness["context_ops"],
    }
    assert "context_ops" not in second.row
    assert aggregate([first.row, second.row])["avg_total_tokens"] == 550.0


def test_the_run_has_the_same_in_sum() -> None:
    metrics = collected(TWO).metrics
    assert metrics.as_dict()["harness"] == {
        "total_tokens": 1_100,
        "context_ops": {**ZERO, "status": 1, "drops": 1, "tokens_freed": 50},
    }
    assert collected(TWO).exchanges == exchanges_of(TWO)


def test_a_server_that_reports_nothing_gives_no_total() -> None:
    (only,) = exchanges_of([reply(1, 0, 0, 0)])
    assert only.metrics == {"harness": {"context_ops": ZERO}}
    assert "total_tokens" not in only.row
    assert only.ended(1).total_tokens == 0
    assert collected([reply(1, 0, 0, 0)]).metrics.harness == {"context_ops": ZERO}


@pytest.mark.parametrize(
    "events",
    [
        (reply(1, 0, complete=False), reply(2, 0)),
        (reply(1, 0), Prodded(1, "empty"), reply(2, 0)),
        (reply(1, 1), reply(2, 0)),
    ],
    ids=["broken off", "prodded", "a call"],
)
def test_what_is_no_answer_ends_no_exchange(events: tuple[Event, ...]) -> None:
    (only,) = exchanges_of(events)
    assert (only.rounds, only.answered) == (2, True)


def test_what_came_before_the_first_reply_belongs_to_no_exchange() -> None:
    events = (RequestMade(1, 1, 2, 3, 4, 5), ContextOp(0, "pin", True), Prodded(0, "empty"))
    assert exchanges_of(events) == ()
    assert exchanges_after((), reply(1, 1))[0].rounds == 1


def test_the_end_of_one_is_an_event() -> None:
    first, _ = exchanges_of(TWO)
    assert first.ended(3) == ExchangeEnded(3, 3, 3, True, 660, 1, 0, 0, 1, 0, 50)
    assert first.as_dict()["first_round"] == 1
