"""On a full disk a run can still be looked into and removed, and nothing is called damaged."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from store_world import as_bytes, journal, live_of, rounds, started

from redraft.errors import JournalError
from redraft.store import SQLiteJournal, gc_runs, run_info
from redraft.store.lock import WriterLock, writer_of


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process can grow, as where no room is left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that nobody writes to."""
    directory = tmp_path / "2026-11-30-brisk-otter"
    with journal(directory) as writer:
        writer.record(started(live_of(rounds(2))))
    return directory


def test_a_run_at_rest_can_be_read(run: Path) -> None:
    with full_disk():
        info = run_info(run)
        with SQLiteJournal(run, write=False) as reader:
            tail = reader.tail()
            list(tail.new())
    assert (info.status, info.why) == ("closed", "")
    assert tail.live is not None
    assert as_bytes(tail.live) == as_bytes(live_of(rounds(2)))


def test_a_full_disk_is_not_called_damage(run: Path) -> None:
    with full_disk(), pytest.raises(JournalError) as found:
        SQLiteJournal(run)
    assert "make room on its disk" in str(found.value)
    assert "restore" not in str(found.value)


def test_the_lock_holds_without_the_name_of_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("4194305")  # whoever held it before
    with full_disk(), WriterLock(path):
        assert writer_of(path) == 0


def test_room_can_be_made_by_removing_runs(run: Path) -> None:
    (run / "lock").unlink()
    with full_disk():
        gone = gc_runs(run.parent, larger_than=0)
    assert [info.name for info in gone] == [run.name]
    assert not run.exists()
