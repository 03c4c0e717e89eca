"""Our count is fitted to what the server reports, and never to a request that followed an edit."""

from __future__ import annotations

import pytest
from session_world import HEAD, ask, fill, last, play, replaced, reply, runs, says, turn, user

from redraft import Session
from redraft.tokens import family_factor


def raw(session: Session) -> int:
    return session.live.tokens


def test_sizes_are_shown_as_the_server_counts_them() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        sent = raw(session)
        ask(session, says("done"), prompt=2 * sent)
        assert session.tokens == 2 * raw(session)
        session.append(user("more"))
        before = 2 * raw(session)
        play(session, runs("true"), "x")
        assert session.tokens == 2 * raw(session)
        assert f"context {before + 2 * session.live.turns[-2].tokens:,} / " in last(session)


def test_the_gate_holds_edits_against_the_calibrated_limit() -> None:
    with Session(HEAD, budget=9_000) as session:
        fill(session, 2)
        play(session, runs("true"), "x", prompt=2 * raw(session))
        room = session.limit - session.tokens
        assert room > 3_000
        play(session, runs(f"(yes note | head -{room // 2}) >> $REDRAFT_CONTEXT_FILE"))
        assert str(session.receipts[-1].status) == "rejected"
        assert session.tokens <= session.limit


def test_the_output_is_cut_to_the_calibrated_room() -> None:
    with Session(HEAD, budget=9_000) as session:
        fill(session, 2)
        play(session, runs("seq"), "word " * 9_000, prompt=int(1.7 * raw(session)))
        assert session.limit - 800 < session.tokens <= session.limit


@pytest.mark.parametrize("factor", [0.3, 3.5, 0.0])
def test_a_count_out_of_reason_is_not_believed(factor: float) -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        ask(session, says("done"), prompt=int(factor * raw(session)))
        assert session.tokens == raw(session)


def test_no_usage_is_no_news() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        assert session.tokens == raw(session)


def test_a_request_right_after_an_edit_teaches_nothing() -> None:
    with Session(HEAD) as session:
        fill(session, 4)
        play(session, runs(replaced(3, 4, "settled")))
        play(session, runs("true"), "x", prompt=2 * raw(session))
        assert session.tokens == raw(session)
        play(session, runs("true"), "x", prompt=2 * raw(session))
        assert session.tokens == 2 * raw(session)


def test_a_request_after_a_rollback_teaches_nothing() -> None:
    from redraft.errors import ContextOverflowError

    with Session(HEAD) as session:
        fill(session, 60)
        session.request()
        with session.answer():
            raise ContextOverflowError("too large")
        ask(session, says("done"), prompt=2 * raw(session))
        assert session.tokens == raw(session)


def test_an_undo_while_the_model_thinks_makes_the_next_request_the_edited_one() -> None:
    with Session(HEAD) as session:
        fill(session, 4)
        play(session, runs("sed -i 's/^step 0$/begun/' $REDRAFT_CONTEXT_FILE"))
        play(session, runs("true"), "x")
        session.request()
        sent = raw(session)
        with session.answer() as answer:
            session.undo(1)
            assert turn(session, 3).content.text == "step 0"
            answer(reply(runs("true"), prompt=2 * sent))
        with session.round() as now:
            now.result(now.calls[0], "x")
        assert session.tokens == 2 * raw(session)
        play(session, runs("true"), "x", prompt=raw(session))
        assert session.tokens == 2 * raw(session)


def test_a_retried_request_is_measured_by_what_was_sent_last() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        session.request()
        session.append(user("word " * 400))
        ask(session, says("done"), prompt=2 * raw(session))
        assert session.tokens == 2 * raw(session)


def test_a_family_is_counted_by_its_factor_from_the_start() -> None:
    with Session(HEAD, model="claude-sonnet-4-5") as session:
        assert session.tokens == pytest.approx(
            family_factor("claude-sonnet-4-5") * raw(session), abs=1
        )
