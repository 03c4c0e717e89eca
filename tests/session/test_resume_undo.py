"""Taking back everything since a point, at once."""

from __future__ import annotations

import pytest
from session_world import HEAD, balanced, calling, edit_call, fill, legal, numbers, play, texts

from redraft import Session
from redraft.errors import UndoError


def edit(session: Session, number: int, text: str, **more: int) -> None:
    at = session.live.next_number
    play(
        session,
        calling(edit_call({"turn": number, "text": text, **more}, at=at), text=f"edit at {at}"),
    )


@pytest.fixture
def session() -> Session:
    """Four rounds and three edits, two of them of the same turn."""
    made = Session(HEAD, interface="tool", budget=40_000)
    fill(made, 4)
    edit(made, 3, "first")
    edit(made, 3, "second")
    edit(made, 5, "one note", through=8)
    return made


def test_all_revisions_since_a_point_are_taken_back_as_one(session: Session) -> None:
    before = [*texts(session)]
    receipt = session.undo_since(0)
    assert receipt.after > receipt.before
    assert texts(session)[2:10] == [
        part for at in range(4) for part in (f"step {at}", texts(session)[3 + 2 * at])
    ]
    assert numbers(session)[:14] == list(range(1, 15))
    assert numbers(session)[14:] == [15, 17]  # 16 was the note
    assert texts(session)[10:] == before[-6:]  # what was said since stays
    assert balanced(session)
    assert legal(session.messages)
    session.undo(4)  # the undo is a revision like any other
    assert texts(session) == before


def test_a_point_in_the_middle_leaves_what_was_before_it(session: Session) -> None:
    session.undo_since(1)
    assert texts(session)[2] == "first"
    assert texts(session)[4] == "step 1"
    session.undo_since(0)
    assert texts(session)[2] == "step 0"


def test_what_does_not_fit_is_refused_with_the_sizes_and_changes_nothing() -> None:
    session = Session(HEAD, interface="tool", budget=7_000)
    fill(session, 20, "word " * 800)
    assert {commit.revision.source for commit in session._core.commits.values()} == {"rollback"}
    before = texts(session)
    with pytest.raises(UndoError, match=r"brings back [\d,]+ tokens, .* free [\d,]+ first"):
        session.undo_since(0)
    assert texts(session) == before
    assert balanced(session)


def test_a_turn_that_came_and_went_in_between_leaves_no_trace(session: Session) -> None:
    ask = session.live.next_number
    edit(session, session.live.turns[4].number, "another note")
    edit(session, session.live.turns[4].number, "")
    session.undo_since(3)
    assert "another note" not in texts(session)
    assert ask in numbers(session)


@pytest.mark.parametrize(
    ("point", "says_"),
    [(9, "no revision after 9"), (3, "no revision after 3"), (-1, "no revision -1 to go back to")],
)
def test_a_point_without_revisions_is_an_error(session: Session, point: int, says_: str) -> None:
    with pytest.raises(UndoError, match=says_):
        session.undo_since(point)


def test_before_the_first_revision_there_is_nothing_to_take_back() -> None:
    session = Session(HEAD, interface="none")
    with pytest.raises(UndoError, match="none has been applied so far"):
        session.undo_since(0)
