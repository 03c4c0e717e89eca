"""The event of a context tool, and a turn's counters."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from redraft.events import ContextOp, ContextOps, RoundEnded, counted_ops, event_from_dict

OPS = ("status", "pin", "unpin", "drop", "note")


def test_the_event_has_the_fields_of_the_specification() -> None:
    event = ContextOp(14, "drop", True, ("call_7f2",), 5_728, ("3b1c",))
    assert json.loads(json.dumps(event.as_dict())) == {
        "type": "context_op",
        "round": 14,
        "op": "drop",
        "ok": True,
        "handles": ["call_7f2"],
        "tokens_freed": 5_728,
        "overflow_ids": ["3b1c"],
    }
    assert list(event.as_dict()) == [
        *("type", "round", "op", "ok", "handles", "tokens_freed", "overflow_ids")
    ]


def test_an_event_comes_back_from_a_log() -> None:
    event = ContextOp(1, "note", True, ("a", "b"), 10, ("x",))
    assert event_from_dict(json.loads(json.dumps(event.as_dict()))) == event


def test_a_turn_counts_the_calls_that_did_something() -> None:
    events = [
        ContextOp(1, "status", True),
        ContextOp(1, "pin", True, ("a",)),
        ContextOp(2, "unpin", True, ("a",)),
        ContextOp(2, "drop", True, ("b", "c"), 100, ("x", "y")),
        ContextOp(3, "drop", False, ("z",)),
        ContextOp(3, "note", True, ("d",), 30, ("v",)),
        RoundEnded(3, 1, 2, 1),
    ]
    ops = counted_ops(events)
    assert ops.as_dict() == {
        "status": 1,
        "pins": 1,
        "unpins": 1,
        "drops": 1,
        "notes": 1,
        "tokens_freed": 130,
    }
    assert ops
    assert not counted_ops([ContextOp(3, "drop", False, ("z",))])


@given(st.lists(st.tuples(st.sampled_from(OPS), st.booleans(), st.integers(-50, 500))))
def test_counters_are_sums(calls: list[tuple[str, bool, int]]) -> None:
    ops = counted_ops(ContextOp(1, op, ok, (), freed) for op, ok, freed in calls)
    values = ops.as_dict()
    assert values.pop("tokens_freed") == sum(freed for _, ok, freed in calls if ok)
    assert sum(values.values()) == sum(ok for _, ok, _ in calls)


def test_counters_begin_at_nothing() -> None:
    assert not ContextOps()
    assert set(ContextOps().as_dict().values()) == {0}
