"""What is recorded and when: nothing is lost, and a journal that cannot record changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from session_world import (
    HEAD,
    ask,
    balanced,
    calling,
    edit_call,
    fill,
    journal_of,
    last,
    legal,
    play,
    replaced,
    reply,
    runs,
    says,
    shell,
    statuses,
    texts,
    turn,
    user,
)

from redraft import Session, Settings
from redraft.errors import ContextOverflowError
from redraft.events import Event
from redraft.store import (
    Account,
    Answered,
    Appended,
    Committed,
    Entry,
    Pinned,
    Refused,
    Sent,
    Started,
    Told,
    VolatileJournal,
    inputs,
    versions,
)


class FullDisk(OSError):
    """What a journal on a full disk raises."""


class Failing(VolatileJournal):
    """A journal that cannot record some entries while `failing` is set."""

    def __init__(self, kind: type[Entry]) -> None:
        super().__init__()
        self.kind = kind
        self.failing = False

    def record(self, entry: Entry) -> None:
        if self.failing and isinstance(entry, self.kind):
            raise FullDisk("no space left on device")
        super().record(entry)


MAIN = (Started, Appended, Committed, Refused, Pinned, Sent, Answered, Account)


def kinds(session: Session) -> list[str]:
    entries = journal_of(session).entries
    return [type(entry).__name__ for entry in entries if isinstance(entry, MAIN)]


def test_everything_is_recorded_in_order() -> None:
    with Session(HEAD, settings=Settings(elide_edits="off")) as session:
        play(session, runs("echo hi"), "hi", prompt=900)
        play(session, runs(replaced(3, 4, "settled")), prompt=900)
        session.pin(3)
        ask(session, says("done"))
        assert kinds(session) == [
            "Started",
            *("Sent", "Answered", "Appended", "Appended", "Account"),
            *("Sent", "Answered", "Appended", "Committed", "Appended", "Account"),
            "Pinned",
            *("Sent", "Answered", "Appended", "Account"),
        ]


def test_events_are_recorded_as_they_are_told() -> None:
    events: list[Event] = []
    with Session(HEAD, on_event=events.append) as session:
        fill(session, 3)
        play(session, runs(replaced(3, 4, "settled")))
        told = [entry.event for entry in journal_of(session).entries if isinstance(entry, Told)]
        assert told == events
        assert len(events) > 12


def test_the_exact_input_of_every_model_call_follows_from_the_record() -> None:
    sent = []
    with Session(HEAD, interface="both", budget=9_000) as session:
        for at in range(25):
            request = session.request()
            assert request is not None
            sent.append(request)
            with session.answer() as answer:
                if at == 12:
                    raise ContextOverflowError("too large")
                command = replaced(3, 6, "settled") if at in (6, 15) else f"seq {at * 40}"
                answer(reply(runs(command)))
            with session.round() as now:
                for asked in now.calls:
                    now.result(asked, shell(asked["command"], session.env)[0])
            if at == 9:
                session.append(user("more"))
            if at == 16:
                session.edit_context(edits=[{"turn": 3, "text": "begun"}])
        dialect = session.live.dialect
        for request, each in zip(sent, inputs(journal_of(session).entries), strict=True):
            body = dialect.join(each.frame, [turn.content for turn in each.turns])
            assert body == request
            assert each.sent.turns == len(each.turns)


def test_every_turn_that_ever_was_is_in_the_record() -> None:
    with Session(HEAD, budget=9_000) as session:
        seen = set(session.live.turns)
        for at in range(30):
            play(session, runs(replaced(3, 6, "settled") if at % 7 == 6 else f"seq {at * 40}"))
            seen |= set(session.live.turns)
        known = versions(journal_of(session).entries)
        assert all(turn in known[turn.number] for turn in seen)
        assert len(seen) > len(session.live.turns)
        assert journal_of(session).originals().keys() == known.keys()


def test_a_commit_names_the_calls_that_made_it() -> None:
    with Session(HEAD, interface="both", settings=Settings(elide_edits="off")) as session:
        fill(session, 4)
        play(session, runs("echo hi", replaced(3, 4, "settled"), "echo ho"))
        play(session, calling(edit_call({"turn": 5, "text": "begun"}, at=1)))
        session.undo(1)
        places = [entry.edit_calls for entry in journal_of(session).commits()]
        assert places == [(1,), (0,), ()]


def test_what_was_refused_is_kept() -> None:
    with Session(HEAD, gate="shrink") as session:
        fill(session, 2)
        play(session, runs("echo a note >> $REDRAFT_CONTEXT_FILE"))
        play(session, runs(r"printf '\377' > $REDRAFT_CONTEXT_FILE"))
        refused = [entry for entry in journal_of(session).entries if isinstance(entry, Refused)]
        assert any(b"a note" in entry.data for entry in refused)
        assert any(entry.data == b"\xff" for entry in refused)
        assert any(entry.refusal is not None for entry in refused)


# -- a journal that cannot record ------------------------------------------------------------------


def test_a_commit_is_recorded_before_the_context_changes() -> None:
    journal = Failing(Committed)
    with Session(HEAD, journal=journal) as session:
        fill(session, 2)
        ask(session, runs(replaced(3, 4, "settled")))
        before = session.live
        journal.failing = True
        now = session.round()
        with pytest.raises(FullDisk):
            in_round(now, lambda: run_all(now, session))
        assert session.live is before
        journal.failing = False
        with session.round() as again:
            assert again.calls == []  # nothing is run twice
            path = session.context_file
            assert path is not None
            assert path.read_text().startswith("[[CTX_TURN 3 role=assistant]]\nstep 0\n")
        assert "edit rejected, context unchanged" in last(session)
        assert "could not be recorded" in last(session)
        play(session, runs(replaced(3, 4, "settled")))
        assert texts(session)[2] == "settled"
        assert balanced(session)


def in_round(now: object, work: Callable[[], None]) -> None:
    with now:  # type: ignore[attr-defined]
        work()


def run_all(now: object, session: Session) -> None:
    for asked in now.calls:  # type: ignore[attr-defined]
        output, code = shell(asked["command"], session.env)
        now.result(asked, output, exit_code=code)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Appended, Account, Told])
def test_a_round_that_could_not_be_recorded_can_be_closed_later(kind: type[Entry]) -> None:
    journal = Failing(kind)
    with Session(HEAD, journal=journal) as session:
        fill(session, 2)
        ask(session, runs("echo one", replaced(3, 4, "settled")))
        journal.failing = True
        now = session.round()
        with pytest.raises(FullDisk):
            in_round(now, lambda: run_all(now, session))
        journal.failing = False
        with session.round() as again:
            assert again.calls == []
        request = session.request()
        assert request is not None
        assert legal(request["messages"])
        assert [m["role"] for m in request["messages"]].count("tool") == 3
        assert session.live.recount() == session.live.tokens


def test_a_tool_edit_that_could_not_be_recorded_is_made_when_the_round_is_opened_again() -> None:
    journal = Failing(Committed)
    with Session(HEAD, journal=journal, interface="tool") as session:
        fill(session, 2)
        ask(session, calling(edit_call({"turn": 3, "text": "begun"})))
        journal.failing = True
        with pytest.raises(FullDisk):
            session.round().__enter__()
        assert turn(session, 3).content.text == "step 0"
        journal.failing = False
        with session.round():
            pass
        assert turn(session, 3).content.text == "begun"
        assert statuses(session) == ["applied"]
        assert balanced(session)


def test_an_answer_that_could_not_be_recorded_can_be_handed_in_again() -> None:
    journal = Failing(Appended)
    with Session(HEAD, journal=journal) as session:
        session.request()
        journal.failing = True
        with pytest.raises(FullDisk), session.answer() as answer:
            answer(reply(says("done")))
        journal.failing = False
        assert len(session.messages) == 2
        session.request()
        with session.answer() as answer:
            answer(reply(says("done")))
        assert texts(session)[2:] == ["done"]
        assert balanced(session)


def test_a_rollback_that_could_not_be_recorded_changes_nothing() -> None:
    journal = Failing(Committed)
    with Session(HEAD, journal=journal) as session:
        fill(session, 60)
        before = session.live
        session.request()
        journal.failing = True
        with pytest.raises(FullDisk), session.answer():
            raise ContextOverflowError("too large")
        assert session.live is before


def test_a_pin_and_an_undo_that_could_not_be_recorded_change_nothing() -> None:
    journal = Failing(Committed | Pinned)  # type: ignore[arg-type]
    with Session(HEAD, journal=journal) as session:
        fill(session, 3)
        play(session, runs(replaced(3, 4, "settled")))
        before = session.live
        journal.failing = True
        with pytest.raises(FullDisk):
            session.undo(1)
        with pytest.raises(FullDisk):
            session.pin(3)
        assert session.live is before


def test_a_watcher_that_fails_over_an_edit_loses_nothing() -> None:
    failing = []

    def watch(event: Event) -> None:
        if failing and event.type == "edit_judged":
            failing.clear()
            raise RuntimeError("the watcher's own trouble")

    with Session(HEAD, on_event=watch) as session:
        fill(session, 2)
        ask(session, runs(replaced(3, 4, "settled")))
        failing.append(True)
        now = session.round()
        with pytest.raises(RuntimeError, match="watcher"):
            in_round(now, lambda: run_all(now, session))
        with session.round() as again:
            assert again.calls == []
        assert "edit 1 applied" in last(session)
        assert texts(session)[2] == "settled"
        assert balanced(session)
