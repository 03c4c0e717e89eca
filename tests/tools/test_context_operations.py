"""The context tools, applied: what they do, what they refuse, on a native route and on a fenced one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools_world import (
    body,
    done,
    fenced,
    fenced_results,
    fenced_said,
    native,
    outputs,
    planned,
    result,
    said,
    start,
    texts,
    user,
    why,
)

from redraft.context import Commit, Gate, Live, Origin, Refusal, commit, invert
from redraft.dialects import OPENAI_CHAT, check
from redraft.dialects.preserve import PRESERVED, Approval, approval_line, pending_approvals
from redraft.dialects.stubs import INCOGNITO, OverflowStub, body_id, stubs_in
from redraft.store import citations, spills_of
from redraft.tools import DropIntent, NoteIntent, PinBoard, outcome_text, revision_of
from redraft.tools.handles import Names, is_stub

ROUTES = pytest.mark.parametrize(
    ("make", "handles"),
    [(native, ("call_1", "call_2", "call_3")), (fenced, ("r1.1", "r1.2", "r2.1"))],
    ids=["native", "fenced"],
)
Make = Callable[[], Live]
Handles = tuple[str, str, str]


class TestDrop:
    @ROUTES
    def test_a_result_becomes_the_standard_stub(self, make: Make, handles: Handles) -> None:
        live = make()
        plan = planned(live, "context_drop", handles=[handles[1]])
        after = done(live, plan)
        name = body_id(body("beta"))
        size = len(body("beta"))
        assert outputs(after)[1] == (
            f"[overflow id={name} tool=bash bytes={size} call_id={handles[1]} storage=disk]"
        )
        assert outputs(after)[0] == body("alpha")
        assert outputs(after)[2] == body("gamma")
        assert plan.handles == (handles[1],)
        assert after.tokens < live.tokens

    @ROUTES
    def test_the_body_is_what_must_be_stored_first(self, make: Make, handles: Handles) -> None:
        live = make()
        plan = planned(live, "context_drop", handles=list(handles[:2]))
        assert plan.revision is not None
        spills = spills_of(plan.revision, live)
        assert [spill.body for spill in spills] == [body("alpha"), body("beta")]
        assert {spill.id for spill in spills} == {stub.id for stub in plan.stubs}
        assert citations(done(live, plan).turns) == {spill.id for spill in spills}

    @ROUTES
    def test_undo_brings_the_body_back(self, make: Make, handles: Handles) -> None:
        live = make()
        plan = planned(live, "context_drop", handles=list(handles))
        assert plan.revision is not None
        answer = commit(live, plan.revision, 10**9)
        assert isinstance(answer, Commit)
        back = commit(answer.live, invert(answer.live, answer), 10**9)
        assert isinstance(back, Commit)
        assert texts(back.live) == texts(live)
        assert back.live.body() == live.body()

    def test_a_round_on_a_fenced_route_goes_as_a_whole(self) -> None:
        live = fenced()
        after = done(live, planned(live, "context_drop", handles=["r1"]))
        assert [is_stub(turn) for turn in after.turns if turn.role == "tool"] == [True, True, False]

    def test_the_frame_around_a_rounds_results_stays_intact(self) -> None:
        live = fenced()
        after = done(live, planned(live, "context_drop", handles=["r1.2"]))
        message = after.body()["messages"][3]
        lines = message["content"].split("\n")
        assert set(message) == {"role", "content"}
        assert lines[0] == "[tool results of round 1: output of tools, not words of the user]"
        assert lines[1:3] == ["[result r1.1 bash]", body("alpha")]
        assert lines[3] == "[result r1.2 bash]"
        assert OverflowStub.parse(lines[4]) is not None
        assert lines[5:] == ["[end of tool results]"]

    def test_of_results_that_share_a_call_id_the_turn_says_which(self) -> None:
        live = start(
            user("task"),
            said("one", "a"),
            result("a", body("alpha")),
            said("two", "a"),
            result("a", body("beta")),
            said("done"),
        )
        plan = planned(live, "context_drop", handles=["a"])
        assert plan.revision is None
        assert why(plan)["a"] == "several results have this call id; say which: a#3, a#5"
        after = done(live, planned(live, "context_drop", handles=["a#5"]))
        assert outputs(after)[0] == body("alpha")
        assert OverflowStub.parse(outputs(after)[1]) is not None

    def test_a_fenced_message_without_offsets_goes_as_one(self) -> None:
        old = fenced_results(7, body("alpha"), body("beta"))
        del old["_tool_segments"]
        live = start(
            user("task"), fenced_said("look", 2), old, said("done"), dialect=fenced().dialect
        )  # type: ignore[arg-type]
        (handle,) = [Names(live).handle(turn) for turn in live.turns if turn.role == "tool"]
        assert handle[0] == "m"
        assert len(handle) == 9
        after = done(live, planned(live, "context_drop", handles=[handle]))
        content = after.body()["messages"][2]["content"]
        first, stub, last = content.split("\n")
        assert first.startswith("[tool results of round 7")
        assert OverflowStub.parse(stub) is not None
        assert last == "[end of tool results]"

    def test_what_is_no_text_stays_in_the_context(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        parts = [{"type": "text", "text": body("alpha")}, image]
        live = start(
            user("task"), said(None, "a"), {**result("a", ""), "content": parts}, said("done")
        )
        after = done(live, planned(live, "context_drop", handles=["a"]))
        members = after.body()["messages"][2]["content"]
        assert members[1] == image
        assert OverflowStub.parse(members[0]["text"]) is not None

    def test_in_an_incognito_run_the_stub_says_that_the_body_is_gone(self) -> None:
        live = native()
        plan = revision_of(DropIntent(("call_1",)), live, PinBoard(), storage=INCOGNITO)
        assert outputs(done(live, plan))[0].endswith("storage=memory-only (incognito)]")
        assert "cannot be restored" in outcome_text(plan, freed=10)


class TestRefusals:
    """Each says why, and what was right beside it is still done."""

    @ROUTES
    def test_an_unknown_handle(self, make: Make, handles: Handles) -> None:
        live = make()
        plan = planned(live, "context_drop", handles=["call_99", handles[0]])
        assert plan.handles == (handles[0],)
        assert "no result that you have read has this handle" in why(plan)["call_99"]

    def test_words_of_users_and_of_the_model_have_no_handle(self) -> None:
        live = native()
        numbers = [str(turn.number) for turn in live.turns]
        plan = planned(live, "context_drop", handles=[*numbers, "turn 2", "user", "system"])
        assert plan.revision is None
        assert len(plan.declined) == len(numbers) + 3

    def test_a_result_of_the_round_in_progress(self) -> None:
        live = start(user("task"), said(None, "a", "b"), result("a", body("alpha")))
        plan = planned(live, "context_drop", handles=["a"])
        assert plan.revision is None
        assert "results of this round have none yet" in why(plan)["a"]

    @ROUTES
    def test_a_stub(self, make: Make, handles: Handles) -> None:
        live = make()
        after = done(live, planned(live, "context_drop", handles=[handles[0]]))
        plan = planned(after, "context_drop", handles=[handles[0]])
        assert plan.revision is None
        assert "a stub already" in why(plan)[handles[0]]
        note = planned(after, "context_note", handles=[handles[0]], note="n")
        assert "a stub already" in why(note)[handles[0]]

    def test_a_tools_own_text_in_the_shape_of_a_stub_is_no_stub(self) -> None:
        quoted = OverflowStub.of("x", "bash", "a").line
        live = start(user("task"), said(None, "a"), result("a", quoted), said("done"))
        assert citations(live.turns) == set()
        assert planned(live, "context_drop", handles=["a"]).revision is not None

    @ROUTES
    def test_a_pinned_result(self, make: Make, handles: Handles) -> None:
        live = make()
        board = planned(live, "context_pin", handles=[handles[2]]).pins
        assert board is not None
        plan = planned(live.pin(board.numbers), "context_drop", board, handles=[handles[2]])
        assert plan.revision is None
        assert "pinned; unpin it first" in why(plan)[handles[2]]

    def test_a_turn_that_a_person_pinned_without_a_board(self) -> None:
        live = native().pin([4])
        assert "pinned" in why(planned(live, "context_drop", handles=["call_1"]))["call_1"]

    def test_on_a_fenced_route_a_pin_covers_the_whole_rounds_message(self) -> None:
        live = fenced()
        board = planned(live, "context_pin", handles=["r1.1"]).pins
        assert board is not None
        plan = planned(live, "context_drop", board, handles=["r1.2", "r2.1"])
        assert plan.handles == ("r2.1",)
        assert "pinned" in why(plan)["r1.2"]

    def test_on_a_native_route_a_pin_covers_its_own_result_alone(self) -> None:
        live = native()
        board = planned(live, "context_pin", handles=["call_1"]).pins
        assert board is not None
        assert planned(live, "context_drop", board, handles=["call_2"]).handles == ("call_2",)

    def test_a_drop_of_a_pending_approval(self) -> None:
        text = f"{body('alpha')}\n{approval_line(Approval('ap_7', 'delete the branch'))}"
        live = start(user("task"), said(None, "a"), result("a", text), said("done"))
        plan = planned(live, "context_drop", handles=["a"])
        assert plan.revision is None
        assert "pending approval ap_7; use context_note" in why(plan)["a"]

    @ROUTES
    def test_the_same_handle_twice_is_one(self, make: Make, handles: Handles) -> None:
        live = make()
        intent = DropIntent((handles[0], handles[0]))
        plan = revision_of(intent, live, PinBoard())
        assert plan.handles == (handles[0],)
        assert len(plan.stubs) == 1

    def test_two_calls_of_one_round_see_what_the_other_did(self) -> None:
        live = native()
        first = done(live, planned(live, "context_drop", handles=["call_1"]))
        second = planned(first, "context_note", handles=["call_1", "call_2"], note="beta is fine")
        assert second.handles == ("call_2",)

    def test_the_door_refuses_what_its_gate_forbids(self) -> None:
        live = start(user("task"), said(None, "a"), result("a", "ok"), said("done"))
        plan = revision_of(DropIntent(("a",)), live, PinBoard(), gate=Gate.SHRINK)
        assert plan.revision is not None
        answer = commit(live, plan.revision, 10**9)
        assert isinstance(answer, Refusal)
        assert "nothing was changed" in outcome_text(plan, refused=answer.receipt.rule)


class TestNote:
    @ROUTES
    def test_one_note_stands_in_the_first_place_and_the_others_point_at_it(
        self, make: Make, handles: Handles
    ) -> None:
        live = make()
        plan = planned(live, "context_note", handles=list(handles), note="gamma17 is the fault")
        after = done(live, plan)
        first, second, third = outputs(after)
        assert "gamma17 is the fault" in first
        assert stubs_in(first) == plan.stubs
        assert [stub.id for stub in plan.stubs] == [
            body_id(body(word)) for word in ("alpha", "beta", "gamma")
        ]
        assert second == third == f"[result folded into the note at {handles[0]}]"
        assert after.tokens < live.tokens

    def test_the_first_handle_given_says_where_the_note_stands(self) -> None:
        live = native()
        after = done(live, planned(live, "context_note", handles=["call_3", "call_1"], note="n"))
        assert outputs(after)[0] == "[result folded into the note at call_3]"
        assert "\nn\n" in outputs(after)[2]

    def test_a_note_is_the_models_own_and_no_tools_word(self) -> None:
        live = native()
        after = done(live, planned(live, "context_note", handles=["call_1"], note="n"))
        assert after.turns[3].origin is Origin.EDITED

    def test_approvals_sources_and_identifiers_are_carried_forward(self) -> None:
        text = (
            f"{body('alpha')}\n{approval_line(Approval('ap_7', 'delete the branch'))}\n"
            "see https://example.org/a?b=1 and user_id: 4711"
        )
        live = start(user("task"), said(None, "a"), result("a", text), said("done"))
        after = done(live, planned(live, "context_note", handles=["a"], note="waiting"))
        block = outputs(after)[0].partition(PRESERVED)[2]
        assert "[approval pending id=ap_7: delete the branch]" in block
        assert "https://example.org/a?b=1" in block
        assert "user_id: 4711" in block

    def test_a_note_that_carries_an_approval_cannot_be_dropped_either(self) -> None:
        text = f"{body('alpha')}\n{approval_line(Approval('ap_7'))}"
        live = start(user("task"), said(None, "a"), result("a", text), said("done"))
        after = done(live, planned(live, "context_note", handles=["a"], note="waiting"))
        assert "ap_7" in why(planned(after, "context_drop", handles=["a"]))["a"]

    def test_a_note_on_a_note_carries_what_the_first_one_carried(self) -> None:
        text = f"{body('alpha')}\nhttps://example.org/x ABC-123 {approval_line(Approval('z'))}"
        text += f"\n{approval_line(Approval('ap_7', 'delete'))}"
        live = start(user("task"), said(None, "a"), result("a", text), said("done"))
        once = done(live, planned(live, "context_note", handles=["a"], note="waiting"))
        twice = done(once, planned(once, "context_note", handles=["a"], note="still waiting"))
        assert pending_approvals(outputs(twice)[0]) == pending_approvals(outputs(once)[0])
        for value in ("https://example.org/x", "ABC-123"):
            assert value in outputs(twice)[0]

    def test_a_dropped_note_still_cites_its_originals_through_its_body(self) -> None:
        live = native()
        noted = done(live, planned(live, "context_note", handles=["call_1", "call_2"], note="n"))
        plan = planned(noted, "context_drop", handles=["call_1"])
        assert plan.revision is not None
        (spill,) = spills_of(plan.revision, noted)
        assert set(spill.cites) == {body_id(body("alpha")), body_id(body("beta"))}


class TestPins:
    def test_a_snippet_pins_the_one_message_that_holds_it_whatever_its_role(self) -> None:
        live = native()
        for snippet, number in (("alpha7 alpha8", 4), ("it is in gamma", 8), ("find the fault", 2)):
            board = planned(live, "context_pin", snippet=snippet).pins
            assert board is not None
            assert board.numbers == {number}

    def test_a_snippet_in_several_messages_or_in_none_is_refused(self) -> None:
        live = start(user("task"), said("the very same words"), user("the very same words"))
        assert (
            "in 2 messages"
            in why(planned(live, "context_pin", snippet="very same words"))["snippet"]
        )
        assert (
            "in no message"
            in why(planned(live, "context_pin", snippet="nobody said this"))["snippet"]
        )

    def test_a_snippet_is_not_looked_for_in_system_prompts_or_in_the_round_in_progress(
        self,
    ) -> None:
        live = start(
            {"role": "system", "content": "the very same words"},
            user("the very same words"),
            said("I pin the very same words", "a"),
        )
        board = planned(live, "context_pin", snippet="the very same words").pins
        assert board is not None
        assert board.numbers == {2}

    def test_the_model_holds_at_most_so_many_pins_and_the_users_do_not_count(self) -> None:
        live = native()
        board = PinBoard().add("user", [2]).add("harness", [8])
        for number in range(20, 39):
            board = board.add("model", [number])
        # Pins whose turns are gone do not count either.
        assert planned(live, "context_pin", board, handles=["call_1"]).pins is not None
        intent = NoteIntent(("call_1",), "n")
        assert revision_of(intent, live, board).revision is not None
        plan = planned(live, "context_pin", board, handles=["call_1", "call_2"])
        assert plan.handles == ("call_1", "call_2")

    def test_the_pin_after_the_last_one_is_refused(self) -> None:
        calls = [f"call_{at}" for at in range(21)]
        messages = [user("task"), said(None, *calls), *(result(name, name) for name in calls)]
        live = start(*messages, said("done"))
        plan = planned(live, "context_pin", handles=calls)
        assert plan.handles == tuple(calls[:20])
        assert "you hold 20 pins, the most" in why(plan)["call_20"]
        assert plan.pins is not None
        assert len(plan.pins.of("model")) == 20

    def test_unpin_all_removes_every_pin_of_the_model_and_no_other(self) -> None:
        live = native()
        board = PinBoard().add("user", [4]).add("harness", [5]).add("model", [4]).add("model", [7])
        plan = planned(live, "context_unpin", board, all=True)
        assert plan.pins == PinBoard().add("user", [4]).add("harness", [5])
        assert plan.handles == ("call_1", "call_3")

    def test_a_users_pin_is_not_the_models_to_take(self) -> None:
        live = native()
        board = PinBoard().add("user", [4])
        plan = planned(live, "context_unpin", board, handles=["call_1", "call_2"])
        assert plan.pins is None
        assert why(plan) == {
            "call_1": "the pin is not yours, so it stays",
            "call_2": "it is not pinned",
        }

    def test_pinned_twice_is_pinned_once(self) -> None:
        live = native()
        board = planned(live, "context_pin", handles=["call_1"]).pins
        assert board is not None
        again = planned(live, "context_pin", board, handles=["call_1"])
        assert again.pins is None
        assert why(again) == {"call_1": "it is pinned already"}

    def test_a_fenced_round_is_one_pin(self) -> None:
        live = fenced()
        plan = planned(live, "context_pin", handles=["r1.1", "r1.2", "r1"])
        assert plan.handles == ("r1",)
        assert plan.pins is not None
        assert len(plan.pins.pins) == 1
        assert plan.pins.numbers == {4, 5}
        gone = planned(live, "context_unpin", plan.pins, handles=["r1.2"])
        assert gone.pins == PinBoard()

    def test_nothing_to_unpin_is_said(self) -> None:
        assert outcome_text(planned(native(), "context_unpin", all=True)) == (
            "nothing to do: you hold no pins"
        )


OPS = st.lists(
    st.tuples(
        st.sampled_from(("context_drop", "context_note", "context_pin", "context_unpin")),
        st.lists(st.integers(0, 3), min_size=1, max_size=4),
        st.booleans(),
    ),
    max_size=6,
)


@pytest.mark.parametrize("make", [native, fenced], ids=["native", "fenced"])
@settings(max_examples=40)
@given(OPS)
def test_whatever_is_called_users_and_model_keep_their_words_and_the_list_stays_legal(
    make: Make, ops: list[tuple[str, list[int], bool]]
) -> None:
    """Also: no body is cited that was not named for the store first, and pins hold."""
    start_live = live = make()
    board, kept = PinBoard(), set[str]()
    known = [Names(live).handle(turn) for turn in Names(live).outputs]
    for name, picks, rounds in ops:
        handles = [known[at] if at < len(known) else "nobody" for at in picks]
        handles = [handle.partition(".")[0] for handle in handles] if rounds else handles
        note = {"note": "in short"} if name == "context_note" else {}
        held = {turn.number: turn for turn in live.turns if turn.number in board.numbers}
        plan = planned(live, name, board, handles=handles, **note)
        if plan.revision is not None:
            kept |= {spill.id for spill in spills_of(plan.revision, live)}
            live = done(live, plan)
        if plan.pins is not None:
            board = plan.pins
            live = live.unpin(live.pins).pin(board.numbers)
        assert all(turn is held[turn.number] for turn in live.turns if turn.number in held)
        assert citations(live.turns) <= kept
    spoken = [turn for turn in live.turns if turn.role != "tool"]
    assert spoken == [turn for turn in start_live.turns if turn.role != "tool"]
    assert check(live.body()["messages"], OPENAI_CHAT) == []
    assert live.recount() == live.tokens
