"""A long run keeps its speed, its memory and its size: what a round costs does not grow with the rounds."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from store_world import METER, journal

from redraft import Session, Settings
from redraft.store import SQLiteJournal

BENCH = Path(__file__).parents[2] / "bench" / "journal.py"
HEAD = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Do the task."},
]


class Long:
    """A session that goes on and on, and tidies on the way."""

    def __init__(self, directory: Path) -> None:
        self.journal = journal(directory)
        self.directory = directory
        self.session = Session(
            HEAD,
            interface="tool",
            budget=60_000,
            settings=Settings(margin=500),
            meter=METER,
            journal=self.journal,
            tag="beef",
        )
        self.rounds = 0

    def go(self, rounds: int) -> None:
        for _ in range(rounds):
            self.rounds += 1
            number = self.rounds
            calls = [self._call("bash", number, command=f"look {number}")]
            if number % 20 == 0:
                turns = self.session.live.editable()
                span = {"turn": turns[0].number, "through": turns[-6].number}
                calls.append(
                    self._call("edit_context", -number, edits=[{**span, "text": f"to {number}"}])
                )
            self.session.request()
            with self.session.answer() as answer:
                answer({"role": "assistant", "content": f"step {number}", "tool_calls": calls})
            with self.session.round() as now:
                for asked in now.calls:
                    now.result(asked, f"{number} is a number\n" * 30)

    def _call(self, name: str, key: int, **arguments: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"id": f"call_{key}", "type": "function", "function": function}

    def statements(self, rounds: int) -> int:
        """How many statements so many rounds take."""
        seen: list[str] = []
        self.journal._database.set_trace_callback(seen.append)
        self.go(rounds)
        self.journal._database.set_trace_callback(None)
        return len(seen)

    def calls(self, rounds: int) -> int:
        """How many Python functions of the journal's room so many rounds call."""
        count = 0

        def called(frame: FrameType, event: str, _: object) -> None:
            nonlocal count
            count += event == "call" and "/redraft/store/" in frame.f_code.co_filename

        sys.setprofile(called)
        try:
            self.go(rounds)
        finally:
            sys.setprofile(None)
        return count

    def bytes(self) -> int:
        self.journal.flush()
        self.journal._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return (self.directory / "journal.db").stat().st_size


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Long]:
    made = Long(tmp_path / "run")
    yield made
    made.session.close()
    made.journal.close()


def test_a_round_of_one_call_takes_three_transactions(long: Long) -> None:
    long.go(20)
    seen: list[str] = []
    long.journal._database.set_trace_callback(seen.append)
    long.go(1)
    long.journal._database.set_trace_callback(None)
    assert seen.count("COMMIT") == 3
    assert len(seen) < 40


def holds_its_pace(long: Long, rounds: int) -> None:
    long.go(20)
    statements, calls = long.statements(20), long.calls(20)
    begin, half = (long.rounds, long.bytes()), rounds // 2
    long.go(half - long.rounds)
    middle = long.rounds, long.bytes()
    long.go(rounds - long.rounds)
    end = long.rounds, long.bytes()
    assert _each(middle, end) == pytest.approx(_each(begin, middle), rel=0.15)
    assert long.statements(20) == pytest.approx(statements, rel=0.1)
    assert long.calls(20) == pytest.approx(calls, rel=0.1)
    assert end[1] / end[0] < 2_500


def _each(start: tuple[int, int], end: tuple[int, int]) -> float:
    """Bytes a round between two points."""
    return (end[1] - start[1]) / (end[0] - start[0])


def test_what_a_round_costs_does_not_grow(long: Long) -> None:
    holds_its_pace(long, 300)


@pytest.mark.slow
def test_a_run_of_two_thousand_rounds_keeps_its_speed(long: Long) -> None:
    holds_its_pace(long, 2_000)
    place = Path(shutil.copytree(long.directory, long.directory.with_name("copy")))
    with SQLiteJournal(place, meter=METER) as again, Session.resume(again) as session:
        assert len(session.live.turns) == len(long.session.live.turns)
        assert session.tokens == long.session.tokens
        assert session.ledger.total() == long.session.ledger.total()


@pytest.mark.slow
def test_a_run_of_two_thousand_rounds_keeps_its_memory(long: Long) -> None:
    """The session holds every turn, so that any revision may be undone; the journal adds a key to each,
    and nothing piles up beside."""
    long.go(40)
    tracemalloc.start()
    try:
        long.go(1_000 - long.rounds)
        gc.collect()
        half, _ = tracemalloc.get_traced_memory()
        long.go(2_000 - long.rounds)
        gc.collect()
        end, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - half < 1.2 * half
    assert peak < end + 4_000_000


def test_the_bench_of_the_journal_measures_rounds_bytes_and_going_on() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), "--json", "--rounds", "50", "--step", "25"],
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout)
    assert [row["rounds"] for row in report["rows"]] == [25, 50]
    assert all(row["cpu"] > 0 and row["cpu_in_memory"] > 0 for row in report["rows"])
    assert 100_000 < report["bytes_a_thousand"] < 20_000_000
    assert min(report[name] for name in ("ratio", "ratio_in_memory", "commit")) > 0
    assert report["read"] > 0
    assert report["resume"] > 0


def test_all_measurements_are_one_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCH.parent))
    spec = spec_from_file_location("bench_all", BENCH.with_name("__main__.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert list(module._ALL)[:3] == ["rounds", "cost", "journal"]
    one = {name: lambda given, name=name: print(json.dumps([name, *given])) for name in "ab"}
    monkeypatch.setattr(module, "_ALL", one)
    assert module.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"a": ["a", "--json"], "b": ["b", "--json"]}
    module.main([])
    assert capsys.readouterr().out.split() == ["#", "a", '["a"]', "#", "b", '["b"]']
