"""Approvals under reasoning that is bound to what stood before it, and of redraft's own tools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from context_tools_world import FencedTools, Tools, body, drop
from session_world import BASH, HEAD, ask, call, calling, last
from test_queue import Loop, models

from redraft import Session
from redraft.context import Origin, Revision
from redraft.events import ApprovalSettled, ContextOp, Event
from redraft.policies import Pressure, View
from redraft.session import Approval, ToolCall


@models
@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("verdict", ["granted", "rejected"])
def test_no_outcome_voids_any_reasoning(model: str, read: bool, verdict: str) -> None:
    events: list[Event] = []
    loop = Loop(model, on_event=events.append)
    loop.round()
    block = {"type": "tool_use", "id": "call_9", "name": "look", "input": {"at": 9}}
    loop.ask({"type": "text", "text": "careful now"}, block)
    with loop.session.round() as now:
        now.pending(now.calls[0], "look", approval="a1")
    if read:
        loop.round()
    if verdict == "granted":
        with loop.session.replay("a1") as replay:
            replay.result("seen")
    else:
        loop.session.reject("a1")
    # Both servers take what is sent from here on, and no reasoning is left out of it.
    sent = str(loop.round())
    assert sent.count("'thinking'") >= 2 * (2 + read)
    loop.say()
    settled = [event for event in events if isinstance(event, ApprovalSettled)]
    assert [event.in_place for event in settled] == [not read]
    assert loop.session.live.older is None


def _drops_wait(asked: ToolCall) -> Approval | None:
    return Approval("d1") if asked.name == "context_drop" else None


@pytest.mark.parametrize("route", [Tools, FencedTools])
def test_a_context_tool_that_was_approved_acts_through_the_same_hook(
    route: type[Tools] | type[FencedTools],
) -> None:
    run = route(approver=_drops_wait)
    run.work(body("first"))
    handle = str(
        next(turn.content.answers for turn in run.session.live.turns if turn.role == "tool")
    )
    run.work("more")
    run.use(drop(handle))
    session = run.session
    assert session.pending[0].call["handles"] == [handle]
    before = session.live.tokens
    assert run.ops == []
    with session.replay("d1") as replay:
        assert replay.answered
    assert session.live.tokens < before
    (op,) = run.ops
    assert (op.op, op.ok, op.handles) == ("drop", True, (handle,))
    assert isinstance(op, ContextOp)
    text = last(session)
    assert "approval d1 granted: result of context_drop" in text
    assert handle in text
    assert session.live.turns[-1].origin is Origin.TOOL


class _FailsOnce:
    """An approver that breaks off at the second call, the first time."""

    def __init__(self) -> None:
        self._answers: Iterator[Approval | None] = iter([Approval(), None, None])
        self.asked = 0

    def __call__(self, call: ToolCall) -> Approval | None:
        self.asked += 1
        if self.asked == 2:
            raise KeyboardInterrupt
        return next(self._answers)


def test_an_approver_that_breaks_off_is_not_asked_again_about_what_it_answered() -> None:
    approver = _FailsOnce()
    with Session(HEAD, tools=[BASH], tag="beef", approver=approver) as session:
        ask(session, calling(call("rm x", 1), call("ls", 2)))
        with pytest.raises(KeyboardInterrupt), session.round():
            pass
        with session.round() as now:
            assert [one["command"] for one in now.calls] == ["ls"]
            now.result(now.calls[0], "README\n")
        assert approver.asked == 3
        assert [one.call["command"] for one in session.pending] == ["rm x"]


def test_the_pressure_pass_leaves_what_waits_and_takes_what_is_settled() -> None:
    policy = Pressure(ceiling=0.5, keep=0, oversized=2_000, summary=50_000)  # no fold
    with Session(HEAD, tools=[BASH], tag="beef", interface="none") as session:
        ask(session, calling(call("make", 1)))
        with session.round() as now:
            now.pending(now.calls[0], approval="a1", output=body("waits", 600))
        ask(session, calling(call("ls", 2)))
        with session.round() as now:
            now.result(now.calls[0], "README\n")
        number = next(turn.number for turn in session.live.turns if turn.role == "tool")
        view = View(session.live, session.live.tokens)
        assert policy.decide(view) is None
        session.reject("a1")
        settled = View(session.live, session.live.tokens)
        assert number in _changed(policy.decide(settled))


def _changed(decision: object) -> set[int]:
    assert isinstance(decision, Revision)
    return {change.number for change in decision.changes}
