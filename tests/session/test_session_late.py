"""What is written to the file between rounds is judged before the next request, and answered for."""

from __future__ import annotations

import os
from pathlib import Path

from session_world import (
    HEAD,
    ask,
    balanced,
    fill,
    journal_of,
    last,
    play,
    reply,
    runs,
    says,
    statuses,
    texts,
    turn,
    user,
)

from redraft import Session
from redraft.context import Origin
from redraft.store import Refused


def file_of(session: Session) -> Path:
    path = session.context_file
    assert path is not None
    return path


def note(session: Session, text: str) -> None:
    """A person's `echo text >> FILE`."""
    with file_of(session).open("a") as file:
        file.write(f"{text}\n")


def test_a_persons_note_between_rounds_is_in_the_next_request() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        note(session, "mind the gap")
        request = session.request()
        assert request is not None
        assert request["messages"][-1] == {"role": "user", "content": "mind the gap"}
        assert session.live.turns[-1].origin is Origin.NOTE
        assert balanced(session)


def test_its_receipt_stands_in_the_newest_result_of_the_next_round() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        note(session, "mind the gap")
        ask(session, runs("true", "true"))
        with session.round() as now:
            for asked in now.calls:
                now.result(asked, "")
        assert "edit 1 applied but grew" in last(session)
        assert sum("edit 1" in text for text in texts(session)) == 1


def test_a_note_written_while_the_model_thinks_is_taken_before_the_round() -> None:
    with Session(HEAD) as session:
        fill(session, 1)
        session.request()
        with session.answer() as answer:
            note(session, "one more thing")
            answer(reply(runs("cat $REDRAFT_CONTEXT_FILE")))
        with session.round() as now:
            shown = file_of(session).read_text()
            now.result(now.calls[0], "")
        assert "role=user]]\none more thing\n" in shown
        assert [t.role for t in session.live.turns[2:]] == [
            *("assistant", "tool", "user", "assistant", "tool")
        ]
        assert "edit 1 applied but grew" in last(session)


def test_a_note_written_after_the_final_answer_stands_behind_it() -> None:
    with Session(HEAD) as session:
        fill(session, 1)
        ask(session, says("done"))
        note(session, "thanks")
        session.append(user("and now?"))
        session.request()
        assert texts(session)[-3:] == ["done", "thanks", "and now?"]


def test_a_late_edit_that_is_refused_is_told_and_kept_for_the_record() -> None:
    with Session(HEAD) as session:
        fill(session, 1)
        before = session.live.turns
        file_of(session).write_bytes(b"")
        assert session.request() is not None
        assert session.live.turns == before
        assert file_of(session).read_bytes() != b""
        file_of(session).write_bytes(b"\xff\xfe\x00")
        assert session.request() is not None
        kept = [entry for entry in journal_of(session).entries if isinstance(entry, Refused)]
        assert [entry.data for entry in kept] == [b"", b"\xff\xfe\x00"]
        with session.answer() as answer:
            answer(reply(runs("true")))
        with session.round() as now:
            now.result(now.calls[0], "")
        assert last(session).count("edit rejected") == 2


def test_whatever_stands_in_the_files_place_is_refused_and_replaced() -> None:
    def link(path: Path) -> None:
        path.symlink_to("/etc/passwd")

    def sparse(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(2**31)

    with Session(HEAD) as session:
        fill(session, 2)
        before = session.live.turns
        for replace in (link, Path.mkdir, os.mkfifo, sparse, lambda path: None):
            path = file_of(session)
            path.unlink()
            replace(path)
            assert session.request() is not None
            assert session.live.turns == before
            assert path.is_file()
            assert not path.is_symlink()
            assert path.read_text().startswith("[[CTX_TURN 3 role=assistant]]\nstep 0\n")
        assert statuses(session) == ["rejected"] * 5


def test_an_edit_of_turns_that_were_taken_back_meanwhile_is_refused() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        play(session, runs("sed -i 's/^step 0$/begun/' $REDRAFT_CONTEXT_FILE"))
        file_of(session).write_text(file_of(session).read_text().replace("begun", "begun well"))
        session.undo(1)
        assert session.request() is not None
        assert turn(session, 3).content.text == "step 0"
        assert statuses(session)[-1] == "rejected"
        assert "changed since" in session.receipts[-1].rule


def test_touching_the_file_is_no_edit() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        file_of(session).touch()
        session.request()
        file_of(session).write_bytes(file_of(session).read_bytes())
        session.request()
        assert session.receipts == []


def test_a_formatter_run_over_the_file_changes_nothing() -> None:
    with Session(HEAD) as session:
        fill(session, 2, "word  \nword\t\n")
        before = session.live.turns
        text = file_of(session).read_text()
        lines = (line.rstrip() for line in text.splitlines())
        file_of(session).write_bytes("\r\n".join(lines).encode() + b"\r\n")
        session.request()
        assert session.live.turns == before
        assert statuses(session) == ["ignored"]
