"""The overflow store: each body once, durable before use, checked when read, never pruned while cited."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from redraft.dialects.stubs import body_bytes, body_id
from redraft.errors import OverflowDamagedError, OverflowMissingError, OverflowStoreError
from redraft.store import IncognitoOverflow, Overflow, SQLiteOverflow, VolatileOverflow
from redraft.store.overflow import GRACE, closure
from redraft.testing.strategies import bodies

LONG = "".join(f"line {at} of an output\n" for at in range(500))


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "run" / "overflow.db"


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, place: Path) -> Iterator[Overflow]:
    if request.param == "memory":
        yield VolatileOverflow()
        return
    with SQLiteOverflow(place) as on_disk:
        yield on_disk


class TestBodies:
    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(bodies() | st.just(LONG))
    def test_a_body_comes_back_as_it_was(self, store: Overflow, body: str) -> None:
        name = store.put(body)
        assert name == body_id(body)
        assert store.read(name) == body
        assert store.named(name[:20]) == name

    def test_an_equal_body_is_kept_once(self, store: Overflow) -> None:
        assert store.put("same") == store.put("same")
        assert store.prune([]).kept == 1

    def test_what_is_not_there_is_said(self, store: Overflow) -> None:
        store.put("body")
        for name in ("0" * 64, "0" * 8):
            with pytest.raises(OverflowMissingError, match="take the id from a stub"):
                store.read(name)

    def test_a_beginning_that_two_ids_share_is_not_enough(self, store: Overflow) -> None:
        first: dict[str, str] = {}
        for at in range(2_000):
            body = f"body {at}"
            clash = first.setdefault(body_id(body)[:3], body)
            if clash != body:
                store.put(body)
                store.put(clash)
                with pytest.raises(OverflowMissingError, match="several bodies"):
                    store.read(body_id(body)[:3])
                return
        raise AssertionError("no two of these ids begin alike")

    def test_a_name_is_no_pattern(self, store: Overflow) -> None:
        store.put("body")
        for name in ("%", "_" * 8, "'"):
            with pytest.raises(OverflowMissingError):
                store.read(name)


class TestFile:
    def test_nothing_put_leaves_no_file(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            with pytest.raises(OverflowMissingError):
                store.read("0" * 64)
            assert store.prune([], max_bytes=0).kept == 0
            assert store.citing() == {}
        assert not place.parent.exists()

    def test_another_process_reads_what_was_put(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            name = store.put(LONG)
            with SQLiteOverflow(place) as other:
                assert other.read(name) == LONG

    def test_the_file_is_its_owners_alone(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            store.put("body")
            assert place.stat().st_mode & 0o777 == 0o600
            assert place.parent.stat().st_mode & 0o777 == 0o700

    def test_long_bodies_are_packed(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            store.put(LONG)
            assert store.prune([]).size < len(LONG) / 3

    def test_a_body_that_looks_packed_is_not_unpacked(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            for body in ("x", "x\x9c", "x" * 255, "xyz"):
                assert store.read(store.put(body)) == body

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE body SET data = substr(data, 1, 5)",
            "UPDATE body SET data = x''",
            "UPDATE body SET form = 1 - form",
            "UPDATE body SET data = 7",
        ],
    )
    def test_damage_is_found_when_a_body_is_read(self, place: Path, damage: str) -> None:
        with SQLiteOverflow(place) as store:
            name = store.put(LONG)
        with sqlite3.connect(place) as database:
            database.execute(damage)
        database.close()
        with SQLiteOverflow(place) as store:
            with pytest.raises(OverflowDamagedError, match=f"the body {name[:12]}"):
                store.read(name)
            # Put again, the body is whole again.
            assert store.put(LONG) == name
            assert store.read(name) == LONG

    @pytest.mark.parametrize(
        "content", [b"not a database at all", b"SQLite format 3\0 but not really"]
    )
    def test_a_file_of_something_else_is_left_alone(self, place: Path, content: bytes) -> None:
        place.parent.mkdir()
        place.write_bytes(content)
        with SQLiteOverflow(place) as store, pytest.raises(OverflowStoreError):
            store.put("body")
        assert place.read_bytes() == content

    def test_a_database_of_something_else_is_left_alone(self, place: Path) -> None:
        place.parent.mkdir()
        with sqlite3.connect(place) as database:
            database.execute("CREATE TABLE body (id TEXT)")
        database.close()
        with (
            SQLiteOverflow(place) as store,
            pytest.raises(OverflowStoreError, match="no overflow store"),
        ):
            store.put("body")

    def test_a_newer_file_is_refused_by_version(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            store.put("body")
        with sqlite3.connect(place) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
        with (
            SQLiteOverflow(place) as store,
            pytest.raises(OverflowStoreError, match="schema version 99"),
        ):
            store.read(body_id("body"))

    def test_a_place_that_cannot_be_made_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with (
            SQLiteOverflow(tmp_path / "file" / "overflow.db") as store,
            pytest.raises(OverflowStoreError, match="check the place"),
        ):
            store.put("body")

    def test_a_full_disk_keeps_nothing_by_half(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            kept = store.put("kept")
            database = store._opened
            assert database is not None
            pages = database.execute("PRAGMA page_count").fetchone()[0]
            database.execute(f"PRAGMA max_page_count = {pages}")
            body = os.urandom(100_000).hex()
            with pytest.raises(OverflowStoreError, match="Nothing was changed"):
                store.put(body)
            with pytest.raises(OverflowMissingError):
                store.read(body_id(body))
            assert store.read(kept) == "kept"
            database.execute("PRAGMA max_page_count = 1000000")
            assert store.read(store.put(body)) == body

    def test_threads_may_share_a_store(self, place: Path) -> None:
        with SQLiteOverflow(place) as store:
            threads = [
                threading.Thread(target=lambda at=at: [store.put(f"{at} {n}") for n in range(10)])
                for at in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert store.prune([]).kept == 40


class TestIncognito:
    def test_nothing_is_kept_and_the_answer_says_why(self, tmp_path: Path) -> None:
        store = IncognitoOverflow()
        name = store.put(LONG)
        assert name == body_id(LONG)
        assert store.storage == "memory-only (incognito)"
        for ask in (store.read, store.named):
            with pytest.raises(OverflowMissingError, match=r"incognito.* and cannot be restored"):
                ask(name)
        assert store.prune([], max_bytes=0).kept == 0
        assert list(tmp_path.iterdir()) == []


class TestPrune:
    def test_old_bodies_go_and_cited_ones_stay(self, place: Path) -> None:
        clock = Clock()
        with SQLiteOverflow(place, clock) as store:
            cited, loose = store.put("cited"), store.put("loose")
            clock.now += 10 * GRACE
            assert store.prune([cited], max_age=11 * GRACE).removed == ()
            assert store.prune([cited], max_age=9 * GRACE).removed == (loose,)
            assert store.read(cited) == "cited"

    def test_by_size_the_oldest_go_first(self, place: Path) -> None:
        clock = Clock()
        with SQLiteOverflow(place, clock) as store:
            names = []
            for at in range(5):
                names.append(store.put(f"{at}" * 100))
                clock.now += 1
            clock.now += GRACE
            assert store.prune([names[0]], max_bytes=250).removed == tuple(names[1:4])

    def test_a_body_that_was_just_put_stays_whatever_is_asked(self, place: Path) -> None:
        """Its stub may be on its way into the context."""
        clock = Clock()
        with SQLiteOverflow(place, clock) as store:
            name = store.put("body")
            clock.now += GRACE - 1
            assert store.prune([], max_age=0, max_bytes=0).removed == ()
            store.put("body")
            clock.now += GRACE - 1
            assert store.prune([], max_age=0, max_bytes=0).removed == ()
            clock.now += 1
            assert store.prune([], max_age=0, max_bytes=0).removed == (name,)

    def test_a_clock_that_goes_back_prunes_nothing(self, place: Path) -> None:
        clock = Clock()
        with SQLiteOverflow(place, clock) as store:
            store.put("body")
            clock.now -= 10 * GRACE
            assert store.prune([], max_age=0, max_bytes=0).removed == ()

    def test_what_a_cited_body_cites_is_cited(self, place: Path) -> None:
        clock = Clock()
        with SQLiteOverflow(place, clock) as store:
            deep = store.put("original")
            note = store.put("note", [deep])
            outer = store.put("note on the note", [note])
            loose = store.put("loose", [outer])
            clock.now += 2 * GRACE
            assert store.prune([outer], max_age=0).removed == (loose,)
            assert store.read(deep) == "original"

    def test_a_prune_by_another_process_waits_for_the_put(self, place: Path) -> None:
        with SQLiteOverflow(place) as store, SQLiteOverflow(place) as other:
            names = [store.put(f"body {at}") for at in range(20)]
            assert other.prune([], max_age=0, max_bytes=0).kept == 20
            assert [store.read(name) for name in names] == [f"body {at}" for at in range(20)]

    def test_in_memory_the_oldest_go_by_size(self) -> None:
        store = VolatileOverflow()
        first, second, third = (store.put(f"{at}" * 100) for at in range(3))
        store.put("0" * 100)
        assert store.prune([second], max_bytes=200).removed == (third,)
        assert store.read(first) == "0" * 100

    @given(
        st.dictionaries(st.integers(0, 6), st.sets(st.integers(0, 6))), st.sets(st.integers(0, 6))
    )
    def test_a_closure_holds_everything_that_is_reached(
        self, cites: dict[int, set[int]], cited: set[int]
    ) -> None:
        """Circles among citations end too."""
        named = {str(key): {str(one) for one in ones} for key, ones in cites.items()}
        reached = closure(map(str, cited), named)
        assert {str(one) for one in cited} <= reached
        assert all(named.get(name, set()) <= reached for name in reached)


class TestFork:
    def test_a_fork_takes_what_it_cites_and_what_that_cites(self, tmp_path: Path) -> None:
        with SQLiteOverflow(tmp_path / "a.db") as old, SQLiteOverflow(tmp_path / "b.db") as new:
            deep = old.put("original")
            note = old.put("note", [deep])
            other = old.put("other")
            new.adopt(old, [note, "f" * 64])
            assert new.read(deep) == "original"
            assert new.citing() == {note: (deep,)}
            with pytest.raises(OverflowMissingError):
                new.read(other)


class Machine(RuleBasedStateMachine):
    """Puts, prunes and reads in any order: what is cited is there, always."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.bodies: dict[str, str] = {}
        self.cited: set[str] = set()
        self.cites: dict[str, set[str]] = {}
        self.store: Overflow = self.make()

    def make(self) -> Overflow:
        return VolatileOverflow()

    @rule(body=st.text(max_size=4), cite=st.booleans(), holds=st.integers(0, 3))
    def put(self, body: str, cite: bool, holds: int) -> None:
        inner = sorted(self.bodies)[:holds] if cite else []
        name = self.store.put(body, inner)
        self.bodies[name] = body
        self.cites.setdefault(name, set()).update(inner)
        if cite:
            self.cited.add(name)

    @rule(at=st.integers(0, 5))
    def release(self, at: int) -> None:
        for name in sorted(self.cited)[at : at + 1]:
            self.cited.discard(name)

    @rule(seconds=st.sampled_from((1.0, GRACE, 10 * GRACE)))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(
        max_age=st.none() | st.sampled_from((0.0, GRACE, 5 * GRACE)),
        max_bytes=st.none() | st.integers(0, 20),
    )
    def prune(self, max_age: float | None, max_bytes: int | None) -> None:
        done = self.store.prune(self.cited, max_age=max_age, max_bytes=max_bytes)
        kept = closure(self.cited, self.cites)
        assert not kept & set(done.removed)
        for name in done.removed:
            del self.bodies[name]
            self.cites.pop(name, None)
        assert done.kept == len(self.bodies)

    @invariant()
    def everything_that_was_not_pruned_is_there(self) -> None:
        for name, body in self.bodies.items():
            assert self.store.read(name) == body


TestMachineInMemory = Machine.TestCase
TestMachineInMemory.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


class DiskMachine(Machine):
    def make(self) -> Overflow:
        self._home = tempfile.TemporaryDirectory()
        return SQLiteOverflow(Path(self._home.name) / "overflow.db", self.clock)

    def teardown(self) -> None:
        assert isinstance(self.store, SQLiteOverflow)
        self.store.close()
        self._home.cleanup()


TestMachineOnDisk = DiskMachine.TestCase
TestMachineOnDisk.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)

WRITER = """
import sys
from pathlib import Path
from redraft.store import SQLiteOverflow
with SQLiteOverflow(Path(sys.argv[1])) as store:
    for at in range(10_000):
        print(store.put(f"body {at} " * 200), flush=True)
"""


def test_a_killed_process_loses_no_body_whose_id_it_has_told(place: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(place)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    told = [writer.stdout.readline().strip() for _ in range(5)]
    writer.send_signal(signal.SIGKILL)
    told += [line.strip() for line in writer.stdout if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    with SQLiteOverflow(place) as store:
        for at, name in enumerate(told):
            assert store.read(name) == f"body {at} " * 200
        assert body_bytes(store.read(told[0]))
