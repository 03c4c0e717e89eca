"""The gates on a model's edits, what happens to those that lose tokens, and who is told."""

from __future__ import annotations

from typing import Any

import pytest
from session_world import (
    HEAD,
    balanced,
    calling,
    edit_call,
    fill,
    last,
    play,
    replaced,
    runs,
    statuses,
    texts,
)

from redraft import Gate, RewriteBudgetViolation, Session
from redraft.context import Change, Revision
from redraft.errors import SettingsError
from redraft.events import EditJudged, Escalated, Event, HandedOver
from redraft.policies import AppendOnly, ObservationMask, Summarize, View

GROW = "sed -i 's/^step 0$/step 0 and a word/' $REDRAFT_CONTEXT_FILE"


@pytest.mark.parametrize(
    ("gate", "status"), [("fit", "grew"), ("shrink", "rejected"), ("conserve", "rejected")]
)
def test_a_growing_edit_passes_the_weakest_gate_only(gate: str, status: str) -> None:
    with Session(HEAD, gate=gate) as session:
        fill(session, 2)
        play(session, runs(GROW))
        assert statuses(session) == [status]
        assert f"edit {'1 applied but grew' if gate == 'fit' else 'rejected'}" in last(session)


def test_fit_refuses_what_does_not_fit() -> None:
    with Session(HEAD, budget=6_000) as session:
        fill(session, 2)
        play(session, runs("(yes note | head -9000) >> $REDRAFT_CONTEXT_FILE"))
        assert statuses(session) == ["rejected"]
        assert "over the limit" in last(session)


def test_an_unknown_gate_is_refused_with_the_names() -> None:
    with pytest.raises(SettingsError, match="fit, shrink, conserve"):
        Session(HEAD, gate="loose")


# -- conserve --------------------------------------------------------------------------------------


def wordy(command: str, words: int) -> dict[str, Any]:
    """A reply with a long rationale."""
    return runs(command, text="because " * words)


def test_outside_the_urgent_band_the_plan_counts() -> None:
    with Session(HEAD, gate=Gate.CONSERVE) as session:
        fill(session, 4, "word " * 200)
        play(session, wordy(replaced(3, 6, "settled"), 400))
        assert statuses(session) == ["rejected"]
        assert "conserve: frees" in session.receipts[0].rule
        play(session, wordy(replaced(3, 6, "settled"), 1))
        assert statuses(session) == ["rejected", "applied"]
        assert balanced(session)


def test_inside_the_urgent_band_only_the_marginal_net_counts_and_the_full_one_is_logged() -> None:
    events: list[Event] = []
    with Session(HEAD, budget=9_000, gate="conserve", on_event=events.append) as session:
        fill(session, 6)
        play(session, runs("seq"), "word " * (session.limit - session.tokens - 600))
        play(session, wordy(replaced(3, 6, "settled"), 300))
        assert statuses(session) == ["applied"]
    [judged] = [event for event in events if isinstance(event, EditJudged)]
    assert judged.net_raw < 0


def test_two_edits_of_one_round_pay_for_its_words_once() -> None:
    def run(edits: list[dict[str, Any]]) -> list[str]:
        with Session(HEAD, gate="conserve", interface="tool") as session:
            fill(session, 6, "word " * 200)
            play(session, calling(*edits, text="because " * 200))
            assert balanced(session)
            return statuses(session)

    one = edit_call({"turn": 3, "through": 6, "text": "settled"}, at=1)
    two = edit_call({"turn": 7, "through": 8, "text": ""}, at=2)
    assert run([one]) == ["applied"]
    assert run([one, two]) == ["applied", "applied"]
    assert run([two, one]) == ["rejected", "applied"]


def test_a_rejected_edit_is_charged_as_well() -> None:
    with Session(HEAD, gate="conserve") as session:
        fill(session, 4)
        play(session, wordy(replaced(3, 4, "x" * 900), 50))
        row = session.ledger.rows[-1]
        head = session.live.turns[-2]
        assert (row.freed, row.rewrite_cost) == (0, head.tokens)
        assert row.intake == 4 + 0 * row.before  # the framing of a silent result


def test_calls_that_did_something_else_are_no_part_of_the_plan() -> None:
    with Session(HEAD) as session:
        fill(session, 4)
        heavy = "true " + "# comment " * 300
        play(session, runs(heavy, replaced(3, 4, "settled")))
        row = session.ledger.rows[-1]
        assert row.intake > 600 > row.rewrite_cost


# -- the hand-over ---------------------------------------------------------------------------------


def losing(session: Session) -> None:
    """An edit that costs more than it frees, inside the urgent band."""
    first = next(turn.number for turn in session.live.editable() if turn.content.calls)
    play(session, wordy(replaced(first, first + 1, "note"), 200))
    assert statuses(session)[-1] in ("applied", "over")


def brim(session: Session) -> None:
    """So full that the next three rounds lie in the urgent band, with room for two wordy edits."""
    fill(session, 8)
    play(session, runs("seq"), "word " * (session.limit - session.tokens - 2_500))


