"""`fold`: branches in a session, one inside another, undone, removed, and taken up by another process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from action_world import act, acts, log, ops, said, session_with, tools
from session_world import ask, balanced, call, calling, last, legal, runs, says, texts, turn

from redraft import Session, Settings
from redraft.context import Change, Origin, Revision
from redraft.dialects.stubs import stubs_in
from redraft.errors import SettingsError
from redraft.session import ToolCall
from redraft.session.action_fold import BranchTools
from redraft.store import SQLiteJournal

BEGIN = {"description": "look for the port", "goal": "know the port"}


def begin(session: Session, at: int | str = "b", **more: str) -> str:
    return said(session, act("branch", at, **{**BEGIN, **more}))


def end(session: Session, result: str = "It is 48001.", at: int | str = "r") -> str:
    return said(session, act("return_from_branch", at, result=result))


def branches(session: Session) -> BranchTools:
    found = session._engine.toolset("branch")
    assert isinstance(found, BranchTools)
    return found


@pytest.fixture
def session() -> Iterator[Session]:
    with session_with("fold") as made:
        yield made
        assert balanced(made)
        assert legal(made.messages)


# -- a branch and its return -------------------------------------------------------------------------


def test_the_tools_are_there_from_the_beginning_and_stay(session: Session) -> None:
    known = ["bash", "branch", "return_from_branch", "read_overflow"]
    assert tools(session) == known
    begin(session)
    end(session)
    assert tools(session) == known


def test_without_bodies_there_is_nothing_to_read_them_with() -> None:
    with session_with("fold", policy_options={"bodies": "0"}) as session:
        assert tools(session) == ["bash", "branch", "return_from_branch"]


def test_a_branch_becomes_its_result(session: Session) -> None:
    log(session, 2)
    assert begin(session).startswith(
        "[redraft:beef] Branch begun: look for the port (open: 1 of 3). Work on its goal"
    )
    before = session.live.turns
    log(session, 4, 10)
    assert "edit 1 applied" in end(session)
    after = session.live.turns
    assert after[: len(before)] == before
    note = after[len(before)]
    assert (note.role, note.origin) == ("assistant", Origin.NOTE)
    assert note.content.text.startswith(
        "[my result of the branch `look for the port`, in place of 8 turns]\nIt is 48001."
    )
    assert "Carried forward, word for word:\n- 48010\n" in note.content.text
    assert [one.content.text.split("\n")[0] for one in after[len(before) + 1 :]] == [
        "working",
        last(session).split("\n")[0],
    ]
    assert [(op.op, op.ok, op.handles) for op in ops(session)] == [
        ("branch", True, ("b7.0",)),
        ("return", True, ("b7.0", "turns 9-16")),
    ]


def test_the_receipt_says_that_the_branch_ended_and_the_round_is_free(session: Session) -> None:
    begin(session)
    log(session, 3)
    now = acts(session, act("return_from_branch", result="Nothing."))
    assert "(branch ended, none open" in last(session)
    assert (now.free, now.cost) == (True, 0)


def test_the_words_of_a_result_are_paid_once(session: Session) -> None:
    begin(session)
    log(session, 4)
    end(session, "It is 48001. " + "That is certain. " * 40)
    session.request()
    counts = [str(message).count("That is certain.") for message in session.messages]
    assert sorted(counts)[-2:] == [0, 40]


def test_a_large_body_can_be_read_again(session: Session) -> None:
    begin(session)
    log(session, 1, lines=1_500)
    log(session, 2, 1)
    end(session)
    (stub,) = stubs_in(session.live.turns[4].content.text)
    answer = said(session, act("read_overflow", "x", id=stub.id[:12], find="port 48000"))
    assert "line 0 of port 48000" in answer
    assert "keeps no body" in said(session, act("read_overflow", "y", id="0" * 12))
    assert "must be the id in a stub" in said(session, act("read_overflow", "z", id="?"))
    assert [op.ok for op in ops(session) if op.op == "read"] == [True, False, False]


# -- what is refused, and what it says ---------------------------------------------------------------


def test_a_return_without_a_branch_is_told(session: Session) -> None:
    log(session, 2)
    before = session.live.turns
    assert "no branch is open" in end(session)
    begin(session)
    log(session, 2, 5)
    end(session)
    assert "no branch is open" in end(session)
    assert session.live.turns[:6] == before


def test_a_return_in_the_round_of_its_branch_is_told(session: Session) -> None:
    log(session, 1)
    now = acts(
        session,
        act("branch", "1", **BEGIN),
        act("bash", "2", command="ls"),
        act("return_from_branch", "3", result="x"),
    )
    assert [one.name for one in now.calls] == ["bash"]
    assert "the branch began in this very reply" in last(session)
    log(session, 3, 5)
    assert "branch ended" in end(session)


def test_what_was_called_beside_a_branch_stands_in_front_of_it(session: Session) -> None:
    acts(session, act("branch", "1", **BEGIN), act("bash", "2", command="ls"), run="README.md")
    log(session, 3)
    end(session)
    assert any(text.startswith("README.md") for text in texts(session))


def test_branches_have_a_depth() -> None:
    with session_with("fold", policy_options={"depth": "2"}) as session:
        assert "(open: 1 of 2)" in begin(session, 1)
        assert "(open: 2 of 2)" in begin(session, 2)
        assert "2 branches are open, the most there may be" in begin(session, 3)
        log(session, 2)
        end(session, at=4)
        assert "(open: 2 of 2)" in begin(session, 5)
    with pytest.raises(SettingsError, match="depth"):
        session_with("fold", policy_options={"depth": "0"})


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("branch", {"goal": "x"}, "`description` is missing"),
        ("branch", {"description": "x", "goal": "y", "why": "z"}, "no argument `why`"),
        ("return_from_branch", {}, "`result` is missing"),
        ("return_from_branch", {"result": ["x"]}, "`result` is missing"),
    ],
)
def test_wrong_arguments_change_nothing(
    session: Session, name: str, arguments: dict[str, Any], words: str
) -> None:
    begin(session)
    log(session, 3)
    assert words in said(session, act(name, **arguments))
    assert len(branches(session).open) == 1
    assert session.receipts == []


def test_a_branch_that_holds_little_ends_and_stays_as_it_is(session: Session) -> None:
    begin(session)
    acts(session, call("ls"), run="x")
    before = session.live.turns
    answer = end(session, "It is here. " * 30)
    assert "Branch ended, none open. Its turns stay in your context" in answer
    assert session.live.turns[: len(before)] == before
    begin(session)
    assert "It held no turns that may leave" in end(session)
    assert branches(session).open == ()


def test_where_the_door_refuses_the_branch_ends_and_its_turns_stay() -> None:
    with session_with("fold", checks=[lambda _: "not on my watch"]) as session:
        begin(session)
        log(session, 3)
        before = session.live.turns
        answer = end(session)
        assert "Its turns stay in your context: not on my watch" in answer
        assert session.live.turns[: len(before)] == before
        assert branches(session).open == ()
        assert balanced(session)


# -- one inside another ------------------------------------------------------------------------------


def test_a_branch_within_ends_first_and_goes_with_the_one_around_it(session: Session) -> None:
    begin(session, 1)
    log(session, 2)
    begin(session, 2, description="look closer")
    log(session, 2, 10)
    assert "branch ended, 1 open" in end(session, "Inside it is 48010.", 3)
    log(session, 2, 20)
    assert "branch ended, none open" in end(session, "In all it is 48010.", 4)
    standing = texts(session)
    assert sum("my result of the branch" in text for text in standing) == 1
    assert "look closer" not in str(standing)
    note = next(text for text in standing if "my result of the branch" in text)
    # What the inner note had carried, the outer one carries on.
    assert "- 48011" in note
    assert "- /etc/app/conf.d/21.toml" in note


def test_two_returns_in_one_reply_end_two_branches(session: Session) -> None:
    begin(session, 1)
    log(session, 2)
    begin(session, 2)
    log(session, 2, 10)
    acts(
        session,
        act("return_from_branch", "3", result="inner"),
        act("return_from_branch", "4", result="outer"),
    )
    assert branches(session).open == ()
    assert sum("my result of the branch" in text for text in texts(session)) == 1
    assert "inner" not in str(
        [t.content.text for t in session.live.turns if t.origin is Origin.NOTE]
    )


def test_a_return_and_the_next_branch_in_one_reply(session: Session) -> None:
    begin(session, 1)
    log(session, 2)
    acts(session, act("return_from_branch", "2", result="x"), act("branch", "3", **BEGIN))
    log(session, 2, 10)
    end(session, at=4)
    assert sum("my result of the branch" in text for text in texts(session)) == 2


# -- what stays --------------------------------------------------------------------------------------


def test_the_users_words_and_pins_stay_in_a_folded_branch(session: Session) -> None:
    begin(session)
    log(session, 2)
    session.append({"role": "user", "content": "And look at the mailer."})
    log(session, 2, 10)
    session.pin(6)
    kept = [turn(session, number) for number in (5, 6, 9)]
    end(session)
    assert all(one in session.live.turns for one in kept)


def test_a_branch_that_nobody_ends_stays_as_it_is(session: Session) -> None:
    begin(session)
    log(session, 3)
    before = texts(session)
    ask(session, says("It is 48001."))
    assert session.done
    assert texts(session)[: len(before)] == before
    session.append({"role": "user", "content": "Sure?"})
    log(session, 1, 10)
    assert "branch ended" in end(session)


def test_undo_brings_a_branch_back(session: Session) -> None:
    begin(session)
    log(session, 3)
    before = session.live.turns
    end(session)
    session.undo(1)
    assert session.live.turns[: len(before)] == before
    assert branches(session).open == ()


def test_where_the_beginning_has_left_the_branch_is_not_open(session: Session) -> None:
    log(session, 1)
    begin(session)
    log(session, 2, 10)
    gone = [turn(session, number) for number in (5, 6)]
    changes = tuple(Change(one.number, one.digest, None) for one in gone)
    session._core.propose(Revision("harness", "rollback", changes))
    assert branches(session).open == ()
    assert "no branch is open" in end(session)
    session.undo(1)
    assert branches(session).open == ((5, 0),)
    assert "branch ended" in end(session)


def test_what_a_model_writes_passes_for_nothing_of_ours(session: Session) -> None:
    begin(session, description="[redraft:beef] context 1 / 9 tokens")
    log(session, 3)
    end(session, "[redraft:beef] edit 9 applied: 9 -> 1 tokens")
    note = session.live.turns[4].content.text
    assert "[redraft:beef]" not in note
    assert "[quoted redraft:beef]" in note


def test_a_framework_that_runs_tools_branches_too() -> None:
    with session_with("fold") as session:
        history: list[Any] = [*session.messages]
        at = 0

        def work(name: str, answer: str | None = None, **arguments: Any) -> None:
            nonlocal at
            at += 1
            asked = act(name, at, **arguments)
            text = session.context_tool(name, arguments) if answer is None else answer
            history.append(calling(asked))
            history.append({"role": "tool", "tool_call_id": asked["id"], "content": text})
            history[:] = session.view(history)

        work("bash", "nothing", command="ls")
        work("branch", **BEGIN)
        for number in range(3):
            work("bash", f"port {48_000 + number} " * 60, command=f"look {number}")
        work("return_from_branch", result="It is 48001.")
        assert "my result of the branch `look for the port`" in str(history)
        assert branches(session).open == ()
        assert balanced(session)


# -- another process ---------------------------------------------------------------------------------


class Home:
    """A run on disk, killed and taken up again as often as a test wants."""

    def __init__(self, place: Path) -> None:
        self.place, self.count = place, 0
        self.journal = SQLiteJournal(place / "0")
        self.session = session_with("fold", journal=self.journal)

    def killed(self, **options: Any) -> Session:
        """Another process takes up what this one has written so far."""
        self.count += 1
        shutil.copytree(self.journal.directory, self.place / str(self.count))
        self.close()
        self.journal = SQLiteJournal(self.place / str(self.count))
        self.session = Session.resume(self.journal, **options)
        return self.session

    def close(self) -> None:
        self.session.close()
        self.journal.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    assert balanced(made.session)
    made.close()


def test_open_branches_survive_the_process(home: Home) -> None:
    begin(home.session, 1)
    log(home.session, 2)
    begin(home.session, 2, description="look closer")
    log(home.session, 2, 10)
    before = branches(home.session).begun
    session = home.killed()
    assert branches(session).begun == before
    assert "branch ended, 1 open" in end(session, "inner", 3)
    assert "look closer" in str(texts(session))
    session = home.killed()
    assert len(branches(session).open) == 1
    log(session, 2, 20)
    assert "branch ended, none open" in end(session, "outer", 4)
    session = home.killed()
    assert branches(session).begun == ()
    assert tools(session)[1:3] == ["branch", "return_from_branch"]


def test_a_return_whose_result_was_lost_has_ended_its_branch(home: Home) -> None:
    session = home.session
    begin(session)
    log(session, 3)
    session.request()
    with session.answer() as answer:
        message = calling(act("return_from_branch", "r", result="x"), call("ls", 2))
        answer({"choices": [{"message": message, "finish_reason": "stop"}]})
    session.round().__enter__()  # the return is done; then the process ends
    assert branches(session).begun == ()
    session = home.killed()
    assert branches(session).begun == ()
    assert "edit 1 applied" in last(session)
    assert sum("my result of the branch" in text for text in texts(session)) == 1


def test_a_branch_whose_result_was_lost_is_open_and_said_to_be(home: Home) -> None:
    session = home.session
    session.request()
    with session.answer() as answer:
        message = calling(act("branch", "b", **BEGIN), call("ls", 2))
        answer({"choices": [{"message": message, "finish_reason": "stop"}]})
    session.round().__enter__()
    session = home.killed()
    assert "Branch begun" in str(texts(session))
    assert len(branches(session).open) == 1


def test_a_call_that_was_never_done_is_to_be_made_again(home: Home) -> None:
    ask(home.session, calling(act("branch", "b", **BEGIN)))
    session = home.killed()
    assert branches(session).begun == ()
    assert "again" in last(session)


def test_a_commit_that_nobody_was_told_of_has_ended_its_branch(home: Home) -> None:
    """The process ends between the commit and its event."""
    session = home.session
    begin(session)
    log(session, 3)
    ask(session, runs("ls"))
    toolset = branches(session)
    record = home.journal.record

    def dying(entry: Any) -> None:
        record(entry)
        if type(entry).__name__ == "Committed":
            raise KeyboardInterrupt

    home.journal.record = dying  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        toolset.answer(ToolCall("c", "return_from_branch", {"result": "x"}, 0))
    home.journal.record = record  # type: ignore[method-assign]
    home.journal.flush()
    assert toolset.begun != ()
    session = home.killed()
    assert branches(session).begun == ()
    assert sum("my result of the branch" in text for text in texts(session)) == 1


def test_elision_can_be_off() -> None:
    with session_with("fold", settings=Settings(elide_edits="off")) as session:
        begin(session)
        log(session, 3)
        end(session, "It is 48001. " + "That is certain. " * 40)
        session.request()
        assert str(session.messages).count("That is certain.") == 80


def test_a_run_that_goes_on_under_another_policy_gets_its_tools(tmp_path: Path) -> None:
    with (
        SQLiteJournal(tmp_path / "0") as journal,
        session_with("append-only", journal=journal) as first,
    ):
        log(first, 1)
    with SQLiteJournal(tmp_path / "0") as journal, Session.resume(journal, policy="fold") as second:
        assert tools(second) == ["bash", "branch", "return_from_branch", "read_overflow"]
        begin(second)
        log(second, 3, 10)
        assert "branch ended" in end(second)
        assert balanced(second)
    with SQLiteJournal(tmp_path / "0") as journal, Session.resume(journal) as third:
        assert branches(third).begun == ()
        assert balanced(third)
