"""kill -9 at any moment: what a receipt confirmed is there, the books balance, and the run goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_world import TARGET, Killers, Point, digest_of, lines, opened, results_sent
from session_world import balanced, legal

from redraft import Session
from redraft.dialects import OpenAIChat
from redraft.store import Committed, inputs


@pytest.fixture(scope="module")
def killers() -> Iterator[Killers]:
    with Killers(the_end_is_right, nothing_is_lost) as made:
        yield made


def nothing_is_lost(run: Path) -> None:
    """What anybody was told holds, whatever the process did not get to."""
    if not (run / "journal" / "journal.db").exists():
        assert not lines(run / "sent")
        return
    with opened(run, write=True) as journal:  # the lock has died with the process
        entries = list(journal.entries())
    committed = {entry.number for entry in entries if isinstance(entry, Committed)}
    assert {int(number) for number in lines(run / "confirmed")} <= committed
    known = {digest_of(each.body(OpenAIChat())["messages"]) for each in inputs(entries)}
    assert set(lines(run / "sent")) <= known


def the_end_is_right(run: Path) -> None:
    assert (run / "answer").read_text() == f"counted to {TARGET}"
    assert sorted(map(int, lines(run / "effects"))) == list(range(1, TARGET + 1))
    with (
        opened(run, write=True) as journal,
        Session.resume(journal, budget=60_000) as session,  # so that all of it fits again
    ):
        assert session.done
        assert balanced(session)
        assert session.ledger.total().after == session.live.tokens
        assert legal(session.messages)
        assert len(session._core.commits) > 2
        session.undo_since(0)
        assert balanced(session)


def chances(seed: int) -> Iterator[Point]:
    """Places to die at, early enough that each is reached more often than not."""
    chance = random.Random(seed)
    for _ in range(12):
        when = chance.choice(["before", "after"])
        kind = chance.choice(["record", "record", "record", "command", "delay"])
        if kind == "delay":
            yield ("delay", chance.uniform(0.0, 0.04))
        else:
            yield (kind, chance.randint(1, 40 if kind == "record" else 4), when)


def killed(killers: Killers, place: Path, least: int) -> int:
    """Runs that are killed, until there were so many kills; how many there were."""
    kills = seed = 0
    while kills < least:
        seed += 1
        kills += killers.story(place / f"run-{seed}", chances(seed))
    return kills


def test_a_run_that_nobody_kills_comes_to_its_end(killers: Killers, tmp_path: Path) -> None:
    assert killers.story(tmp_path / "run", iter([None])) == 0


def test_runs_that_are_killed_at_random_come_to_the_same_end(
    killers: Killers, tmp_path: Path
) -> None:
    assert killed(killers, tmp_path, 12) >= 12


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_between_a_command_and_its_result_is_told_to_the_model(
    killers: Killers, tmp_path: Path, when: str
) -> None:
    run = tmp_path / "run"
    assert killers.story(run, iter([("command", 3, when), None])) == 1
    told = "the session was interrupted while this call ran"
    assert any(told in text for text in results_sent(run))


@pytest.mark.slow
def test_two_hundred_kills_at_random(killers: Killers, tmp_path: Path) -> None:
    assert killed(killers, tmp_path, 200) >= 200


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_each_step_of_the_record(killers: Killers, tmp_path: Path, when: str) -> None:
    assert killers.every_step(tmp_path, when) > 80


@pytest.mark.slow
def test_a_run_that_is_killed_at_every_third_step_comes_to_its_end(
    killers: Killers, tmp_path: Path
) -> None:
    """Each process gets three entries further, so healing itself is killed over and over."""
    steps: Iterator[Point] = iter([("record", 4, "after")] * 400)
    assert killers.story(tmp_path / "run", steps) > 40
