"""When something is on the disk, who may write, and what a failure leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_world import as_bytes, contents, differing, every_kind, journal, live_of, rounds, started

from redraft.context import Live
from redraft.errors import JournalError, JournalLockedError
from redraft.events import CommandStarted, RequestMade
from redraft.store import Appended, Held, Opened, SQLiteJournal, Told
from redraft.store.lock import WriterLock, writer_of

HERE = Path(__file__).parent
SAID = Told(RequestMade(1, 2, 3, 4, 5, 6))


def copy_of(run: Path, place: Path) -> SQLiteJournal:
    """What another process would find, had this one been killed now."""
    shutil.copytree(run, place)
    return journal(place)


def started_run(directory: Path) -> tuple[SQLiteJournal, Live]:
    writer = journal(directory)
    live = live_of(rounds(1))
    writer.record(Opened({"model": "m"}))
    writer.record(started(live))
    return writer, live


# -- what is durable -----------------------------------------------------------------------------------


def test_what_changes_the_context_is_durable_at_once_and_all_before_it(tmp_path: Path) -> None:
    writer, live = started_run(tmp_path / "run")
    with writer:
        writer.record(SAID)
        with copy_of(tmp_path / "run", tmp_path / "early") as early:
            assert len(list(early.entries())) == 2
        more = live.append(contents({"role": "user", "content": "more"}))
        writer.record(Appended(more.turns[-1:]))
        with copy_of(tmp_path / "run", tmp_path / "late") as late:
            assert [type(entry).__name__ for entry in late.entries()][2:] == ["Told", "Appended"]


def test_a_started_command_and_what_a_client_said_are_durable_at_once(tmp_path: Path) -> None:
    writer, _ = started_run(tmp_path / "run")
    with writer:
        writer.record(Told(CommandStarted(1, "make", 9.0)))
        writer.record(Held(contents({"role": "user", "content": "wait"})))
        with copy_of(tmp_path / "run", tmp_path / "copy") as copy:
            assert len(list(copy.entries())) == 4


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    writer, _ = started_run(tmp_path / "run")
    writer.record(SAID)
    writer.close()
    writer.close()
    with journal(tmp_path / "run", write=False) as reader:
        assert len(list(reader.entries())) == 3
    with pytest.raises(JournalError, match="open it to write"):
        writer.record(SAID)


def test_many_words_that_nobody_waits_for_do_not_pile_up(tmp_path: Path) -> None:
    writer, _ = started_run(tmp_path / "run")
    with writer:
        for _ in range(200):
            writer.record(SAID)
        with copy_of(tmp_path / "run", tmp_path / "copy") as copy:
            assert len(list(copy.entries())) > 100


def test_only_the_owner_can_read_a_run(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        started_run(tmp_path / "run")[0].close()
    finally:
        os.umask(old)
    run = tmp_path / "run"
    assert run.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in run.iterdir()} == {0o600}


# -- a transaction that fails ----------------------------------------------------------------------------


def test_a_failed_record_leaves_nothing_and_can_be_tried_again(tmp_path: Path) -> None:
    writer, live = started_run(tmp_path / "run")
    with writer:
        bad = live.append(contents({"role": "user", "content": "x", "x_it": object()}))
        turns = live.append(
            contents({"role": "user", "content": "one"}, {"role": "user", "content": "2"})
        )
        writer.record(SAID)
        for _ in range(3):
            with pytest.raises(JournalError):
                writer.record(Appended((*turns.turns[-2:], bad.turns[-1])))
        assert len(list(writer.entries())) == 3
        writer.record(Appended(turns.turns[-2:]))
        tail = writer.tail()
        assert len(list(tail.new())) == 4
        assert tail.live is not None
        assert as_bytes(tail.live) == as_bytes(turns)


def test_an_interrupt_in_the_middle_of_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, live = started_run(tmp_path / "run")
    more = live.append(contents({"role": "user", "content": "more"}))
    entry = Appended(more.turns[-1:])
    with writer:
        from redraft.store import journal as module

        def interrupted(*_: object) -> dict[str, Any]:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(module, "note", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.record(entry)
        assert len(list(writer.entries())) == 2
        writer.record(entry)
        assert len(list(writer.entries())) == 3


# -- one writer ------------------------------------------------------------------------------------------

HOLD = """
import sys
from pathlib import Path
from redraft.store import SQLiteJournal
journal = SQLiteJournal(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to `tmp_path / "run"`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_writer_is_told_which_process_writes(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    with pytest.raises(
        JournalLockedError, match=f"process {holder.pid} is writing .*stop it"
    ) as caught:
        journal(tmp_path / "run")
    assert isinstance(caught.value, BlockingIOError)
    assert writer_of(tmp_path / "run" / "lock") == holder.pid


def test_the_lock_dies_with_its_process(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert writer_of(tmp_path / "run" / "lock") is None
    with journal(tmp_path / "run") as writer:
        assert writer.writable


def test_a_second_writer_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with journal(tmp_path / "run"), pytest.raises(JournalLockedError, match=str(os.getpid())):
        journal(tmp_path / "run")
    with journal(tmp_path / "run"):
        pass


def test_whoever_looks_for_the_writer_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with WriterLock(path):
        pass
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            writer_of(path)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(200):
            with WriterLock(path):
                pass
    finally:
        stop.set()
        watcher.join()


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").write_text("keep")
    (tmp_path / "run" / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JournalError, match=r"lock .* cannot be opened"):
        journal(tmp_path / "run")
    assert (tmp_path / "elsewhere").read_text() == "keep"


@pytest.mark.filterwarnings(
    "ignore:This process"
)  # forked on purpose, beside the threads of others
def test_a_process_that_was_forked_leaves_its_parents_journal_alone(tmp_path: Path) -> None:
    writer, _ = started_run(tmp_path / "run")
    with writer:
        child = os.fork()
        if not child:
            code = 1
            try:
                writer.record(SAID)
            except JournalError as error:
                code = 0 if "needs a run of its own" in str(error) else 2
            finally:
                writer.close()
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        writer.record(SAID)
        writer.flush()
        assert len(list(writer.entries())) == 3


# -- readers and threads -----------------------------------------------------------------------------------


def test_a_reader_reads_while_another_process_writes(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    with journal(tmp_path / "run", write=False) as reader:
        assert list(reader.entries()) == []
        assert not reader.writable


def test_a_reader_sees_what_is_added_and_holds_nothing_up(tmp_path: Path) -> None:
    writer, live = started_run(tmp_path / "run")
    with writer, journal(tmp_path / "run", write=False) as reader:
        tail = reader.tail()
        rows = tail.new()
        next(rows)  # stays in the middle of its reading
        for _ in range(600):
            live = live.append(contents({"role": "user", "content": "more"}))
            writer.record(Appended(live.turns[-1:]))
        list(rows)
        list(tail.new())
        assert tail.live is not None
        assert as_bytes(tail.live) == as_bytes(live)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    started_run(tmp_path / "run")[0].close()
    with journal(tmp_path / "run", write=False) as reader:
        with pytest.raises(JournalError, match="open it to write"):
            reader.record(SAID)
        with pytest.raises(JournalError, match="open it to write"):
            reader.set_meta(status="odd")


def test_a_journal_may_be_used_by_one_thread_after_another(tmp_path: Path) -> None:
    entries = list(every_kind())
    with journal(tmp_path / "run") as writer:
        for entry in entries:
            thread = threading.Thread(target=writer.record, args=(entry,))
            thread.start()
            thread.join()
        assert differing(writer.entries(), entries) is None


READ_ONLY = """
import os, sys
from pathlib import Path
from redraft.store import SQLiteJournal  # while the interpreter's files can be read
SQLiteJournal(Path(sys.argv[2])).close()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
run = Path(sys.argv[1])
assert not os.access(run, os.W_OK)
with SQLiteJournal(run, write=False) as reader:
    print(len(list(reader.entries())))
"""


def test_a_run_in_a_place_that_nobody_may_write_to_can_be_read(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp())  # where another user gets to
    place.chmod(0o755)
    run = place / "run"
    started_run(run)[0].close()
    for path in [*run.iterdir(), run]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(run), str(tmp_path / "other")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "2\n", done.stderr
    finally:
        run.chmod(0o700)
        shutil.rmtree(place)


# -- a full disk -------------------------------------------------------------------------------------------

FULL = """
import json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from store_world import as_bytes, contents, journal, live_of, rounds, started
from redraft.errors import JournalError
from redraft.events import RequestMade
from redraft.store import Appended, Told

said = Told(RequestMade(1, 2, 3, 4, 5, 6))
run = Path(sys.argv[2])
writer = journal(run)
live = live_of(rounds(1))
writer.record(started(live))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
done = refused = 0
noise = "".join(map(chr, range(33, 9_000)))
for number in range(60):
    writer.record(said)  # never raises: nobody waits for it
    more = live.append(contents({"role": "user", "content": f"{number} {noise}"}))
    try:
        writer.record(Appended(more.turns[-1:]))
    except JournalError as error:
        refused += 1
        assert "make room on its disk" in str(error), error
        if refused == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        continue
    live, done = more, done + 1
    if refused and done > 50:
        break
tail = writer.tail()
entries = [recorded.entry for recorded in tail.new()]
print(json.dumps({
    "refused": refused,
    "done": done,
    "appended": sum(isinstance(entry, Appended) for entry in entries),
    "told": sum(isinstance(entry, Told) for entry in entries),
    "same": as_bytes(tail.live) == as_bytes(live),
}))
writer.close()
"""


def test_a_full_disk_loses_nothing_and_the_run_goes_on_once_there_is_room(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(HERE), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"] == 3
    assert found["appended"] == found["done"] > 20
    assert found["told"] == found["done"] + found["refused"]
    assert found["same"]
    with journal(tmp_path / "run", write=False) as reader:
        assert sum(isinstance(entry, Appended) for entry in reader.entries()) == found["done"]
    database = sqlite3.connect(tmp_path / "run" / "journal.db")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
