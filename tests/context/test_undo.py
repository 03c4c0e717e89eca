"""Any commit can be taken back: the very same turns return to where they belong."""

from __future__ import annotations

import pytest
from context_world import (
    PLENTY,
    applied,
    calls,
    drop,
    edit,
    grown,
    insert,
    numbers,
    refused,
    result,
    revise,
    said,
    start,
    texts,
    user,
    words,
)

from redraft.context import Commit, Gate, Live, Revision, Status, commit, invert, obstacles
from redraft.errors import UndoError


def talk() -> Live:
    return start(
        user("task"),
        said("one"),
        calls("a", "b", text="looking"),
        result("a", "x"),
        result("b", "y"),
        said("two"),
        said("three"),
        said("four"),
    )


def undo(live: Live, done: Commit, limit: int = PLENTY) -> Commit:
    return applied(commit(live, invert(live, done), limit))


def test_what_stood_between_calls_and_their_results_may_come_back() -> None:
    """A client's list may hold words there; what is sent is mended, so nothing is parted anew."""
    live = start(
        user("task"), calls("a", "b"), said("ok"), result("a", "x"), result("b", "y"), said("done")
    )
    done = applied(revise(live, drop(live, 3)))
    assert undo(done.live, done).live.turns == live.turns


class TestAtOnce:
    @pytest.mark.parametrize(
        "what",
        ["drop", "edit", "note", "group", "call", "stub", "all"],
    )
    def test_the_same_turns_return_in_the_same_order(self, what: str) -> None:
        live = talk()
        steps = {
            "drop": [drop(live, 2)],
            "edit": [edit(live, 6, "edited")],
            "note": [insert(live, 6, "note")],
            "group": [drop(live, 3)],
            "call": [edit(live, 3, "looking", calls=(1,))],
            "stub": [drop(live, 4)],
            "all": [drop(live, n) for n in (2, 3, 6, 7, 8)] + [insert(live, 2, "summary")],
        }[what]
        done = applied(revise(live, *steps))
        back = undo(done.live, done)
        assert back.live.turns == live.turns
        assert all(a is b for a, b in zip(back.live.turns, live.turns, strict=True))
        assert back.live.tokens == live.tokens

    def test_an_undo_can_be_undone(self) -> None:
        live = talk()
        done = applied(revise(live, edit(live, 3, "looking", calls=(1,)), insert(live, 6, "note")))
        back = undo(done.live, done)
        again = undo(back.live, back)
        assert again.live.turns == done.live.turns

    def test_it_is_a_fit_revision_by_the_person(self) -> None:
        live = talk()
        done = applied(revise(live, drop(live, 2)))
        revision = invert(done.live, done)
        assert (revision.author, revision.source, revision.gate) == ("person", "undo", Gate.FIT)


class TestLater:
    def test_turns_return_to_their_place_whatever_became_of_their_neighbours(self) -> None:
        """Both neighbours left after them; each way back gives the order of the conversation."""
        live = talk()
        for first in (0, 1):
            one = applied(revise(live, drop(live, 6)))
            two = applied(revise(one.live, drop(one.live, 7)))
            pair = [one, two]
            now = undo(two.live, pair[first]).live
            now = undo(now, pair[1 - first]).live
            assert now.turns == live.turns

    def test_also_where_notes_were_put_meanwhile(self) -> None:
        live = talk()
        one = applied(revise(live, drop(live, 6), drop(live, 7)))
        two = applied(revise(one.live, insert(one.live, 5, "note")))
        assert texts(undo(two.live, one).live)[5:] == ["two", "three", "note", "four"]

    def test_a_result_returns_to_its_call_past_a_note_behind_it(self) -> None:
        live = start(user(), calls("a", text="t"), result("a", "x"), said())
        one = applied(revise(live, edit(live, 2, "t", calls=()), drop(live, 3)))
        two = applied(revise(one.live, insert(one.live, 2, "note")))
        assert texts(undo(two.live, one).live) == ["task", "t", "x", "note", "hello"]

    def test_what_was_appended_stays_at_the_end(self) -> None:
        live = talk()
        done = applied(revise(live, drop(live, 8)))
        now = grown(done.live, user("more"), calls("z"))
        assert numbers(undo(now, done).live) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

    def test_a_pin_that_came_later_does_not_hold_a_person(self) -> None:
        live = talk()
        done = applied(revise(live, insert(live, 6, "note")))
        now = done.live.pin([done.live.next_number - 1])
        assert undo(now, done).live.turns == live.turns


class TestObstacles:
    def test_are_the_turns_that_later_revisions_touched_and_no_others(self) -> None:
        live = talk()
        one = applied(revise(live, edit(live, 2, "a"), edit(live, 6, "b"), drop(live, 8)))
        two = applied(revise(one.live, edit(one.live, 6, "c"), drop(one.live, 7)))
        assert obstacles(two.live, one) == {6}
        with pytest.raises(UndoError, match=r"turns 6 have changed since; undo the later"):
            invert(two.live, one)
        assert obstacles(undo(two.live, two).live, one) == frozenset()

    def test_what_was_made_and_is_gone_is_one(self) -> None:
        live = talk()
        one = applied(revise(live, insert(live, 6, "note")))
        number = live.next_number
        two = applied(revise(one.live, drop(one.live, number)))
        assert obstacles(two.live, one) == {number}

    def test_what_is_back_already_is_one(self) -> None:
        live = talk()
        one = applied(revise(live, drop(live, 3)))
        two = undo(one.live, one)
        assert obstacles(two.live, one) == {3, 4, 5}

    def test_an_equal_edit_is_another_turn(self) -> None:
        live = talk()
        one = applied(revise(live, edit(live, 2, "same")))
        two = applied(revise(one.live, edit(one.live, 2, "same")))
        assert obstacles(two.live, one) == {2}


def test_what_does_not_fit_is_refused_with_its_sizes() -> None:
    live = start(user(), said(words(500)), said())
    done = applied(revise(live, drop(live, 2)))
    answer = refused(commit(done.live, invert(done.live, done), 300))
    assert answer.receipt.status is Status.REJECTED
    assert "over the limit" in answer.receipt.rule
    assert (answer.receipt.before, answer.receipt.proposed, answer.receipt.limit) == (
        done.live.tokens,
        live.tokens,
        300,
    )


def test_a_revision_that_was_never_committed_has_nothing_to_undo() -> None:
    live = talk()
    assert not Revision("person", "undo")
    assert obstacles(live, applied(revise(live, drop(live, 2)))) == {2}
