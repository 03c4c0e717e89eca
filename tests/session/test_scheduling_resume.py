"""A policy's run that ends in the middle and is taken up again: the log, the trigger and the spend
ledger go on, and a rotation is told of once, wherever the process died."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from policy_world import SYSTEM, TASK, Run, Words, chancy, faulty
from session_world import balanced, fill

from redraft import Session
from redraft.errors import SettingsError
from redraft.events import EditJudged, Event, PolicyActed, SpentOutside
from redraft.policies import Hybrid, Manager, Rule, SlidingWindow, ThresholdSummary
from redraft.session.recorded import recorded_report
from redraft.session.terms import recorded_terms
from redraft.store import Committed, Entry, SQLiteJournal, Told, fork
from redraft.tokens import Meter


class Killed(BaseException):
    """The process died."""


class Dying(SQLiteJournal):
    """Dies before or after the entry that a test names."""

    point: Callable[[Entry], bool] | None = None
    after = False

    def record(self, entry: Entry) -> None:
        dies = self.point is not None and self.point(entry)
        if dies and not self.after:
            raise Killed
        super().record(entry)
        if dies:
            raise Killed


def opened(place: Path, **options: Any) -> Dying:
    return Dying(place, meter=Meter(Words()), **options)


def begun(place: Path, **options: Any) -> tuple[Run, Dying]:
    journal = opened(place)
    return Run(journal=journal, **options), journal


def again(place: Path, seed: str = "again", **options: Any) -> tuple[Run, Dying]:
    """The run taken up from a copy, as if its process had been killed just now."""
    copy = place.with_name(f"{place.name}-again")
    shutil.copytree(place, copy)
    journal = opened(copy)
    run = Run(seed, session=Session.resume(journal, **options))
    run.session._core._on_event = run.events.append
    return run, journal


def told(journal: SQLiteJournal, kind: type[Event]) -> list[Any]:
    return [
        entry.event
        for entry in journal.entries()
        if isinstance(entry, Told) and isinstance(entry.event, kind)
    ]


@pytest.mark.parametrize(
    "policy",
    ["manager", "threshold-summary", "state-rewrite", "offload", "sliding-window"],
)
def test_everything_about_a_policy_is_as_it_was(tmp_path: Path, policy: str) -> None:
    run, journal = begun(tmp_path / "run", policy=policy, summarizer=chancy(policy))
    run.play(25)
    first = run.session
    second, copy = again(tmp_path / "run")
    assert second.session.policy == first.policy
    assert second.session.ledger.spend == first.ledger.spend
    mine, theirs = (session.report().as_dict() for session in (first, second.session))
    for report in (mine, theirs):
        report.pop("efficiency")
    assert mine == theirs
    second.rules = dict(run.rules)
    second.play(10, start=25)
    assert balanced(second.session)
    assert len(second.session.report().rotations) > len(first.report().rotations)
    journal.close()
    copy.close()


def test_the_options_the_summarizer_and_the_memory_are_recorded_and_hold(tmp_path: Path) -> None:
    run, journal = begun(
        tmp_path / "run",
        policy="threshold-summary",
        policy_options={"trigger": "0.6"},
        summarizer="extractive",
        memory=tmp_path / "memory.db",
    )
    run.play(2)
    terms = recorded_terms(journal)
    assert (terms.policy, terms.policy_options) == ("threshold-summary", {"trigger": "0.6"})
    assert (terms.summarizer, terms.memory) == ("extractive", str(tmp_path / "memory.db"))
    second, copy = again(tmp_path / "run")
    assert second.session.policy == ThresholdSummary(trigger=0.6)
    assert second.session._schedule.owned is not None
    assert recorded_terms(copy).policy_options == {"trigger": "0.6"}
    journal.close()
    copy.close()


def test_another_policy_may_be_given_and_holds_from_there(tmp_path: Path) -> None:
    run, journal = begun(tmp_path / "run", policy="sliding-window")
    run.play(15)
    acted = len(run.told(PolicyActed))
    second, copy = again(tmp_path / "run", policy="offload", policy_options={"keep": "1"})
    second.play(15, start=15)
    assert {event.policy for event in second.told(PolicyActed)} == {"offload"}
    assert len(second.session.report().rotations) > acted
    assert recorded_terms(copy).policy == "offload"
    journal.close()
    copy.close()


def test_a_policy_that_no_name_makes_must_be_given_again(tmp_path: Path) -> None:
    own = Manager(rules=(Rule("sliding-window", "always", lambda _: True),))
    run, journal = begun(tmp_path / "run", policy=own)
    run.play(15)
    with pytest.raises(SettingsError, match="policy of its own, 'manager'"):
        again(tmp_path / "run")
    shutil.rmtree(tmp_path / "run-again")
    second, copy = again(tmp_path / "run", policy=own)
    assert isinstance(second.session.policy, Manager)
    assert second.session.policy == run.session.policy
    journal.close()
    copy.close()


@pytest.mark.parametrize(
    "policy",
    [
        SlidingWindow(0.8, 0.4, 2),
        Hybrid(beneath=ThresholdSummary(0.7), late=0.9, on=True),
        Manager(),
    ],
    ids=lambda policy: policy.name,
)
def test_what_options_make_can_be_given_as_a_value_and_comes_back(
    tmp_path: Path, policy: Any
) -> None:
    run, journal = begun(tmp_path / "run", policy=policy)
    run.play(1)
    second, copy = again(tmp_path / "run")
    assert second.session.policy == policy
    journal.close()
    copy.close()


# -- dying in the middle ---------------------------------------------------------------------------------


def is_told(kind: type[Event]) -> Callable[[Entry], bool]:
    return lambda entry: isinstance(entry, Told) and isinstance(entry.event, kind)


def judged_policy(entry: Entry) -> bool:
    return (
        isinstance(entry, Told)
        and isinstance(entry.event, EditJudged)
        and entry.event.author == "policy"
    )


POINTS: dict[str, Callable[[Entry], bool]] = {
    "spent": is_told(SpentOutside),
    "committed": lambda entry: (
        isinstance(entry, Committed) and entry.commit.revision.author == "policy"
    ),
    "judged": judged_policy,
    "acted": is_told(PolicyActed),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", sorted(POINTS))
@pytest.mark.parametrize("policy", ["manager", "threshold-summary"])
def test_a_rotation_is_there_whole_or_not_at_all_wherever_it_dies(
    tmp_path: Path, policy: str, point: str, after: bool
) -> None:
    place = tmp_path / "run"
    run, journal = begun(place, policy=policy, summarizer=faulty("good"))
    run.play(12)
    known = len(run.told(PolicyActed))
    journal.point, journal.after = POINTS[point], after
    with pytest.raises(Killed):
        run.play(40, start=12)
    second, copy = again(place, summarizer=faulty("good"))
    commits = [
        entry
        for entry in copy.entries()
        if isinstance(entry, Committed) and entry.commit.revision.author == "policy"
    ]
    acted = told(copy, PolicyActed)
    assert [event.number for event in acted] == [entry.number for entry in commits]
    assert len(acted) >= known
    # Each was told of once, with what it cost; only a call that nobody wrote down is not in the books.
    spent = told(copy, SpentOutside)
    assert sum(event.spent for event in acted) <= 120 * len(spent)
    assert len(second.session.ledger.spend) == len(spent)
    if acted and (point, after) != ("spent", False):
        assert acted[-1].spent in (0, 120)
    report = second.session.report()
    assert [one.after for one in report.rotations] == [event.after_raw for event in acted]
    stands = second.session.policy
    if isinstance(stands, Manager):
        assert len(stands.rotations) == len(acted)
    assert balanced(second.session)
    assert second.session.ledger.total().after == second.session.live.tokens
    assert second.session.request() is not None
    journal.close()
    copy.close()


# -- forks, and those who only look ---------------------------------------------------------------------


def test_a_fork_has_the_log_up_to_there_and_goes_its_own_way(tmp_path: Path) -> None:
    run, journal = begun(tmp_path / "run", policy="manager", summarizer=faulty("good"))
    run.play(30)
    acted = run.told(PolicyActed)
    assert len(acted) > 3
    fork(journal, tmp_path / "fork", at=acted[1].number)
    other_journal = opened(tmp_path / "fork")
    other = Run("other", session=Session.resume(other_journal))
    assert [one.after for one in other.session.report().rotations] == [
        event.after_raw for event in acted[:2]
    ]
    assert isinstance(other.session.policy, Manager)
    assert len(other.session.policy.rotations) == 2
    assert balanced(other.session)
    other.play(3, start=50)
    assert len(run.session.report().rotations) == len(acted)
    journal.close()
    other_journal.close()


def test_who_only_looks_sees_the_same_report(tmp_path: Path) -> None:
    run, journal = begun(tmp_path / "run", policy="manager", summarizer=faulty("good"))
    run.play(20)
    mine = run.session.report().as_dict()
    with SQLiteJournal(tmp_path / "run", meter=Meter(Words()), write=False) as reader:
        seen = recorded_report(reader).as_dict()
    for report in (mine, seen):
        report.pop("efficiency")
    assert seen == mine
    journal.close()


def test_a_run_of_before_there_were_policies_is_taken_up_without_one(tmp_path: Path) -> None:
    with SQLiteJournal(tmp_path / "run") as journal:
        session = Session([SYSTEM, TASK], journal=journal, interface="none")
        fill(session, 2)
    with SQLiteJournal(tmp_path / "run") as journal, Session.resume(journal) as second:
        assert second.policy is None
        assert second.report().why == "no policy is scheduled"


def test_undoing_a_rotation_brings_the_turns_back(tmp_path: Path) -> None:
    run, journal = begun(tmp_path / "run", policy="sliding-window", budget=6_048)
    while not run.told(PolicyActed):
        run.play(1, start=run.requests)
    number = run.told(PolicyActed)[0].number
    before = run.session.live.tokens
    run.session._core.limit = 50_000
    run.session.undo(number)
    assert run.session.live.tokens > before
    assert balanced(run.session)
    journal.close()