def test_two_losses_running_hand_the_next_compaction_to_the_harness() -> None:
    events: list[Event] = []
    with Session(HEAD, budget=12_000, gate="conserve", on_event=events.append) as session:
        brim(session)
        losing(session)
        assert not any(isinstance(event, HandedOver) for event in events)
        losing(session)
        assert "The next compaction is done for you" in last(session)
        before = session.tokens
        assert session.request() is not None
        assert [event.policy for event in events if isinstance(event, HandedOver)] == [
            "observation-mask"
        ]
        assert any(
            event.source == "observation-mask" for event in events if isinstance(event, EditJudged)
        )
        assert session.tokens < before
        assert any("tool output removed to save room" in text for text in texts(session))
        assert session.request() is not None
        assert sum(isinstance(event, HandedOver) for event in events) == 1
        assert sum("done for you" in text for text in texts(session)) == 1
        assert balanced(session)


def test_a_gain_in_between_leaves_the_model_in_charge() -> None:
    events: list[Event] = []
    with Session(HEAD, budget=12_000, gate="conserve", on_event=events.append) as session:
        brim(session)
        losing(session)
        numbers = [turn.number for turn in session.live.editable()]
        play(session, runs(replaced(numbers[1], numbers[8], "settled"), text=None))
        assert statuses(session)[-1] == "applied"
        losing(session)
        session.request()
        assert not any(isinstance(event, HandedOver) for event in events)


def test_the_hand_over_waits_until_the_fallback_sees_something_to_do() -> None:
    class Patient:
        name = "patient"
        asked = 0

        def decide(self, view: View) -> Revision | Summarize | None:
            self.asked += 1
            if self.asked < 4:
                return None
            if "summary" not in view.given:
                return Summarize("summary", "all of it", 100)
            turn = next(turn for turn in view.live.candidates() if turn.tokens > 100)
            return Revision("policy", "patient", (Change(turn.number, turn.digest, None),))

    events: list[Event] = []
    patient = Patient()
    with Session(
        HEAD, budget=12_000, gate="conserve", fallback=patient, on_event=events.append
    ) as session:
        brim(session)
        losing(session)
        losing(session)
        for _ in range(3):
            session.request()
            assert not any(isinstance(event, HandedOver) for event in events)
        session.request()
        assert [event.policy for event in events if isinstance(event, HandedOver)] == ["patient"]


def test_a_policy_that_never_stops_asking_is_given_up() -> None:
    class Curious:
        name = "curious"
        asked = 0

        def decide(self, view: View) -> Summarize:
            self.asked += 1
            return Summarize(f"key {self.asked}", "more", 100)

    curious = Curious()
    with Session(HEAD, budget=12_000, gate="conserve", fallback=curious) as session:
        brim(session)
        losing(session)
        losing(session)
        assert session.request() is not None
        assert curious.asked < 20


def test_a_fallback_may_do_nothing() -> None:
    with Session(HEAD, budget=12_000, gate="conserve", fallback=AppendOnly()) as session:
        brim(session)
        losing(session)
        losing(session)
        assert session.request() is not None
        assert ObservationMask().name not in session.rejections


# -- who is told -----------------------------------------------------------------------------------


def test_a_rewrite_that_cannot_prove_itself_is_escalated() -> None:
    events: list[Event] = []
    violations: list[RewriteBudgetViolation] = []
    with Session(
        HEAD, gate="conserve", on_event=events.append, on_escalation=violations.append
    ) as session:
        fill(session, 2)
        before = session.live.turns
        play(session, runs(GROW))
        assert session.live.turns[: len(before)] == before
    assert len(violations) == 1
    assert [event.source for event in events if isinstance(event, Escalated)] == ["file"]
    assert str(violations[0]) in session.receipts[0].rule


def test_rejections_are_counted_by_source_and_apart_from_what_was_gained() -> None:
    with Session(HEAD, gate="shrink", interface="both") as session:
        fill(session, 3)
        assert session.rejections == {}
        play(session, runs(GROW))
        play(session, runs(GROW))
        play(session, calling(edit_call({"turn": 3, "text": "far more words than there were"})))
        play(session, runs(replaced(3, 4, "settled")))
        assert session.rejections == {"file": 2, "edit_context": 1}


def test_a_check_of_ones_own_can_refuse() -> None:
    def no_numbers(proposal: Any) -> str | None:
        texts = [move.old.content.text for move in proposal.moves if move.old]
        return "the amount must stay" if any("amount" in text for text in texts) else None

    with Session(HEAD, checks=[no_numbers]) as session:
        play(session, runs("cat bill"), "the amount is 42")
        fill(session, 2)
        play(session, runs(replaced(3, 4, "a bill")))
        play(session, runs(replaced(5, 6, "nothing of note")))
        assert statuses(session) == ["rejected", "applied"]
        assert "the amount must stay" in session.receipts[0].rule
