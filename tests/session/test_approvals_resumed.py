"""Approvals outlive the process that asked for them, wherever it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from approvals_world import LINE, held, read_it, replay, session_of
from session_world import (
    ask,
    balanced,
    call,
    calling,
    journal_of,
    last,
    texts,
)

from redraft import Session
from redraft.context import Origin
from redraft.errors import ApprovalError
from redraft.session import Pending, ToolCall
from redraft.store import Asked, Decided, SQLiteJournal


def resumed(place: Path, **options: Any) -> Session:
    return Session.resume(SQLiteJournal(place), path=place / "ctx", **options)


def begun(place: Path) -> Session:
    return session_of(journal=SQLiteJournal(place), path=place / "ctx")


def leave(session: Session) -> None:
    """The process ends."""
    journal = session.journal
    assert isinstance(journal, SQLiteJournal)
    session.close()
    journal.close()


@pytest.mark.parametrize("read", [False, True])
def test_an_approval_outlives_its_process(tmp_path: Path, read: bool) -> None:
    one = begun(tmp_path)
    held(one)
    if read:
        read_it(one)
    leave(one)
    two = resumed(tmp_path)
    assert [(p.id, p.granted, p.call["command"]) for p in two.pending] == [
        ("a1", False, "rm -r build")
    ]
    two.approve("a1")
    leave(two)
    three = resumed(tmp_path)
    assert [(p.id, p.granted) for p in three.pending] == [("a1", True)]
    replay(three)
    assert three.live.turns[-1].role == ("user" if read else "tool")
    assert "removed" in last(three)
    assert balanced(three)
    before = texts(three)
    leave(three)
    four = resumed(tmp_path)
    assert texts(four) == before
    assert four.pending == ()
    assert four.live.settled == {"a1"}
    with pytest.raises(ApprovalError, match="is done already"):
        four.approve("a1")
    assert four.request() is not None
    leave(four)


def test_a_call_that_was_being_run_when_the_process_ended_is_not_run_again(tmp_path: Path) -> None:
    one = begun(tmp_path)
    held(one)
    one.replay("a1").__enter__()
    leave(one)
    two = resumed(tmp_path)
    assert two.pending == ()
    assert "was interrupted while this call ran" in last(two)
    assert "approval a1 granted" in last(two)
    leave(two)
    three = resumed(tmp_path)
    assert sum("interrupted while" in text for text in texts(three)) == 1
    leave(three)


def test_an_outcome_that_was_known_and_not_told_is_told_once(tmp_path: Path) -> None:
    one = begun(tmp_path)
    held(one)
    read_it(one)
    one._core.decide(Decided("a1", "begun"))
    one._core.decide(Decided("a1", "done", "removed\n"))
    leave(one)
    for _ in range(2):
        two = resumed(tmp_path)
        assert sum("removed" in text for text in texts(two)) == 1
        assert two.live.turns[-1].origin is Origin.TOOL
        assert two.live.settled == {"a1"}
        leave(two)


def test_a_round_that_was_open_keeps_the_call_that_waited(tmp_path: Path) -> None:
    one = begun(tmp_path)
    ask(one, calling(call("rm -r build", 1), call("sleep 9", 2)))
    now = one.round().__enter__()
    now.pending(now.calls[0], "remove the build", approval="a1")
    leave(one)
    two = resumed(tmp_path)
    waits, lost = [one.content.text for one in two.live.turns[-2:]]
    assert LINE in waits.splitlines()
    assert "interrupted" in lost
    assert [one.id for one in two.pending] == ["a1"]
    replay(two)
    assert "removed" in two.live.turns[-2].content.text
    leave(two)


def test_every_state_is_in_the_journal() -> None:
    with session_of() as session:
        held(session)
        replay(session)
        entries = journal_of(session).entries
        asked = [entry for entry in entries if isinstance(entry, Asked)]
        assert [(one.id, one.tool, one.arguments) for one in asked] == [
            ("a1", "bash", {"command": "rm -r build"})
        ]
        states = [entry.state for entry in entries if isinstance(entry, Decided)]
        assert states == ["granted", "begun", "done"]


def test_pending_values_are_plain() -> None:
    assert Pending("a", "b", ToolCall("c", "d", {}, 0), 1).granted is False


class _KilledError(BaseException):
    pass


class Dying(SQLiteJournal):
    """Ends the process, as far as anybody can tell, at one of its entries."""

    left = 0
    after = False
    dead = False

    def record(self, entry: Any) -> None:
        self.left -= 1
        if self.dead or (self.left == 0 and not self.after):
            self.dead = True
            raise _KilledError
        super().record(entry)
        if self.left == 0:
            self.dead = True
            raise _KilledError


def _work(session: Session, ran: list[str]) -> None:
    """Whatever is left of: a call waits, is approved, run, and told of."""
    if not session.live.turns[-1].content.calls and len(session.live.turns) == 2:
        held(session)
    for waiting in session.pending:
        with session.replay(waiting.id) as now:
            ran.append(now.call["command"])
            now.result("removed\n")


@pytest.mark.parametrize("after", [False, True])
def test_wherever_the_process_ends_the_call_runs_once_and_is_told_of_once(
    tmp_path: Path, after: bool
) -> None:
    with SQLiteJournal(tmp_path / "whole") as journal:
        with session_of(journal=journal, path=tmp_path / "whole" / "ctx") as session:
            start = len(list(journal.log()))
            _work(session, [])
        count = len(list(journal.log())) - start
    assert count > 10
    for at in range(1, count + 1):
        place, ran = tmp_path / str(at), list[str]()
        journal = Dying(place)
        session = session_of(journal=journal, path=place / "ctx")
        journal.left, journal.after = at, after
        with pytest.raises(_KilledError):
            _work(session, ran)
        leave(session)
        for _ in range(2):  # the second time finds nothing to heal
            again = resumed(place)
            _work(again, ran)
            assert balanced(again)
            leave(again)
        last_one = resumed(place)
        assert len(ran) <= 1, at
        assert last_one.pending == ()
        told = texts(last_one)
        removed = sum("removed\n" in text for text in told)
        lost = sum("was interrupted while this call ran" in text for text in told)
        waits = sum(LINE in text for text in told)
        unheard = len(told) == 2  # it ended before the reply was recorded
        assert (removed, lost) in ((1, 0), (0, 1)) or unheard or not told, (at, told)
        assert removed == 0 or ran == ["rm -r build"]
        assert waits <= 1
        leave(last_one)
