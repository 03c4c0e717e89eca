"""kill -9 on the fenced route: handles go on, messages come back as they were, and the run ends as well."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_world import TARGET, Killers, Point, digest_of, lines, opened
from session_world import balanced

from redraft import Session
from redraft.dialects.fenced import Fenced
from redraft.store import Appended, Committed, inputs
from redraft.testing import complaints


@pytest.fixture(scope="module")
def killers() -> Iterator[Killers]:
    script = str(Path(__file__).with_name("fenced_killed.py"))
    with Killers(the_end_is_right, script=script) as made:
        yield made


def the_end_is_right(run: Path) -> None:
    assert (run / "answer").read_text() == f"counted to {TARGET}"
    assert sorted(map(int, lines(run / "effects"))) == list(range(1, TARGET + 1))
    with opened(run, write=True) as journal:
        entries = list(journal.entries())
        committed = {entry.number for entry in entries if isinstance(entry, Committed)}
        assert {int(number) for number in lines(run / "confirmed")} <= committed
        bodies = [each.body(Fenced()) for each in inputs(entries)]
        assert set(lines(run / "sent")) <= {digest_of(body["messages"]) for body in bodies}
        for body in bodies:
            assert complaints("fenced-chat", {"model": "m", **body}) == []
        names = [
            call.id
            for entry in entries
            if isinstance(entry, Appended)
            for turn in entry.turns
            for call in turn.content.calls
        ]
        assert len(set(names)) == len(names)
        with Session.resume(journal, budget=60_000) as session:
            assert isinstance(session.live.dialect, Fenced)
            assert session.done
            assert balanced(session)
            assert session.ledger.total().after == session.live.tokens
            session.undo_since(0)
            assert balanced(session)


def test_a_run_that_nobody_kills_comes_to_its_end(killers: Killers, tmp_path: Path) -> None:
    assert killers.story(tmp_path / "run", iter([None])) == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_between_a_command_and_its_result(
    killers: Killers, tmp_path: Path, when: str
) -> None:
    assert killers.story(tmp_path / "run", iter([("command", 3, when), None])) == 1


def test_kills_at_random_places(killers: Killers, tmp_path: Path) -> None:
    chance = random.Random(7)
    points: list[Point] = [
        ("record", chance.randint(1, 40), chance.choice(["before", "after"])) for _ in range(8)
    ]
    assert killers.story(tmp_path / "run", iter([*points, None])) >= 4
