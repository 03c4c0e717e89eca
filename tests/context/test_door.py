"""The one door: what may be looked at, in which order it is judged, and what it answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from context_world import (
    CHAT,
    PLENTY,
    applied,
    calls,
    contents,
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
    turn,
    user,
    words,
)

from redraft.context import (
    RECEIPT_CAP,
    Change,
    Draft,
    Gate,
    Insert,
    Live,
    Origin,
    Proposal,
    Revision,
    Status,
    Turn,
    commit,
)
from redraft.dialects.base import Content


def talk() -> Live:
    return start(
        user("task"), said("one"), calls("a"), result("a", "out"), user("go on"), said("two")
    )


class TestCompareAndSwap:
    def test_a_revision_names_what_it_saw(self) -> None:
        live = talk()
        stale = drop(live, 2)
        now = applied(revise(live, edit(live, 2, "edited"))).live
        answer = refused(revise(now, stale))
        assert answer.receipt.rule == "turn 2 has changed since it was read"
        assert answer.violation is None

    def test_a_turn_that_is_gone_has_changed(self) -> None:
        live = talk()
        stale = edit(live, 2, "edited")
        now = applied(revise(live, drop(live, 2))).live
        assert "turn 2 has changed" in refused(revise(now, stale)).receipt.rule

    def test_appends_do_not_move_the_base(self) -> None:
        live = talk()
        change = edit(live, 2, "edited")
        assert (
            turn(applied(revise(grown(live, user("more")), change)).live, 2).content.text
            == "edited"
        )

    def test_nor_do_edits_of_other_turns(self) -> None:
        live = talk()
        change = edit(live, 2, "edited")
        now = applied(revise(live, drop(live, 6), insert(live, 5, "note"))).live
        assert turn(applied(revise(now, change)).live, 2).content.text == "edited"

    def test_a_note_behind_a_turn_that_is_gone_is_refused(self) -> None:
        live = talk()
        late = insert(live, 2, "note")
        now = applied(revise(live, drop(live, 2))).live
        assert "turn 2, which a note follows, is gone" in refused(revise(now, late)).receipt.rule

    def test_one_turn_cannot_be_changed_twice(self) -> None:
        live = talk()
        assert "twice" in refused(revise(live, drop(live, 2), edit(live, 2, "x"))).receipt.rule


class TestAuthority:
    def test_no_revision_makes_original_words(self) -> None:
        live = talk()
        for step in (
            edit(live, 2, "x", origin=Origin.ORIGINAL),
            insert(live, 2, "x", origin=Origin.ORIGINAL),
        ):
            for author in ("model", "policy", "harness", "person"):
                answer = refused(revise(live, step, author=author))
                assert answer.receipt.rule == "rewritten words cannot pass for the original ones"

    @pytest.mark.parametrize("role", ["system", "tool"])
    def test_no_new_turn_is_of_a_system_or_a_tool(self, role: str) -> None:
        live = talk()
        content = contents({"role": role, "content": "x", "tool_call_id": "a"})[0]
        new = Insert(2, live.draft(content, Origin.NOTE))
        assert "plain text with role user or assistant" in refused(revise(live, new)).receipt.rule

    def test_no_new_turn_calls(self) -> None:
        live = talk()
        new = Insert(2, live.draft(contents(calls("z"))[0], Origin.NOTE))
        assert "plain text" in refused(revise(live, new)).receipt.rule

    @pytest.mark.parametrize(
        ("number", "message", "passes"),
        [
            (2, {"role": "user", "content": "x"}, True),
            (2, {"role": "system", "content": "x"}, False),
            (2, {"role": "tool", "content": "x", "tool_call_id": "a"}, False),
            (5, {"role": "assistant", "content": "x"}, False),
            (5, {"role": "system", "content": "x"}, False),
        ],
    )
    def test_a_turn_keeps_its_role_or_becomes_a_users_text(
        self, number: int, message: dict[str, Any], passes: bool
    ) -> None:
        live = talk()
        new = live.draft(contents(message)[0], Origin.NOTE)
        answer = revise(live, Change(number, turn(live, number).digest, new))
        if passes:
            assert turn(applied(answer).live, number).role == "user"
        else:
            assert "cannot change its role" in refused(answer).receipt.rule

    def test_a_call_that_nobody_made_cannot_be_written_in(self) -> None:
        live = talk()
        new = live.draft(contents(calls("a", "z"))[0], Origin.EDITED)
        answer = refused(revise(live, Change(3, turn(live, 3).digest, new)))
        assert answer.receipt.rule == "a call and its result would be parted"

    def test_a_result_cannot_be_made_to_answer_another_call(self) -> None:
        live = talk()
        new = live.draft(contents(result("z", "out"))[0], Origin.EDITED)
        answer = refused(revise(live, Change(4, turn(live, 4).digest, new)))
        assert answer.receipt.rule == "a call and its result would be parted"


class TestTurnsThatComeBack:
    def back(self, live: Live, *turns: Turn, author: Any = "person") -> Any:
        return revise(live, *(Insert(0, turn) for turn in turns), author=author)

    def test_only_what_was_there_can(self) -> None:
        stranger = Turn(99, CHAT.note("user", "x"), Origin.ORIGINAL, 5)
        assert "was never in this context" in refused(self.back(talk(), stranger)).receipt.rule

    def test_not_while_it_stands_and_not_twice(self) -> None:
        live = talk()
        old = turn(live, 2)
        assert "in the context already" in refused(self.back(live, old)).receipt.rule
        gone = applied(revise(live, drop(live, 2))).live
        assert "in the context already" in refused(self.back(gone, old, old)).receipt.rule

    def test_not_under_another_number(self) -> None:
        live = talk()
        change = Change(2, turn(live, 2).digest, turn(live, 6))
        answer = refused(revise(live, change, author="person"))
        assert "cannot become another turn" in answer.receipt.rule

    @pytest.mark.parametrize("author", ["model", "policy", "harness"])
    def test_nobody_but_a_person_brings_them_back(self, author: Any) -> None:
        """They carry the authority that they had, and stand again as they stood."""
        live = talk()
        gone = applied(revise(live, drop(live, 2), edit(live, 6, "edited"))).live
        change = Change(6, turn(gone, 6).digest, turn(live, 6))
        for answer in (
            self.back(gone, turn(live, 2), author=author),
            revise(gone, change, author=author),
        ):
            assert refused(answer).receipt.rule == "only a person's undo brings a turn back"

    def test_not_behind_the_round_in_progress(self) -> None:
        live = grown(applied(revise(talk(), drop(talk(), 2))).live, calls("z"))
        misplaced = Turn(2, CHAT.note("assistant", "one"), Origin.NOTE, 5, place=(99, 0))
        assert refused(self.back(live, misplaced)).receipt.rule == (
            "the round in progress must stay the last"
        )

    def test_a_stray_result_of_the_client_comes_back_as_it_stood(self) -> None:
        live = start(user("task"), said("one"), result("x", "stray"), said("two"))
        done = applied(revise(live, drop(live, 3)))
        assert applied(self.back(done.live, turn(live, 3))).live.turns == live.turns


class TestChecks:
    def test_any_check_has_a_veto_and_sees_before_and_after(self) -> None:
        live = talk()
        seen: list[Proposal] = []

        def objection(proposal: Proposal) -> str:
            seen.append(proposal)
            return "not today"

        revision = Revision("model", "test", (drop(live, 3),))
        answer = refused(commit(live, revision, PLENTY, (lambda proposal: None, objection)))
        assert (answer.receipt.rule, answer.receipt.status) == ("not today", Status.REJECTED)
        assert answer.receipt.proposed == live.tokens - turn(live, 3).tokens - turn(live, 4).tokens
        (proposal,) = seen
        assert proposal.before is live
        assert numbers(proposal.after) == [1, 2, 5, 6]
        assert {change.number for change in proposal.revision.changes} == {3, 4}

    def test_no_check_is_asked_about_what_the_gate_refuses(self) -> None:
        live = talk()

        def never(proposal: Proposal) -> str:
            raise AssertionError

        revision = Revision("model", "test", (), (insert(live, 2, words(99)),), Gate.SHRINK)
        assert refused(commit(live, revision, PLENTY, (never,))).receipt.rule.startswith("shrink")


class TestReceipts:
    def test_an_applied_revision_tells_both_sizes_and_the_limit(self) -> None:
        live = talk()
        done = applied(revise(live, drop(live, 2), limit=5_000))
        assert done.receipt.status is Status.APPLIED
        assert (done.receipt.before, done.receipt.after) == (live.tokens, done.live.tokens)
        assert (done.receipt.limit, done.receipt.rule) == (5_000, "")

    def test_an_empty_revision_is_ignored(self) -> None:
        live = talk()
        assert refused(revise(live)).receipt.status is Status.IGNORED

    def test_what_the_proposer_said_stands_on_the_receipt(self) -> None:
        live = talk()
        done = applied(revise(live, drop(live, 2), notes=("a remark",)))
        assert done.receipt.notes == ("a remark",)
        assert refused(revise(live, notes=("a remark",))).receipt.rule == "a remark"


class TestDeltasAndReach:
    def test_freed_is_what_left_and_replacement_what_came(self) -> None:
        live = talk()
        done = applied(
            revise(live, drop(live, 3), edit(live, 2, words(9)), insert(live, 5, words(7)))
        )
        assert done.deltas.freed == sum(turn(live, number).tokens for number in (2, 3, 4))
        assert done.deltas.replacement == 13 + 11
        assert done.deltas.measurement == RECEIPT_CAP

    def test_the_reach_begins_at_the_first_changed_turn(self) -> None:
        live = start(
            user(), said("a"), calls("b", reasoning_content=words(30)), result("b"), said()
        )
        done = applied(revise(live, edit(live, 2, "other")))
        assert (done.reach.first, done.reach.number) == (1, 2)
        assert done.reach.reread == sum(turn.tokens for turn in done.live.turns[1:])
        assert done.reach.reasoning == 30

    def test_a_change_at_the_very_end_re_reads_nothing(self) -> None:
        live = talk()
        done = applied(revise(live, drop(live, 6)))
        assert (done.reach.first, done.reach.number, done.reach.reread) == (5, 0, 0)

    def test_moves_tell_enough_to_read_them_later(self) -> None:
        live = talk()
        done = applied(revise(live, drop(live, 3), insert(live, 4, "note")))
        assert [(m.old and m.old.number, m.new and m.new.number, m.anchor) for m in done.moves] == [
            (3, None, 2),
            (4, None, 2),
            (None, 7, 0),
        ]


def test_the_old_context_is_never_changed() -> None:
    live = talk()
    before = (live.turns, live.tokens, live.next_number, live.plans)
    applied(
        revise(live, drop(live, 3), edit(live, 2, "x"), replace(insert(live, 2, "n"), plan=True))
    )
    assert (live.turns, live.tokens, live.next_number, live.plans) == before


def test_a_draft_of_unchanged_words_is_a_change_of_no_size() -> None:
    live = talk()
    done = applied(revise(live, edit(live, 2, "one")))
    assert done.receipt.after == live.tokens
    assert texts(done.live) == texts(live)


def test_a_context_without_turns_takes_a_first_note() -> None:
    live = start()
    done = applied(revise(live, insert(live, 0, "note")))
    assert texts(done.live) == ["note"]


def test_a_dialect_with_parts_only_is_not_empty() -> None:
    """An image without words is something."""
    live = start(user(), said("x"))
    image = Content("user", "", parts=contents(user([{"type": "file"}]))[0].parts)
    draft = Draft(image, Origin.NOTE, 10)
    assert len(applied(revise(live, Insert(2, draft))).live.turns) == 3
