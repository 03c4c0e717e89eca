"""A context that is too large: rollback, the final turn, the stop, and what can never fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from openai import APIStatusError, APITimeoutError, BadRequestError, OpenAI
from session_world import (
    HEAD,
    TASK,
    ask,
    call,
    calling,
    fill,
    legal,
    numbers,
    play,
    replaced,
    reply,
    runs,
    says,
    shell,
    texts,
    user,
)

from redraft import Phase, Session, Settings
from redraft.errors import BudgetError, ContextOverflowError
from redraft.events import Event, PhaseChanged, RolledBack
from redraft.testing import FakeServer, Fault
from redraft.testing.faults import OVERFLOWS

SMALL = Settings(margin=500)


def overflow(session: Session, **told: int) -> None:
    """The server refuses the request."""
    assert session.request() is not None
    with session.answer():
        raise ContextOverflowError("too large", **told)


def notices(session: Session) -> list[str]:
    return [text for text in texts(session) if "Rolled back" in text]


def client_of(server: FakeServer) -> OpenAI:
    return OpenAI(base_url=server.base_url, api_key="key", max_retries=0)


# -- what the server says --------------------------------------------------------------------------


@pytest.mark.parametrize("words", sorted(OVERFLOWS))
def test_an_overflow_error_becomes_a_rollback_and_the_loop_asks_again(words: str) -> None:
    faults = [*[None] * 12, Fault.overflow(5_000, 4_000, server=words)]
    at = iter(range(100))

    def player(request: Mapping[str, Any]) -> Mapping[str, Any]:
        number = next(at)
        return runs(f"seq {number} {number + 99}") if number < 13 else says("done")

    with (
        FakeServer(player, faults=faults) as server,
        client_of(server) as client,
        Session(HEAD, settings=SMALL) as session,
    ):
        empty_rounds = 0
        while request := session.request():
            with session.answer() as answer:
                answer(client.chat.completions.create(model="m", **request))
            with session.round() as now:
                empty_rounds += not now.calls
                for asked in now.calls:
                    now.result(asked, shell(asked["command"], session.env)[0])
        assert texts(session)[-1] == "done"
    refused, smaller = server.requests[12:14]
    assert len(smaller["messages"]) < len(refused["messages"])
    kept = len(smaller["messages"]) - 1
    assert smaller["messages"][:kept] == refused["messages"][:kept]
    assert empty_rounds == 2  # the overflow's, and the last answer's
    assert "Rolled back" in smaller["messages"][-1]["content"]
    assert "seq 11 110" in smaller["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.status(500), APIStatusError),
        (Fault.rate_limit(), APIStatusError),
        (Fault.status(401, "Incorrect API key"), APIStatusError),
        (Fault.status(400, "Unknown parameter: 'x'."), BadRequestError),
        (Fault.timeout(5), APITimeoutError),
    ],
)
def test_any_other_error_goes_through_and_the_same_request_can_be_made_again(
    fault: Fault, kind: type[Exception]
) -> None:
    with FakeServer(lambda request: says("done"), faults=[fault]) as server:
        client = OpenAI(base_url=server.base_url, api_key="key", max_retries=0, timeout=0.5)
        with client, Session(HEAD) as session:
            first = session.request()
            assert first is not None
            with pytest.raises(kind), session.answer() as answer:
                answer(client.chat.completions.create(model="m", **first))
            again = session.request()
            assert again == first
            with session.answer() as answer:
                answer(client.chat.completions.create(model="m", **again))
            assert texts(session)[-1] == "done"
    assert server.bodies[0] == server.bodies[1]


def answer_and_fail(session: Session) -> None:
    with session.answer() as answer:
        answer(reply(says("done")))
        raise ContextOverflowError("somebody else's")


def test_an_error_after_the_answer_is_no_overflow() -> None:
    with Session(HEAD) as session:
        session.request()
        with pytest.raises(ContextOverflowError):
            answer_and_fail(session)
        assert texts(session)[2:] == ["done"]


def test_the_limit_comes_down_to_what_the_server_takes() -> None:
    with Session(HEAD, settings=SMALL) as session:
        fill(session, 60)
        sent = session.tokens
        overflow(session, requested=2 * sent, window=sent)  # it counts twice what we count
        assert session.limit == sent // 2 - 500
        assert session.tokens <= session.limit
        fill(session, 20, start=60)
        assert session.request() is not None
        assert session.tokens <= session.limit


def test_a_small_window_keeps_three_quarters_where_the_margin_would_leave_no_room() -> None:
    with Session(HEAD, settings=Settings(margin=2_000)) as session:
        fill(session, 30)
        sent = session.tokens
        overflow(session, requested=2 * sent, window=sent)
        assert session.limit == sent // 2 - sent // 2 // 4


def test_without_figures_the_limit_comes_down_below_what_was_refused() -> None:
    with Session(HEAD, settings=SMALL) as session:
        fill(session, 10)
        sent = session.tokens
        overflow(session)
        assert session.limit == sent - 500


def test_a_prompt_that_fits_without_its_output_brings_the_limit_below_it() -> None:
    with Session(HEAD, settings=SMALL) as session:
        fill(session, 10)
        sent = session.tokens
        overflow(session, requested=sent, window=sent + 1_000)
        assert session.limit == sent - 500


def test_a_window_too_small_for_what_must_be_sent_is_an_error_with_the_sizes() -> None:
    with Session(HEAD) as session:
        session.request()
        with (
            pytest.raises(
                BudgetError, match=r"the server takes less than was thought: .*task"
            ) as info,
            session.answer(),
        ):
            raise ContextOverflowError("no", requested=800, window=100)
        assert isinstance(info.value.__cause__, ContextOverflowError)


def test_a_budget_that_cannot_hold_what_must_be_sent_is_an_error_at_once() -> None:
    with pytest.raises(BudgetError, match="system prompt and task"):
        Session([{"role": "system", "content": "rule " * 5_000}, TASK], budget=4_000)
    with pytest.raises(BudgetError, match="output reserve"):
        Session(HEAD, window=10_000)
    with pytest.raises(BudgetError):
        Session(HEAD, budget=-5)
    with pytest.raises(BudgetError):
        Session(HEAD, window=0)


# -- the rollback ----------------------------------------------------------------------------------


def test_a_rollback_takes_the_newest_groups_until_the_margin_is_free() -> None:
    with Session(HEAD, budget=5_000, settings=SMALL) as session:
        fill(session, 40)
        before = numbers(session)
        ask(session, says("over " * 3_000))
        session.append(user("go on"))
        session.request()
        after = numbers(session)
        kept = [number for number in after if number in before]
        assert kept == before[: len(kept)]
        assert session.limit - session.tokens >= 500
        request = session.request()
        assert request is not None
        assert legal(request["messages"])


def test_a_rollback_leaves_the_users_words_and_the_pinned_turns() -> None:
    with Session(HEAD, budget=5_000, settings=SMALL) as session:
        fill(session, 3)
        session.append(user("remember the milk"))
        fill(session, 30, start=3)
        session.pin(13, 14)
        pinned = [turn for turn in session.live.turns if turn.number in (13, 14)]
        overflow(session)
        overflow(session)
        overflow(session)
        assert "remember the milk" in texts(session)
        assert [turn for turn in session.live.turns if turn.number in (13, 14)] == pinned


def test_a_notice_names_the_last_five_commands_and_says_what_still_holds() -> None:
    with Session(HEAD, settings=SMALL) as session:
        fill(session, 20)
        for at in range(7):
            play(session, calling(call(f"make part{at}", at), text="m"), "x " * 60)
        overflow(session)
        notice = notices(session)[-1]
        named = re.findall(r"^  - (.*)$", notice, re.MULTILINE)
        assert len(named) == 5
        assert named[-1] == "make part6"
        assert "still holds" in notice
        assert notice.startswith(f"[redraft:{session.tag}]")


def test_notices_of_rollbacks_do_not_pile_up() -> None:
    with Session(HEAD, settings=SMALL) as session:
        fill(session, 60)
        for _ in range(5):
            overflow(session)
            assert len(notices(session)) == 1


def test_a_notice_that_the_model_wrote_over_is_the_models_and_stays() -> None:
    with Session(HEAD, settings=SMALL, interface="tool") as session:
        fill(session, 30)
        overflow(session)
        notice = session.live.turns[-1].number
        fill(session, 3, start=30)
        session.edit_context(edits=[{"turn": notice, "text": "what I know: 42"}])
        fill(session, 3, start=33)
        overflow(session)
        assert "what I know: 42" in texts(session)
        assert len(notices(session)) == 1


def overflowed(session: Session) -> int:
    """Fill the context to the brim, let a reply run over, and say how many margins are free then."""
    while session.limit - session.tokens > 700:
        fill(session, 1, "word " * 250)
    ask(session, runs("true", text="x " * 700))
    with session.round() as now:
        now.result(now.calls[0], "")
    assert session.tokens > session.limit
    assert session.request() is not None
    return (session.limit - session.tokens) // session.settings.margin


def test_rollbacks_deepen_after_the_fourth_that_is_ignored() -> None:
    with Session(HEAD, budget=30_000, settings=Settings(margin=2_000)) as session:
        assert [overflowed(session) for _ in range(7)] == [1, 1, 1, 1, 2, 3, 4]


def test_a_rollback_frees_at_most_three_quarters_of_the_limit() -> None:
    with Session(HEAD, budget=14_000, settings=Settings(margin=2_000)) as session:
        free = [overflowed(session) for _ in range(9)]
    assert free == [1, 1, 1, 1, 2, 3, 4, 4, 4]  # nine of twelve thousand


def test_only_an_applied_edit_ends_the_deepening() -> None:
    with Session(HEAD, budget=30_000, settings=Settings(margin=2_000)) as session:
        for _ in range(5):
            deep = overflowed(session)
        assert deep == 2
        fill(session, 1)  # a dip below the limit is no edit
        play(session, runs("sed -i s/no-such-word/x/ $REDRAFT_CONTEXT_FILE"))  # matches nothing
        assert overflowed(session) == 3
        play(session, runs(replaced(3, 6, "settled")))
        assert str(session.receipts[-1].status) == "applied"
        assert overflowed(session) == 1


def test_after_fifty_rollbacks_comes_one_final_turn_and_then_the_stop() -> None:
    events: list[Event] = []
    with Session(HEAD, budget=20_000, settings=SMALL, on_event=events.append) as session:
        while session.phase is Phase.RUNNING:
            play(session, runs("seq 1 9"), "word " * 50)
            ask(session, says("x " * session.limit))
            session.append(user("on"))
            session.request()
        assert sum(isinstance(event, RolledBack) for event in events) == 50
        assert session.phase is Phase.FINAL
        request = session.request()
        assert request is not None
        assert "This is your last turn" in request["messages"][-1]["content"]
        assert session.tokens <= session.limit
        with session.answer() as answer:
            answer(reply(says("what I have")))
        assert session.phase is Phase.STOPPED
        assert session.request() is None
        assert texts(session)[-1] == "what I have"


def test_a_final_turn_that_calls_tools_runs_nothing_and_ends_the_run() -> None:
    with Session(HEAD) as session:
        fill(session, 1)
        session.finish("the step budget is spent")
        ask(session, runs("rm -r /"))
        with session.round() as now:
            assert now.calls == []
        assert "Not run" in texts(session)[-1]
        assert session.request() is None
        assert session.why == "the final turn was spent on tool calls"
        assert legal(session.messages)


def test_a_final_request_that_does_not_fit_either_is_the_stop() -> None:
    with Session(HEAD) as session:
        fill(session, 30)
        session.finish("the step budget is spent")
        overflow(session)
        assert session.request() is None
        assert session.why == "the final request did not fit either"


def test_the_final_notice_makes_its_own_room() -> None:
    with Session(HEAD, budget=5_000, settings=SMALL) as session:
        while session.limit - session.tokens > 60:
            fill(session, 1, "w " * min(400, (session.limit - session.tokens) // 2))
        session.finish("the step budget is spent")
        assert session.request() is not None
        assert session.tokens <= session.limit
        assert session.phase is Phase.FINAL


def test_without_a_final_turn_the_run_stops_at_once() -> None:
    events: list[Event] = []
    settings = Settings(margin=500, final_turn=False, rollback_max=0)
    with Session(HEAD, budget=5_000, settings=settings, on_event=events.append) as session:
        ask(session, says("x " * 5_000))
        session.append(user("on"))
        assert session.request() is None
        assert session.phase is Phase.STOPPED
        assert [event.phase for event in events if isinstance(event, PhaseChanged)] == ["stopped"]


def test_where_nothing_can_be_taken_away_the_run_ends() -> None:
    """Words of the user's are never rolled back, so they can leave no room for a notice."""
    with Session(HEAD, budget=5_000, settings=SMALL) as session:
        session.append(user("word " * (session.limit - session.tokens - 40)))
        assert session.request() is not None
        with session.answer() as answer:
            answer(reply(says("x " * 1_000)))
        session.append(user("on"))
        assert session.request() is None
        assert "nothing more can be taken away" in session.why


def test_an_answer_over_the_limit_never_leads_to_a_request_over_it() -> None:
    with Session(HEAD, budget=4_000, settings=SMALL) as session:
        for size in (10, 400, 3_000, 9_000):
            ask(session, says("x " * size))
            session.append(user("on"))
            request = session.request()
            assert request is not None
            assert session.tokens <= session.limit
            assert legal(request["messages"])
