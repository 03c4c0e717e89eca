"""Taking edits back, pinning turns, exporting the context, and several sessions at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from session_world import (
    HEAD,
    ask,
    balanced,
    fill,
    last,
    legal,
    play,
    replaced,
    runs,
    says,
    shell,
    statuses,
    texts,
    turn,
    user,
)

from redraft import Session, Settings, prompts
from redraft.context import RECEIPT_CAP
from redraft.errors import ContextFileError, SettingsError, UndoError


def test_an_undo_brings_back_the_very_turns() -> None:
    with Session(HEAD) as session:
        fill(session, 4)
        before = session.live.turns
        play(session, runs(replaced(5, 8, "two settled steps")))
        receipt = session.undo(1)
        assert str(receipt.status) == "grew"
        assert session.live.turns[: len(before)] == before
        request = session.request()
        assert request is not None
        assert legal(request["messages"])
        assert balanced(session)


def test_an_undo_can_be_undone() -> None:
    with Session(HEAD) as session:
        fill(session, 4)
        play(session, runs(replaced(5, 8, "two settled steps")))
        edited = session.live.turns
        session.undo(1)
        session.undo(2)
        assert session.live.turns == edited


def test_revisions_are_undone_out_of_order_where_they_touched_other_turns() -> None:
    with Session(HEAD) as session:
        fill(session, 4)
        play(session, runs(replaced(3, 4, "one")))
        play(session, runs(replaced(7, 8, "two")))
        session.undo(1)
        assert texts(session)[2] == "step 0"
        assert "two" in texts(session)


def test_a_revision_under_later_ones_names_what_must_go_first() -> None:
    with Session(HEAD, settings=Settings(elide_edits="off")) as session:
        fill(session, 4)
        play(session, runs(replaced(3, 6, "one")))
        play(session, runs("sed -i 's/^one$/two/' $REDRAFT_CONTEXT_FILE"))
        play(session, runs("sed -i 's/^two$/three/' $REDRAFT_CONTEXT_FILE"))
        with pytest.raises(UndoError, match=r"undo those first, the newest first: 3, 2\."):
            session.undo(1)
        for number in (3, 2, 1):
            session.undo(number)
        assert texts(session)[2] == "step 0"


def test_an_unknown_revision_names_those_that_there_are() -> None:
    with Session(HEAD) as session:
        with pytest.raises(UndoError, match="none has been applied"):
            session.undo(1)
        fill(session, 1)
        for at in range(13):
            play(session, runs(f"sed -i 's/^step.*/step {at} x/' $REDRAFT_CONTEXT_FILE"))
        with pytest.raises(UndoError, match=r"the newest are 4, 5, 6, 7, 8, 9, 10, 11, 12, 13\."):
            session.undo(99)


def test_an_undo_that_does_not_fit_tells_the_sizes() -> None:
    with Session(HEAD, budget=8_000) as session:
        play(session, runs("seq"), "word " * 2_000)
        play(session, runs(replaced(3, 4, "settled")))
        play(session, runs("seq"), "word " * 4_000)
        before = session.live
        with pytest.raises(UndoError, match=SIZES) as info:
            session.undo(1)
        assert session.live is before
        back, holds, free = (
            int(n.replace(",", "")) for n in re.search(SIZES, str(info.value)).groups()
        )  # type: ignore[union-attr]
        assert holds == session.tokens
        assert free == holds + back + RECEIPT_CAP - session.limit


SIZES = (
    r"brings back ([\d,]+) tokens, and the context holds ([\d,]+) of 5,952; free ([\d,]+) first\."
)


def test_an_undo_that_a_check_refuses_says_so() -> None:
    def never(proposal: object) -> str | None:
        revision = proposal.revision  # type: ignore[attr-defined]
        return "not on Sundays" if revision.source == "undo" else None

    with Session(HEAD, checks=[never]) as session:
        fill(session, 2)
        play(session, runs(replaced(3, 4, "settled")))
        with pytest.raises(UndoError, match=r"cannot be undone now: not on Sundays\."):
            session.undo(1)


def test_a_rollback_can_be_undone_where_there_is_room_again() -> None:
    with Session(HEAD, budget=12_000, settings=Settings(margin=500)) as session:
        while session.limit - session.tokens > 700:
            fill(session, 1, "word " * 300)
        play(session, runs("true", text="x " * 700), "")
        before = session.live.turns
        assert session.request() is not None
        gone = [turn for turn in before if turn not in session.live.turns]
        assert len(gone) > 3
        play(session, runs(replaced(3, 14, "settled")))
        session.undo(1)
        assert [turn for turn in session.live.turns if turn in gone] == gone
        assert not any("Rolled back" in text for text in texts(session))
        assert legal(session.messages)
        assert balanced(session)


def test_an_undo_in_the_middle_of_a_round_leaves_the_round_alone() -> None:
    with Session(HEAD) as session:
        fill(session, 3)
        play(session, runs(replaced(3, 4, "settled")))
        ask(session, runs("ls"))
        with session.round() as now:
            session.undo(1)
            now.result(now.calls[0], "x")
        assert texts(session)[2] == "step 0"
        assert legal(session.messages)
        assert balanced(session)


# -- pins ------------------------------------------------------------------------------------------


def test_a_pinned_turn_stays_as_it_is() -> None:
    with Session(HEAD) as session:
        fill(session, 3)
        session.pin(5, 6)
        kept = [turn(session, number) for number in (5, 6)]
        play(session, runs(replaced(3, 8, "all of it")))
        assert [turn(session, number) for number in (5, 6)] == kept
        assert "protected turns kept" in last(session)
        session.unpin(5, 6)
        play(session, runs(replaced(5, 6, "now it goes")))
        assert "now it goes" in texts(session)


def test_an_unknown_turn_cannot_be_pinned() -> None:
    with Session(HEAD) as session:
        with pytest.raises(SettingsError, match="no turn has the number 7, 9"):
            session.pin(2, 9, 7)
        assert session.live.pins == frozenset()


def test_unpinning_what_is_not_pinned_is_nothing() -> None:
    with Session(HEAD) as session:
        session.unpin(3, 99)
        assert session.live.pins == frozenset()


# -- export ----------------------------------------------------------------------------------------


def test_what_is_exported_is_what_would_be_sent() -> None:
    with Session(HEAD, settings=Settings(elide_edits="off")) as session:
        fill(session, 3)
        play(session, runs(replaced(3, 4, "settled")))
        exported = session.messages
        request = session.request()
        assert request is not None
        assert exported == request["messages"]


def test_calls_that_wait_for_results_are_exported_as_they_are() -> None:
    with Session(HEAD) as session:
        ask(session, runs("one", "two"))
        assert session.messages[2:] == [runs("one", "two")]


@pytest.mark.parametrize("interface", ["file", "tool", "both"])
def test_a_session_goes_on_from_what_another_exported(interface: str) -> None:
    with Session(HEAD, interface=interface, steer="Compact early.") as first:  # type: ignore[arg-type]
        fill(first, 2)
        exported = first.messages
    with Session(exported, interface=interface, steer="Compact early.") as second:  # type: ignore[arg-type]
        prompt = second.messages[0]["content"]
        assert prompt.count(prompts.SECTION_MARK) == 1
        assert prompt.count("Compact early.") == 1
        assert first.tag not in prompt
        assert second.tag in prompt
        assert second.messages[1:] == exported[1:]
        assert prompt.startswith("You are an agent.\n\n## Redrafting")


def test_what_stands_behind_an_old_section_is_kept() -> None:
    with Session(HEAD) as first:
        prompt = first.messages[0]["content"]
    messages = [{"role": "system", "content": f"{prompt}\n\nAlways answer in verse."}, HEAD[1]]
    with Session(messages) as second:
        text = second.messages[0]["content"]
        assert text.startswith("You are an agent.\n\nAlways answer in verse.\n\n## Redrafting")
        assert text.count(prompts.SECTION_MARK) == 1


# -- several sessions ------------------------------------------------------------------------------


def test_two_sessions_at_once_have_files_of_their_own() -> None:
    with Session(HEAD) as one, Session(HEAD) as two:
        assert one.context_file != two.context_file
        fill(one, 2)
        fill(two, 2)
        play(one, runs(replaced(3, 4, "settled in one")))
        assert "settled in one" in texts(one)
        assert "settled in one" not in texts(two)


def test_sub_agents_share_a_directory_under_names_of_their_own(tmp_path: Path) -> None:
    with Session(HEAD, path=tmp_path) as main:
        with Session(HEAD, path=tmp_path, name="searcher") as sub:
            assert sorted(path.name for path in tmp_path.iterdir()) == [
                "LIVE_CTX_MAIN.txt",
                "LIVE_CTX_SEARCHER.txt",
            ]
            assert str(sub.context_file) in sub.messages[0]["content"]
            assert sub.env["REDRAFT_CONTEXT_FILE"].endswith("LIVE_CTX_SEARCHER.txt")
            fill(sub, 1)
            play(sub, runs("echo note >> $REDRAFT_CONTEXT_FILE"))
            assert statuses(main) == []
        assert [path.name for path in tmp_path.iterdir()] == ["LIVE_CTX_MAIN.txt"]


def test_a_name_that_is_taken_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with Session(HEAD, path=tmp_path):
        with pytest.raises(ContextFileError, match="choose another name"):
            Session(HEAD, path=tmp_path)
        with pytest.raises(SettingsError, match="cannot name a context file"):
            Session(HEAD, path=tmp_path, name="../x")
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_cannot_begin_leaves_nothing_behind(tmp_path: Path) -> None:
    for wrong in ({"budget": 10}, {"gate": "loose"}, {"parameters": {"tools": 1}}, {"mode": "x"}):
        with pytest.raises(ValueError, match=r"give|raise|pass them"):
            Session(HEAD, path=tmp_path / "here", **wrong)  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []


def test_the_directory_may_be_named_by_text(tmp_path: Path) -> None:
    with Session(HEAD, path=str(tmp_path / "made")) as session:
        output, code = shell("cat $REDRAFT_CONTEXT_FILE", session.env)
        assert (output, code) == ("[[CTX_END]]\n", 0)
        ask(session, says("done"))
        session.append(user("x"))
    assert not (tmp_path / "made").exists()
