"""Files that are old, new, foreign or damaged: each is read, or refused with words that help."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from store_world import (
    METER,
    agrees,
    as_bytes,
    differing,
    every_kind,
    journal,
    live_of,
    plain,
    rounds,
    started,
)

from redraft import Session
from redraft.errors import JournalError, SessionStateError
from redraft.store import Logged, SQLiteJournal, run_info, schema
from redraft.store.packing import packed, to_bytes

DATA = Path(__file__).parents[1] / "data"


def written(directory: Path) -> Path:
    """A run with an entry of each kind; its journal file."""
    with journal(directory) as writer:
        for entry in every_kind():
            writer.record(entry)
    return directory / "journal.db"


def changed(path: Path, statement: str, *values: object) -> None:
    database = sqlite3.connect(path)
    with database:
        database.execute(statement, values)
    database.close()


def read(directory: Path) -> list[Any]:
    with journal(directory, write=False) as reader:
        return list(reader.entries())


# -- a file of the first version, for ever -------------------------------------------------------------


@pytest.fixture(params=["kinds", "session"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[Any]]:
    """A run of version 1, and what is in it. `tests/data/make_journal_v1.py` made both."""
    (tmp_path / "run").mkdir()
    shutil.copy(DATA / f"journal-v1-{request.param}.db", tmp_path / "run" / "journal.db")
    text = (DATA / f"journal-v1-{request.param}.json").read_text(encoding="utf-8")
    return tmp_path / "run", json.loads(text)


@pytest.mark.parametrize("write", [False, True])
def test_a_journal_of_version_1_reads_as_it_did(old: tuple[Path, list[Any]], write: bool) -> None:
    directory, then = old
    with journal(directory, write=write) as reader:
        now = json.loads(json.dumps([plain(entry) for entry in reader.entries()]))
    assert len(now) == len(then)
    for entry, expected in zip(now, then, strict=True):
        assert agrees(entry, expected)


def test_a_session_of_version_1_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    shutil.copy(DATA / "journal-v1-session.db", tmp_path / "run" / "journal.db")
    with journal(tmp_path / "run") as writer, Session.resume(writer) as session:
        texts = [str(message["content"]) for message in session.messages]
        assert texts[2] == "Seen: README.md."
        assert "index.md" in texts[-3]  # the call whose result had come
        assert "session was interrupted while this call ran" in texts[-2]
        assert texts[-1] == "I wait."
        statuses = [str(receipt.status) for receipt in session.receipts]
        assert statuses == ["grew", "grew", *["applied"] * 5]
        assert session.live.pins == {5}
        assert session.ledger.total().after == session.live.tokens == session.live.recount()
        assert session.request() is not None


# -- other versions --------------------------------------------------------------------------------------


def test_a_newer_journal_is_refused_and_says_what_to_install(tmp_path: Path) -> None:
    changed(written(tmp_path / "run"), f"PRAGMA user_version = {schema.VERSION + 1}")
    for write in (False, True):
        with pytest.raises(JournalError, match=r"schema version 2.*install a newer redraft"):
            journal(tmp_path / "run", write=write)
    assert run_info(tmp_path / "run").status == "damaged"


def added(path: Path, kind: str, values: dict[str, Any]) -> None:
    """A row that a newer redraft wrote."""
    row = (1.0, kind, json.dumps(values).encode())
    changed(path, "INSERT INTO entry (at, kind, data) VALUES (?, ?, ?)", *row)


def test_an_entry_of_an_unknown_kind_stops_a_reader_who_is_told_to_install_a_newer_redraft(
    tmp_path: Path,
) -> None:
    added(written(tmp_path / "run"), "overflow", {"body": 1})
    says = r"entry \d+ is of the kind 'overflow'.* a newer one wrote it\. Install that one"
    with pytest.raises(JournalError, match=says):
        read(tmp_path / "run")
    with journal(tmp_path / "run") as writer, pytest.raises(JournalError, match=says):
        Session.resume(writer)


def test_an_unknown_remark_is_passed_over(tmp_path: Path) -> None:
    before = read(written(tmp_path / "run").parent)
    added(tmp_path / "run" / "journal.db", "thought", {"aside": True, "body": 1})
    with journal(tmp_path / "run") as writer:
        more = live_of(rounds(1))
        writer.record(started(more))
        tail = writer.tail()
        assert differing((each.entry for each in tail.new()), [*before, started(more)]) is None
        assert list(tail.new()) == []
        assert [logged.kind for logged in writer.log()].count("thought") == 1


def test_values_that_a_newer_redraft_added_to_a_known_kind_are_left_out(tmp_path: Path) -> None:
    before = read(written(tmp_path / "run").parent)
    for row in rows(tmp_path / "run"):
        values = grown(row.values)
        data = packed(to_bytes(values))
        changed(
            tmp_path / "run" / "journal.db",
            "UPDATE entry SET data = ? WHERE seq = ?",
            data,
            row.seq,
        )
    assert differing(read(tmp_path / "run"), before) is None


def rows(directory: Path) -> list[Logged]:
    with journal(directory, write=False) as reader:
        return list(reader.log())


def grown(values: Any) -> Any:
    """The same values with one more in each mapping that stands for a dataclass."""
    if not isinstance(values, dict) or values.keys() == {"body"}:
        return values
    return {**{name: grown(value) for name, value in values.items()}, "of_the_future": [1]}


def with_notes(database: sqlite3.Connection) -> None:
    database.execute("ALTER TABLE entry ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")


def breaks(database: sqlite3.Connection) -> None:
    with_notes(database)
    database.execute("INSERT INTO nowhere VALUES (1)")


def next_version(
    monkeypatch: pytest.MonkeyPatch, step: Callable[[sqlite3.Connection], None]
) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(schema, "STEPS", {**schema.STEPS, schema.VERSION - 1: step})
    monkeypatch.setattr("redraft.store.files.VERSION", schema.VERSION)


def columns(path: Path) -> list[str]:
    database = sqlite3.connect(path)
    names = [row[1] for row in database.execute("PRAGMA table_info(entry)")]
    database.close()
    return names


def test_an_older_journal_is_migrated_when_it_is_opened_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "run")
    before = read(tmp_path / "run")
    next_version(monkeypatch, with_notes)
    with journal(tmp_path / "run") as writer:
        assert differing(writer.entries(), before) is None
    assert "note" in columns(path)
    assert differing(read(tmp_path / "run"), before) is None


def test_a_reader_of_an_older_journal_changes_nothing_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "run")
    before, data = read(tmp_path / "run"), path.read_bytes()
    next_version(monkeypatch, with_notes)
    assert differing(read(tmp_path / "run"), before) is None
    assert path.read_bytes() == data


def test_a_migration_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "run")
    with monkeypatch.context() as patch:
        next_version(patch, breaks)
        with pytest.raises(JournalError, match="cannot be used as a journal"):
            journal(tmp_path / "run")
    assert "note" not in columns(path)
    assert len(read(tmp_path / "run")) == len(list(every_kind()))


def test_there_is_a_step_from_every_version_to_the_next() -> None:
    assert sorted(schema.STEPS) == list(range(schema.VERSION))


# -- what is no journal ------------------------------------------------------------------------------------


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"no journal at .*journal\.db; check the run's name"):
        journal(tmp_path / "run", write=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("write", [False, True])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, write: bool) -> None:
    for name, data in {"text": b"just words\n" * 99, "short": b"x"}.items():
        (tmp_path / name).mkdir()
        path = tmp_path / name / "journal.db"
        path.write_bytes(data)
        with pytest.raises(JournalError, match=r"journal\.db"):
            journal(tmp_path / name, write=write)
        assert path.read_bytes() == data


@pytest.mark.parametrize("write", [False, True])
def test_a_database_of_something_else_is_refused_and_left_alone(
    tmp_path: Path, write: bool
) -> None:
    (tmp_path / "run").mkdir()
    changed(tmp_path / "run" / "journal.db", "CREATE TABLE cookies (host TEXT)")
    with pytest.raises(JournalError, match="no journal of redraft"):
        journal(tmp_path / "run", write=write)
    database = sqlite3.connect(tmp_path / "run" / "journal.db")
    assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("cookies",)]
    database.close()


def test_a_place_that_cannot_hold_a_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JournalError, match=r"directory .* cannot be made .*name another place"):
        journal(tmp_path / "file" / "run")


# -- damage ------------------------------------------------------------------------------------------------

DAMAGES = {
    "a body is missing": ("DELETE FROM body WHERE id = 3", "body 3 of the journal is missing"),
    "a body is cut": ("UPDATE body SET data = substr(data, 1, 9)", "body .* is damaged"),
    "a body is another": ("UPDATE body SET data = '\"other\"'", "body .* is damaged"),
    "a turn is missing": ("DELETE FROM turn WHERE id = 2", "turn 2 of the journal is missing"),
    "a turn shows something else": (
        "UPDATE turn SET digest = 'x' WHERE id = 4",
        "turn 4 .* is damaged",
    ),
    "a content is missing": ("DELETE FROM content WHERE id = 1", "content 1 .* is missing"),
    "a carrier is missing": ("DELETE FROM carrier WHERE id = 1", "carrier 1 .* is missing"),
    "a row is no JSON": ("UPDATE entry SET data = x'7b22' WHERE seq = 5", "entry 5"),
    "a row is text": ("UPDATE entry SET data = '{}' WHERE seq = 5", "entry 5"),
    "a row is packed badly": ("UPDATE entry SET data = x'7800' WHERE seq = 5", "entry 5"),
    "a row lacks a value": (
        "UPDATE entry SET data = x'7b7d' WHERE kind = 'committed'",
        "committed",
    ),
    "the start is missing": ("DELETE FROM entry WHERE kind = 'started'", "cannot be read"),
    "a table is missing": ("DROP TABLE turn", "cannot be read"),
}


@pytest.mark.parametrize(("statement", "says"), DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_an_error_that_names_the_place_and_what_to_do(
    statement: str, says: str, tmp_path: Path
) -> None:
    changed(written(tmp_path / "run"), statement)
    with pytest.raises(JournalError, match=says) as caught:
        read(tmp_path / "run")
    assert "restore the run from a copy" in str(caught.value)


def test_a_file_that_was_cut_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "run")
    data = path.read_bytes()
    for part in (1, 2, 3):
        path.write_bytes(data[: len(data) * part // 4])
        with pytest.raises(JournalError, match="restore"):
            read(tmp_path / "run")


def test_flipped_bytes_are_an_error_or_change_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "run")
    data = path.read_bytes()
    before = read(tmp_path / "run")
    found = 0
    for at in range(100, len(data), 509):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            after = read(tmp_path / "run")
        except JournalError:
            found += 1
        else:
            same = list(map(type, after)) == list(map(type, before))
            assert same or len(after) < len(before)
    assert found > 5


def test_what_lies_before_the_damage_can_be_read(tmp_path: Path) -> None:
    changed(written(tmp_path / "run"), "UPDATE entry SET data = x'7b22' WHERE seq = 5")
    with journal(tmp_path / "run", write=False) as reader:
        rows = reader.tail().new()
        assert [next(rows).seq for _ in range(4)] == [1, 2, 3, 4]
        with pytest.raises(JournalError):
            next(rows)


def test_a_session_needs_a_blank_journal_and_says_how_to_resume(tmp_path: Path) -> None:
    live = live_of(rounds(1))
    with SQLiteJournal(tmp_path / "run", meter=METER) as writer:
        writer.record(started(live))
        with pytest.raises(SessionStateError, match=r"Session\.resume\(journal\)"):
            Session(rounds(1), meter=METER, journal=writer, interface="none")
        with pytest.raises(JournalError, match="holds no session"):
            Session.resume(writer)
        assert as_bytes(live)
