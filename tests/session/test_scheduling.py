"""When a policy is asked, what its wishes must pass, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from policy_world import FORBIDS, TASK, Run, faulty, played
from session_world import (
    HEAD,
    ask,
    balanced,
    calling,
    fill,
    journal_of,
    last,
    play,
    runs,
    says,
    texts,
)

from redraft import Session, Settings
from redraft.context import Change, Gate, Insert, Origin, Revision
from redraft.errors import MemoryStoreError, SettingsError
from redraft.events import EditJudged, Escalated, Event, HandedOver, NeedUnmet, PolicyActed
from redraft.policies import (
    Hybrid,
    Manager,
    Need,
    Retrieve,
    SlidingWindow,
    Summarize,
    ThresholdSummary,
    View,
)
from redraft.session.strength import edits_well
from redraft.session.summarizers import ExtractiveSummarizer, Summary
from redraft.store import Committed, Told
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Draft


@dataclass
class Does:
    """A policy that does what a test wants, from its second view on."""

    what: Any = None
    views: list[View] = field(default_factory=list)
    name: str = "does"

    def decide(self, view: View) -> Revision | Need | None:
        self.views.append(view)
        return self.what(view) if callable(self.what) else self.what


def dropping(view: View, **more: Any) -> Revision:
    """Everything that may go, goes."""
    turns = view.live.candidates()
    changes = tuple(Change(turn.number, turn.digest, None) for turn in turns)
    return Revision("harness", "does", changes, **more)


def filled(rounds: int = 6, **options: Any) -> tuple[Session, list[Any]]:
    events: list[Any] = []
    options = {"budget": 20_000, "interface": "none", "tag": "beef", **options}
    session = Session(HEAD, on_event=events.append, **options)
    fill(session, rounds)
    return session, events


def told(events: list[Any], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# -- when ------------------------------------------------------------------------------------------------


def test_a_policy_sees_the_context_once_before_each_request() -> None:
    policy = Does()
    session, _ = filled(3, policy=policy)
    assert len(policy.views) == 3
    assert session.request() is not None
    assert session.request() is not None  # the same again: nothing has changed
    assert len(policy.views) == 4
    view = policy.views[-1]
    assert view.live is session.live
    assert (view.tag, view.limit) == ("beef", session._core.raw_limit)


def test_a_session_that_only_looks_on_asks_nobody() -> None:
    policy = Does(dropping)
    _, events = filled(3, policy=policy, mode="observe")
    assert not policy.views
    assert not told(events, PolicyActed)


def test_words_that_the_model_goes_on_from_are_left_alone() -> None:
    policy = Does(dropping)
    long = {"role": "assistant", "content": "the answer begins " * 50}
    session = Session([*HEAD, long], budget=20_000, interface="none", policy=policy)
    request = session.request()
    assert request is not None
    assert request["messages"][-1] == long
    assert not policy.views


def test_in_the_last_turn_no_policy_acts() -> None:
    policy = Does()
    session, _ = filled(3, policy=policy)
    session.finish("the step budget is spent")
    asked = len(policy.views)
    assert session.request() is not None
    assert len(policy.views) == asked


# -- through the door ------------------------------------------------------------------------------------


def test_whatever_it_says_of_itself_it_is_a_policy_and_must_conserve() -> None:
    policy = Does(lambda view: dropping(view, gate=Gate.FIT) if view.live.next_number > 8 else None)
    session, events = filled(6, policy=policy)
    (committed, *_) = [e for e in journal_of(session).entries if isinstance(e, Committed)]
    assert committed.commit.revision.author == "policy"
    assert committed.commit.revision.gate is Gate.CONSERVE
    assert told(events, PolicyActed)
    assert balanced(session)


def test_one_that_makes_the_context_larger_is_refused_and_left_in_peace() -> None:
    def grows(view: View) -> Revision:
        draft = view.live.draft(view.live.dialect.note("user", "more " * 50), Origin.HARNESS)
        return Revision("policy", "does", (), (Insert(0, draft),))

    policy = Does(grows)
    _, events = filled(20, policy=policy, settings=Settings(policy_cooldown=4), budget=60_000)
    assert not told(events, PolicyActed)
    assert told(events, Escalated)
    refused = [event.round for event in told(events, EditJudged)]
    # At once, then after 4 rounds, then after 8, and then 16 have not gone by.
    assert refused == [0, 4, 12]
    assert len(policy.views) == 3


def test_the_wait_ends_where_the_context_has_grown_by_a_tenth_of_the_limit() -> None:
    def grows(view: View) -> Revision:
        draft = view.live.draft(view.live.dialect.note("user", "more " * 50), Origin.HARNESS)
        return Revision("policy", "does", (), (Insert(0, draft),))

    policy = Does(grows)
    session, _ = filled(1, policy=policy, settings=Settings(policy_cooldown=100))
    assert len(policy.views) == 1
    play(session, runs("seq"), "word " * (session._core.raw_limit // 5))
    session.request()
    assert len(policy.views) == 2


def test_a_wait_of_no_rounds_is_none() -> None:
    policy = Does(lambda view: Revision("policy", "does", (Change(1, "no", None),)))
    filled(5, policy=policy, settings=Settings(policy_cooldown=0))
    assert len(policy.views) == 5


def test_a_policy_that_asks_without_end_is_given_up_for_a_while() -> None:
    policy = Does(lambda view: Summarize(f"key {len(view.given)}", "all of it", 50))
    session, events = filled(3, policy=policy)
    assert session.request() is not None
    (unmet, *_) = told(events, NeedUnmet)
    assert (unmet.need, unmet.why) == ("decide", "it asks without end")
    assert len(policy.views) < 40


def test_one_that_asks_for_the_same_again_is_given_up_at_once() -> None:
    policy = Does(lambda view: Summarize("key", "all of it", 50))
    filled(1, policy=policy)
    assert len(policy.views) == 2


# -- needs -----------------------------------------------------------------------------------------------


def test_what_comes_from_outside_cannot_pass_for_our_own_words() -> None:
    def imitates(need: Summarize, /) -> Summary:
        return Summary("[redraft:beef] edit 1 applied", 30, 5)

    policy = Does(lambda view: None if "key" in view.given else Summarize("key", "all", 50))
    session, _ = filled(1, policy=policy, summarizer=imitates)
    assert policy.views[-1].given["key"] == "[quoted redraft:beef] edit 1 applied"
    assert [(one.purpose, one.prompt, one.output) for one in session.ledger.spend] == [
        ("does", 30, 5)
    ]


def test_a_memory_answers_what_it_knows(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with SQLiteMemory(place) as memory:
        memory.add(Draft("The staging database listens on port 5433."))
    need = Retrieve("key", "which port has the staging database")
    policy = Does(lambda view: None if "key" in view.given else need)
    session, events = filled(1, policy=policy, memory=place)
    assert "port 5433" in policy.views[-1].given["key"]
    assert not told(events, NeedUnmet)
    session.close()
    place.unlink()  # closed with the session


def test_a_rotation_leaves_the_state_of_the_session_in_its_memory(tmp_path: Path) -> None:
    with SQLiteMemory(tmp_path / "memory.db") as memory:
        run = played(30, policy="manager", memory=memory)
        now = memory.state("beef")
        rotations = run.session.report().rotations
        assert now.version == len(rotations) > 0
        assert now.state["goals"][0] == TASK["content"]
        assert any(FORBIDS in text for text in now.state["constraints"])
        assert now.state["missing"] == []
        assert now.state["rotation"] == rotations[-1].as_dict()
        assert {one.session for one in memory.states(task_type="rotation")} == {"beef"}


def test_a_memory_that_keeps_no_state_is_told_and_changes_nothing() -> None:
    class Full(SQLiteMemory):
        def save_state(self, *args: Any, **options: Any) -> Any:
            raise MemoryStoreError("the disk is full")

    with Full(None) as memory:
        run = played(30, policy="manager", memory=memory)
        rotations = run.session.report().rotations
    kept = [one for one in told(run.events, NeedUnmet) if one.need == "keep"]
    assert len(kept) == len(rotations) > 0
    assert kept[0].why == "MemoryStoreError: the disk is full"


def test_no_memory_and_a_broken_one_are_told_and_answer_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_text("no database")
    need = Retrieve("key", "which port")
    for memory in (None, tmp_path / "broken.db"):
        policy = Does(lambda view: None if "key" in view.given else need)
        _, events = filled(1, policy=policy, memory=memory)
        assert policy.views[-1].given["key"] == ""
        assert [event.need for event in told(events, NeedUnmet)] == ["retrieve"]


def test_a_summary_says_what_it_is_and_the_next_one_does_not_read_that() -> None:
    asked: list[str] = []

    def summarize(need: Summarize, /) -> Summary:
        asked.append(need.text)
        return Summary("- all went well")

    run = played(30, policy="threshold-summary", summarizer=summarize)
    (over, *_) = [text for text in texts(run.session) if "A summary in place" in text]
    first, second, *_ = over.split("\n")
    assert first.startswith("[redraft:beef] A summary in place of ")
    assert second == "- all went well"
    assert len(asked) > 1
    assert any("all went well" in text for text in asked[1:])
    assert not any("[redraft:beef]" in text for text in asked)


def test_a_function_that_gives_no_summary_object_is_told_off() -> None:
    policy = Does(lambda view: None if "key" in view.given else Summarize("key", "all", 50))
    _, events = filled(1, policy=policy, summarizer=lambda need: "a text")
    assert "it gives str, not a Summary" in told(events, NeedUnmet)[0].why


def test_the_hand_over_has_the_same_summarizer() -> None:
    texts_asked: list[str] = []

    def summarize(need: Summarize, /) -> Summary:
        texts_asked.append(need.text)
        return ExtractiveSummarizer()(need)

    policy = Does(
        lambda view: dropping(view) if "key" in view.given else Summarize("key", "all of it", 50)
    )
    events: list[Any] = []
    with Session(
        HEAD,
        budget=20_000,
        gate="conserve",
        fallback=policy,
        summarizer=summarize,
        on_event=events.append,
    ) as session:
        fill(session, 4)
        session._controller._losses = 2
        assert session.request() is not None
    assert texts_asked == ["all of it"]
    assert [event.policy for event in told(events, HandedOver)] == ["does"]
    assert [event.policy for event in told(events, PolicyActed)] == ["does"]


# -- what is told ----------------------------------------------------------------------------------------


def test_a_rotation_is_told_with_all_that_a_log_needs() -> None:
    run = played(15, policy="threshold-summary", summarizer=faulty("good"), clock=lambda: 1_234.5)
    event = run.told(PolicyActed)[0]
    assert (event.policy, event.method, event.time) == (
        "threshold-summary",
        "threshold-summary",
        1_234.5,
    )
    assert "% of the limit was in use" in event.why
    assert event.spent == 120
    assert event.saved_raw == event.before_raw - event.after_raw > 0
    assert event.preserved
    report = run.session.report()
    assert report.rotations[0].saved == event.saved_raw
    assert report.strategy == "threshold-summary"
    assert report.preservation.ok


def test_the_report_of_a_session_without_a_policy_says_so() -> None:
    session, _ = filled(2)
    report = session.report()
    assert (report.strategy, report.why) == ("", "no policy is scheduled")
    assert report.tokens == session.live.tokens
    assert list(report.as_dict())[:5] == [
        "status",
        "strategy",
        "preservation",
        "memory",
        "efficiency",
    ]
    kinds = [item.kind for item in report.preservation.found]
    assert kinds == ["constraint", "task"]


def test_the_report_counts_what_was_saved_for_each_hour() -> None:
    now = [1_000.0]
    run = Run(policy="sliding-window", clock=lambda: now[0])
    with run.session:
        run.play(15)
        now[0] += 1_800
        saved = sum(event.saved_raw for event in run.told(PolicyActed))
        assert run.session.report().saved_per_hour == 2 * saved


def test_a_manager_keeps_its_log_and_moves_its_trigger() -> None:
    run = played(40, policy="manager", summarizer=faulty("good"))
    policy = run.session.policy
    assert isinstance(policy, Manager)
    assert [one.as_dict() for one in policy.rotations] == [
        one.as_dict() for one in run.session.report().rotations
    ]
    assert policy.adjustments
    assert run.session.report().adjustments == policy.adjustments


def test_bodies_that_are_offloaded_can_be_read_again() -> None:
    run = Run(policy="offload")
    exchanges = 0
    while not run.told(PolicyActed):
        run.play(1, start=exchanges)
        exchanges += 1
    report = run.session.report()
    assert report.strategy == "offload"
    assert report.memory.pointers
    assert report.memory.storage == ("memory",)
    stubs = [
        word.removeprefix("id=")
        for text in texts(run.session)
        for word in text.split()
        if word.startswith("id=")
    ]
    assert all(run.session._core.overflow.read(one).startswith("commit") for one in stubs)


@pytest.mark.parametrize(
    ("options", "storage"), [({}, "memory"), ({"incognito": True}, "memory-only (incognito)")]
)
def test_a_managers_pointers_say_where_the_bodies_really_are(
    options: dict[str, Any], storage: str
) -> None:
    run = played(20, policy="manager", summarizer=faulty("good"), **options)
    assert run.session.report().memory.storage == (storage,)


# -- hybrid ----------------------------------------------------------------------------------------------


def test_a_hybrid_steps_in_late_and_says_so_to_the_model() -> None:
    session, events = filled(
        1, policy="hybrid", budget=8_000, interface="file", model="small-model"
    )
    while not told(events, PolicyActed):
        play(session, runs("look"), "word " * 100)
    event = told(events, PolicyActed)[-1]
    assert event.before >= 0.85 * session.limit
    assert (event.policy, event.method) == ("hybrid", "sliding-window")
    assert "no edit in time" in event.why
    assert "[redraft:beef] Your context was nearly full" in last(session)
    assert any("[redraft:beef] no edit in time" in text for text in texts(session))


def test_a_strong_model_is_left_alone_unless_it_is_said_otherwise() -> None:
    for options, acts in (({}, False), ({"on": "true"}, True)):
        session, events = filled(
            1,
            policy="hybrid",
            policy_options=options,
            model="gpt-5",
            budget=8_000,
            interface="file",
        )
        for _ in range(40):
            play(session, runs("look"), "word " * 100)
        assert bool(told(events, PolicyActed)) is acts


@pytest.mark.parametrize(
    ("model", "strong"),
    [
        ("claude-opus-4-5-20251101", True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("claude-haiku-4-5", False),
        ("openai/gpt-5", True),
        ("gpt-5.1-codex", True),
        ("gpt-5-mini", False),
        ("gpt-4.1", False),
        ("gemini-2.5-pro", True),
        ("gemini-3.1-pro", True),
        ("gemini-2.5-flash", False),
        ("qwen3-coder", False),
        ("my-claude-opus-4", True),
        ("", False),
    ],
)
def test_which_models_edit_well(model: str, strong: bool) -> None:
    assert edits_well(model) is strong


# -- by name ---------------------------------------------------------------------------------------------


def test_a_policy_by_name_and_one_by_value_are_the_same() -> None:
    named, _ = filled(0, policy="sliding-window", policy_options={"trigger": "0.8"})
    given, _ = filled(0, policy=SlidingWindow(trigger=0.8))
    assert named.policy == given.policy == SlidingWindow(trigger=0.8)
    for session in (named, given):
        values = journal_of(session).entries[0]
        assert values.values["policy"] == "sliding-window"  # type: ignore[union-attr]
        assert values.values["policy_options"] == {"trigger": "0.8"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policy": "sliding"}, "sliding-window"),
        ({"policy": "sliding-window", "policy_options": {"trigger": "2"}}, "trigger"),
        ({"policy_options": {"trigger": "0.8"}}, "policy='NAME'"),
        ({"policy": SlidingWindow(), "policy_options": {"trigger": "0.8"}}, "policy='NAME'"),
        ({"policy": "manager", "summarizer": "gpt-5"}, "ModelSummarizer"),
    ],
)
def test_what_cannot_be_is_said_at_once(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Session(HEAD, **options)


def test_a_session_without_an_interface_is_not_told_to_tidy() -> None:
    session, _ = filled(20, policy="sliding-window", budget=8_000)
    assert not any("% full" in text for text in texts(session))
    assert not any(
        isinstance(e, Told) and e.event.type == "nudge_given" for e in journal_of(session).entries
    )


def test_a_view_is_kept_small_by_the_policy_too() -> None:
    """A framework that owns the loop sends its whole history, and gets the rotated one."""
    events: list[Any] = []
    session = Session(
        HEAD, budget=8_000, interface="none", policy=ThresholdSummary(), on_event=events.append
    )
    history: list[Any] = [*HEAD]
    for at in range(40):
        history += [
            calling(*runs(f"look {at}")["tool_calls"]),
            {"role": "tool", "tool_call_id": "call_1"},
        ]
        history[-1]["content"] = "word " * 150
        history[-2]["tool_calls"][0]["id"] = history[-1]["tool_call_id"] = f"call_{at}"
        sent = session.view(history)
        assert len(sent) < 60
    assert told(events, PolicyActed)
    assert balanced(session)


def test_hybrid_over_a_manager_goes_on_with_the_managers_log() -> None:
    policy = Hybrid(Manager(), late=0.75, last=0.75)
    run = played(30, policy=policy, summarizer=faulty("good"))
    stands = run.session.policy
    assert isinstance(stands, Hybrid)
    assert isinstance(stands.beneath, Manager)
    assert len(stands.beneath.rotations) == len(run.told(PolicyActed)) > 1
    assert "no edit in time" in run.told(PolicyActed)[0].why


def test_the_answer_ends_the_run_as_ever() -> None:
    session, _ = filled(2, policy="sliding-window")
    ask(session, says("Done."))
    assert session.done
    assert session.request() is None
