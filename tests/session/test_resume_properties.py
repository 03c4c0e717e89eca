"""A session that dies at any moment and is taken up again is the session it was.

The random sessions of `test_session_invariants`, with a journal on disk. A crash copies the run's
directory as another process would find it, and goes on from the copy.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test
from session_world import HEAD, balanced, bytes_of
from test_session_invariants import Letters, Sessions

from redraft import Gate, Phase, Session, Settings
from redraft.context import Live, Turn
from redraft.dialects import OpenAIChat
from redraft.session.stating import stated
from redraft.store import SQLiteJournal, inputs
from redraft.tokens import Meter

METER = Meter(Letters())


def shape(turn: Turn) -> tuple[object, ...]:
    return (turn.number, turn.digest, turn.origin, turn.tokens, turn.reasoning, turn.place)


def figures(live: Live) -> tuple[object, ...]:
    return (
        *(live.head, live.tokens, live.next_number, live.answered, live.newest),
        *(live.pins, live.plans, live.frame_tokens),
    )


class Crashing(Sessions):
    """One session in many processes."""

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.runs = 0
        self.journal = SQLiteJournal(self.home / "0", meter=METER)
        self.session = Session(
            HEAD,
            interface=self.interface,
            gate=self.gate,
            budget=11_000,
            settings=Settings(margin=400),
            meter=METER,
            tag="beef",
            journal=self.journal,
        )
        self.sent: list[tuple[tuple[Turn, ...], list[Any]]] = []
        self.wire: list[list[bytes]] = []
        self.number = 0

    def request(self) -> bool:
        made = super().request()
        if made:
            self.wire.append(bytes_of(self.sent[-1][1]))
        return made

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """The process is gone. What was only noted down may be lost with it."""
        whole = data.draw(st.booleans())
        if whole:
            self.journal.flush()
        old = self.session
        self.runs += 1
        place = self.home / str(self.runs)
        shutil.copytree(self.journal.directory, place)
        if old._mirror is not None:
            old._mirror._finalizer.detach()  # nobody removes the file of a process that was killed
        self.journal.close()
        self.journal = SQLiteJournal(place, meter=METER)
        self.session = Session.resume(self.journal)
        self.is_as_it_was(old, whole=whole)
        wire = self.session._wire
        if self.sent:
            assert bytes_of(wire.sent) == self.wire[-1]
            self.sent[-1] = (wire._turns, wire.sent)

    def is_as_it_was(self, old: Session, *, whole: bool) -> None:
        new = self.session
        count = len(old.live.turns)
        assert list(map(shape, new.live.turns[:count])) == list(map(shape, old.live.turns))
        assert bytes_of(new.live.body()["messages"])[:count] == bytes_of(
            old.live.body()["messages"]
        )
        assert new._core.commits.keys() == old._core.commits.keys()
        assert new._core._numbers == old._core._numbers
        assert new._core.generation == old._core.generation
        assert new.receipts[: len(old.receipts)] == old.receipts or not whole
        rows = len(old.ledger.rows)
        assert new.ledger.rows[:rows] == old.ledger.rows
        assert balanced(new)
        if old._engine.results is None and not old._engine._held:
            assert count == len(new.live.turns)
            assert figures(new.live) == figures(old.live)
            assert new.done == old.done
            assert new._core.round == old._core.round
            if whole and len(new.receipts) == len(old.receipts):
                assert stated(new._engine) == stated(old._engine)
                assert new.rejections == old.rejections

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        found = [
            bytes_of(each.body(OpenAIChat())["messages"]) for each in inputs(self.journal.entries())
        ]
        assert len(found) == len(self.wire)
        assert [at for at, sent in enumerate(self.wire) if found[at] != sent] == []
        if self.pending:
            with self.session.round():
                pass
        assert balanced(self.session)
        assert self.session.phase in Phase
        self.session.close()
        self.journal.close()
        with SQLiteJournal(self.journal.directory, meter=METER) as journal:
            last = Session.resume(journal)
            assert balanced(last)
            last.close()
        shutil.rmtree(self.home)


class CrashingFiles(Crashing):
    interface = "file"
    gate = Gate.CONSERVE


class CrashingTools(Crashing):
    interface = "tool"
    gate = Gate.SHRINK


FEW = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("machine", [Crashing, CrashingFiles, CrashingTools])
def test_a_session_that_is_taken_up_again_is_the_session_it_was(machine: type[Crashing]) -> None:
    run_state_machine_as_test(machine, settings=FEW)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Crashing, CrashingFiles, CrashingTools])
def test_many_more_sessions_that_are_taken_up_again(machine: type[Crashing]) -> None:
    run_state_machine_as_test(
        machine, settings=settings(FEW, max_examples=400, stateful_step_count=50)
    )
