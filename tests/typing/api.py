"""The public API as its users write it. Only the type checker reads this file; nothing runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

from openai import AsyncOpenAI, OpenAI

from redraft import (
    Gate,
    Phase,
    Receipt,
    RedraftError,
    Revision,
    RewriteBudgetViolation,
    RewritePlan,
    Session,
    Settings,
    Status,
    commit_rewrite,
)
from redraft.context import Change, Ledger, Live, Proposal
from redraft.events import EditJudged, Event
from redraft.models import Model
from redraft.policies import ContextReport, Policy, Summarize, View
from redraft.session import (
    Answer,
    Approval,
    ModelSummarizer,
    Pending,
    Rejection,
    Replay,
    Round,
    Summarizer,
    Summary,
    ToolCall,
)
from redraft.testing import FakeServer
from redraft.tokens import Meter


def run(call: ToolCall) -> tuple[str, int]:
    """A user's own way to run a call."""
    assert_type(call.arguments, Mapping[str, Any])
    return f"{call.name}: {call['command']}", 0


def own_loop(client: OpenAI, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> None:
    session = Session(messages, tools=tools, model="gpt-5", budget=32_000)
    while request := session.request():
        assert_type(request, dict[str, Any])
        with session.answer() as answer:
            assert_type(answer, Answer)
            answer(client.chat.completions.create(model="gpt-5", **request))
        with session.round() as round:
            assert_type(round, Round)
            for call in round.calls:
                output, code = run(call)
                round.result(call, output, exit_code=code)
        assert_type((round.free, round.cost), tuple[bool, int])


def approver(call: ToolCall) -> Approval | Rejection | None:
    """Asked before each call."""
    return Approval(asked="remove files") if call.name == "rm" else Rejection("no")


def later(session: Session) -> None:
    for waiting in session.pending:
        assert_type(waiting, Pending)
        if waiting.granted:
            with session.replay(waiting.id) as replay:
                assert_type(replay, Replay)
                output, code = run(replay.call)
                if not replay.answered:
                    replay.result(output, exit_code=code)
        else:
            session.reject(waiting.id, "not today")
    with session.round() as round:
        assert_type(round.pending(round.calls[0], "push", approval="p1"), Approval)


async def own_async_loop(client: AsyncOpenAI, messages: list[dict[str, Any]]) -> None:
    async with asyncio.timeout(60):
        with Session(messages, interface="tool", gate=Gate.SHRINK) as session:
            while request := session.request():
                async with session.answer() as answer:
                    answer(await client.chat.completions.create(model="gpt-5", **request))
                async with session.round() as round:
                    for call in round.calls:
                        round.result(call, {"text": "anything that JSON holds"})


def a_framework_that_owns_the_loop(session: Session, history: list[Any]) -> list[Any]:
    assert_type(session.edit_context(edits=[{"turn": 4, "text": "seen"}]), str)
    assert_type(session.view_body({"messages": history}, prompt_tokens=1), dict[str, Any])
    return list(session.view(history))


def what_can_be_looked_at(session: Session) -> None:
    assert_type(session.live, Live)
    assert_type(session.tokens, int)
    assert_type(session.limit, int)
    assert_type(session.phase, Phase)
    assert_type(session.receipts, list[Receipt])
    assert_type(session.ledger, Ledger)
    assert_type(session.context_file, Path | None)
    assert_type(session.env, Mapping[str, str])
    assert_type(session.undo(1), Receipt)
    assert_type(session.receipts[-1].status, Status)
    session.pin(3, 4)
    said: str = session.context_tool("context_drop", {"handles": ["call_1"]})
    print(said, session.own_tools)
    session.unpin(3)
    session.append({"role": "user", "content": "Go on."})
    session.finish("the step budget is spent")
    session.close()


def watch(event: Event) -> None:
    if isinstance(event, EditJudged):
        assert_type(event.before, int)
        assert_type(event.source, str)


def escalate(violation: RewriteBudgetViolation) -> None:
    print(violation)


def veto(proposal: Proposal) -> str | None:
    """A check of one's own: the first turns stay."""
    return (
        "turn 3 stays"
        if any(move.old and move.old.number == 3 for move in proposal.moves)
        else None
    )


class Forget:
    """A policy of one's own."""

    name = "forget"

    def decide(self, view: View) -> Revision | None:
        turn = view.live.editable()[0]
        return Revision("policy", self.name, (Change(turn.number, turn.digest, None),))


def in_short(need: Summarize) -> Summary:
    """A summarizer of one's own."""
    return Summary(need.text[: need.max_tokens])


def a_report(session: Session, model: Model) -> dict[str, Any]:
    summarizer: Summarizer = ModelSummarizer(model)
    with Session([], policy="manager", policy_options={"trigger": "0.6"}, summarizer=summarizer):
        assert_type(session.report(), ContextReport)
    return session.report().as_dict()


def with_everything(env: Mapping[str, str]) -> Session:
    policy: Policy = Forget()
    return Session(
        [{"role": "user", "content": "Begin."}],
        settings=Settings.load(Path("redraft.toml"), env),
        budget=None,
        window=128_000,
        interface="both",
        mode="observe",
        gate="conserve",
        path=Path("context"),
        name="HELPER",
        steer="Compact past 16,000 tokens.",
        parameters={"temperature": 0},
        meter=Meter(),
        checks=[veto],
        fallback=policy,
        policy=policy,
        summarizer=in_short,
        memory=Path("memory.db"),
        clock=lambda: 0.0,
        on_event=watch,
        on_escalation=escalate,
    )


def the_gate_alone() -> int:
    try:
        return commit_rewrite(
            RewritePlan(400, 380, 90, touched_own_substrate=False), budget_slack=50
        )
    except RedraftError:
        return 0


def a_test_of_ones_own() -> None:
    with FakeServer(lambda request: {"role": "assistant", "content": request["model"]}) as server:
        assert_type(server.requests, list[dict[str, Any]])
        OpenAI(base_url=server.base_url, api_key="none")
