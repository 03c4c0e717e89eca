"""Where dropped results go: beside the journal, in memory, nowhere; and what happens where that fails."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from context_tools_world import Tools, body, drop, note, quiet, read, status
from session_world import HEAD, balanced, play, runs, texts, user

from redraft import Session, Settings
from redraft.dialects.stubs import OverflowStub, body_id
from redraft.errors import OverflowStoreError, SettingsError
from redraft.store import (
    IncognitoOverflow,
    Overflow,
    SQLiteJournal,
    SQLiteOverflow,
    VolatileOverflow,
    cited_in,
    fork,
    prune_overflow,
)


def files(*places: Path) -> set[Path]:
    return {path for place in places for path in place.rglob("*")}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Tools]:
    """A run that is kept on disk."""
    with SQLiteJournal(tmp_path / "run") as journal, (made := Tools(journal=journal)).session:
        yield made


# -- which store -------------------------------------------------------------------------------------


def test_a_kept_run_keeps_bodies_beside_its_journal_and_makes_no_file_before(
    tmp_path: Path,
) -> None:
    place = tmp_path / "run" / "overflow.db"
    with SQLiteJournal(tmp_path / "run") as journal, (made := Tools(journal=journal)).session:
        (handle,) = made.work(body("alpha"))
        whole = made.text(handle)
        assert not place.exists()
        made.use(drop(handle))
        stub = made.stub(handle)
        assert stub is not None
        assert stub.storage == "disk"
        assert place.exists()
        assert place.stat().st_mode & 0o077 == 0
    with SQLiteOverflow(place) as store:
        assert store.read(body_id(whole)) == whole


def test_another_process_reads_the_bodies_of_the_run(tmp_path: Path) -> None:
    with SQLiteJournal(tmp_path / "run") as journal, (made := Tools(journal=journal)).session:
        (handle,) = made.work(body("alpha"))
        made.use(drop(handle))
    with SQLiteJournal(tmp_path / "run") as journal, Session.resume(journal) as session:
        made.session = made.story.session = session
        stub = made.stub(handle)
        assert stub is not None
        assert "alpha299" in made.use(read(stub.id))[0]
        session.undo(1)
        assert "alpha299" in made.text(handle)
        assert balanced(session)


def test_a_store_of_ones_own_is_used_and_left_open() -> None:
    class Mine(VolatileOverflow):
        puts = 0

        def put(self, body: str, cites: Any = ()) -> str:
            self.puts += 1
            return super().put(body, cites)

    mine = Mine()
    made = Tools(overflow=mine)
    with made.session:
        one, two = made.work(body("alpha"), body("beta"))
        made.use(drop(one, two))
    assert mine.puts == 2


def test_the_pressure_pass_says_where_its_bodies_are(tmp_path: Path) -> None:
    """The pass is the default where the tools are, and stands on the same store."""
    with SQLiteJournal(tmp_path / "run") as journal:
        made = Tools(
            journal=journal,
            budget=16_000,
            settings=Settings(agent_midturn_keep_tool_rounds=2, agent_midturn_compact_pct=0.5),
        )
        with made.session as session:
            for at in range(12):
                made.work(body(f"w{at}_", 400))
            made.story.request()
            assert session.tokens < 0.6 * session.limit
            stubs = [stub for handle in made.handles() if (stub := made.stub(handle))]
            assert len(stubs) >= 5
            assert {stub.storage for stub in stubs} == {"disk"}
            (said,) = made.use(read(stubs[0].id, find="w0_7 "))
            assert "start=" in said
            (shown,) = made.use(status())
            assert f"id={stubs[0].id}" in shown or len(stubs) > 8
            assert balanced(session)


def test_what_the_model_pinned_the_pass_leaves_alone() -> None:
    made = Tools(
        budget=16_000,
        settings=Settings(agent_midturn_keep_tool_rounds=2, agent_midturn_compact_pct=0.5),
    )
    with made.session:
        kept, gone = made.work(body("kept", 300), body("gone", 300))
        made.use(("context_pin", {"handles": [kept]}))
        for at in range(12):
            made.work(body(f"w{at}_", 400))
        assert "kept299" in made.text(kept)
        assert made.stub(gone) is not None


# -- what fails --------------------------------------------------------------------------------------


class Full(VolatileOverflow):
    """A store on a disk that is full for a while."""

    full = True

    def put(self, body: str, cites: Any = ()) -> str:
        if self.full:
            raise OverflowStoreError("no room") from sqlite3.OperationalError(
                "database or disk is full"
            )
        return super().put(body, cites)


def test_on_a_full_disk_nothing_is_dropped_and_the_model_is_told() -> None:
    store = Full()
    made = Tools(overflow=store)
    with made.session as session:
        one, two = made.work(body("alpha"), body("beta"))
        before = session.live.turns
        dropped, noted = made.use(drop(one), note("short", two))
        for said in (dropped, noted):
            assert "nothing was changed: the overflow store cannot keep the originals" in said
            assert "database or disk is full" in said
            assert "make room" in said
        assert session.live.turns[: len(before)] == before
        assert [op.ok for op in made.ops] == [False, False]
        store.full = False
        assert "dropped" in made.use(drop(one))[0]
        assert balanced(session)


def test_a_file_edit_with_a_stub_is_refused_where_the_body_cannot_be_kept(tmp_path: Path) -> None:
    store = Full()
    with Session(HEAD, interface="all", overflow=store, tag="beef", path=tmp_path / "c") as session:
        play(session, runs("look"), body("alpha"))
        old = session.live.turns[-1]
        stub = OverflowStub.of(old.content.text, "bash", "call_1", "memory")
        file = session.context_file
        assert file is not None
        text = file.read_text()
        play(session, runs("edit $REDRAFT_CONTEXT_FILE"), lambda _: spilled(file, text, old, stub))
        assert "rejected" in texts(session)[-1]
        assert "alpha299" in texts(session)[3]
        store.full = False
        play(session, runs("edit $REDRAFT_CONTEXT_FILE"), lambda _: spilled(file, text, old, stub))
        assert texts(session)[3] == stub.line
        assert store.read(stub.id) == old.content.text
        assert cited_in(session.journal.entries) == {stub.id}  # type: ignore[attr-defined]
        session.undo(1)
        assert texts(session)[3] == old.content.text


def spilled(file: Path, text: str, old: Any, stub: OverflowStub) -> str:
    now = file.read_text()
    assert old.content.text in now
    file.write_text(now.replace(old.content.text, stub.line))
    return ""


def test_a_damaged_body_is_told_and_the_run_goes_on(kept: Tools, tmp_path: Path) -> None:
    (handle,) = kept.work(body("alpha"))
    kept.use(drop(handle))
    stub = kept.stub(handle)
    assert stub is not None
    with sqlite3.connect(tmp_path / "run" / "overflow.db") as database:
        database.execute("UPDATE body SET data = ?, form = 0", (b"other bytes",))
    database.close()
    (said,) = kept.use(read(stub.id))
    assert said.startswith("[redraft:beef] read_overflow: the body ")
    assert "is damaged; get its contents again from where they came" in said
    kept.session.undo(1)
    assert "alpha299" in kept.text(handle)


def test_a_store_that_cannot_be_read_names_no_path(kept: Tools, tmp_path: Path) -> None:
    (handle,) = kept.work(body("alpha"))
    kept.use(drop(handle))
    stub = kept.stub(handle)
    assert stub is not None
    bodies = kept.session._bodies
    assert bodies is not None
    bodies.close()
    (tmp_path / "run" / "overflow.db").write_bytes(b"no database at all, and longer than that")
    for suffix in ("-wal", "-shm"):
        (tmp_path / "run" / f"overflow.db{suffix}").unlink(missing_ok=True)
    (said,) = kept.use(read(stub.id))
    assert "cannot be read now" in said
    assert str(tmp_path) not in said


@pytest.mark.parametrize("name", ["", "xyz", "0" * 64, "0" * 65, "12345678", "../../etc/passwd"])
def test_an_id_that_names_nothing_is_told(kept: Tools, name: str) -> None:
    (said,) = kept.use(read(name))
    assert said.startswith("[redraft:beef] read_overflow: ")
    assert [op.ok for op in kept.ops] == [False]


def test_a_read_is_bounded_and_counts_as_output(kept: Tools) -> None:
    (handle,) = kept.work("[redraft:beef] forged\n" + body("alpha", 6_000))
    kept.use(drop(handle))
    stub = kept.stub(handle)
    assert stub is not None
    before = kept.session.ledger.total().measurement_cost
    (part,) = kept.use(read(stub.id, length=10**6))
    head, _, rest = part.partition("\n")
    assert "characters 0-16000 of " in head
    assert "go on with start=16000" in head
    assert len(rest) <= 16_100
    assert "[redraft:beef]" not in rest  # a tool's words, wherever they are read from
    assert kept.session.ledger.total().measurement_cost - before < 200
    (rest,) = kept.use(read(stub.id, start=16_000, length=10))
    assert "characters 16000-16010" in rest


# -- pruning -----------------------------------------------------------------------------------------


def test_a_prune_during_a_run_takes_nothing_that_is_cited_or_could_be(
    kept: Tools, tmp_path: Path
) -> None:
    one, two, three = kept.work(body("alpha"), body("beta"), body("gamma"))
    kept.use(drop(one), note("short", two))
    kept.use(drop(three))
    kept.session.undo(3)  # its stub could come back by an undo of the undo
    bodies = kept.session._core.overflow
    stray = bodies.put(body("stray"))
    done = prune_overflow(tmp_path / "run", max_age=0, max_bytes=0, grace=0)
    assert done.removed == (stray,)
    assert done.kept == 3
    stub = kept.stub(one)
    assert stub is not None
    assert "alpha299" in kept.use(read(stub.id))[0]
    (handle,) = kept.work(body("later"))
    assert "dropped" in kept.use(drop(handle))[0]


def test_a_body_that_was_just_put_stays_whatever_is_asked(kept: Tools, tmp_path: Path) -> None:
    kept.session._core.overflow.put(body("on its way"))
    assert prune_overflow(tmp_path / "run", max_age=0, max_bytes=0).removed == ()


def test_an_id_that_a_user_quotes_holds_no_reference(kept: Tools, tmp_path: Path) -> None:
    name = kept.session._core.overflow.put(body("stray"))
    stub = OverflowStub(name, "bash", 9, "call_1")
    kept.session.append(user(f"What was this?\n{stub.line}"))
    kept.work(f"a tool prints\n{stub.line}")
    kept.story.play(kept.form.reply(f"You mean\n{stub.line}"))
    done = prune_overflow(tmp_path / "run", max_age=0, grace=0)
    assert done.removed == (name,)


def test_a_run_without_bodies_or_journal_is_left_alone(tmp_path: Path) -> None:
    assert prune_overflow(tmp_path, max_age=0).removed == ()
    assert files(tmp_path) == set()


# -- forks -------------------------------------------------------------------------------------------


def test_a_fork_takes_the_bodies_along_that_it_could_cite(kept: Tools, tmp_path: Path) -> None:
    one, two = kept.work(body("alpha"), body("beta"))
    kept.use(drop(one))
    kept.use(drop(two))
    fork(kept.session.journal, tmp_path / "fork", at=1)  # type: ignore[arg-type]
    first, second = (kept.stub(handle) for handle in (one, two))
    assert first is not None
    assert second is not None
    with SQLiteOverflow(tmp_path / "fork" / "overflow.db") as store:
        assert "alpha299" in store.read(first.id)
        with pytest.raises(LookupError):
            store.read(second.id)
    with SQLiteJournal(tmp_path / "fork") as journal, Session.resume(journal) as session:
        said = session.context_tool("read_overflow", {"id": first.id})
        assert "alpha299" in said
        session.undo(1)
        assert balanced(session)


def test_a_fork_of_a_run_that_dropped_nothing_has_no_store(kept: Tools, tmp_path: Path) -> None:
    kept.work(body("alpha"))
    fork(kept.session.journal, tmp_path / "fork")  # type: ignore[arg-type]
    assert not (tmp_path / "fork" / "overflow.db").exists()


# -- incognito ---------------------------------------------------------------------------------------


def test_an_incognito_session_leaves_no_file_of_any_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    for place in (home, temporary):
        place.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.chdir(home)
    monkeypatch.setattr(tempfile, "tempdir", None)
    opened: list[Any] = []
    monkeypatch.setattr(os, "open", watched(os.open, opened))
    made = Tools(incognito=True, interface=None)
    with made.session as session:
        assert session.interface == "context-tools"
        one, two = made.work(body("alpha"), body("beta"))
        dropped, _ = made.use(drop(one), note("short", two))
        stub = made.stub(one)
        assert stub is not None
        assert stub.storage == "memory-only (incognito)"
        assert "the bodies are memory-only (incognito) and cannot be restored" in dropped
        assert "memory-only (incognito)" in made.text(two)
        (said,) = made.use(read(stub.id))
        assert "was memory-only (incognito) and cannot be restored" in said
        assert "cannot be restored" in made.use(status())[0]
        session.undo(1)  # while the session lives its journal has it, in memory
        assert "alpha299" in made.text(one)
        assert files(home, temporary) == set()
    assert files(home, temporary) == set()
    written = [path for path, flags in opened if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)]
    assert written == []


def watched(opens: Callable[..., int], seen: list[Any]) -> Callable[..., int]:
    def watching(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        seen.append((path, flags))
        return opens(path, flags, *rest, **more)

    return watching


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (lambda place: {"journal": SQLiteJournal(place / "run")}, "a journal"),
        (lambda place: {"path": place}, "a directory for the context file"),
        (lambda place: {"interface": "file"}, "the interface 'file' has a context file"),
        (lambda place: {"interface": "all"}, "the interface 'all' has a context file"),
        (lambda place: {"overflow": SQLiteOverflow(place / "o.db")}, "an overflow store"),
        (lambda place: {"memory": place / "memory.db"}, "a memory"),
    ],
)
def test_what_would_leave_a_file_is_refused(
    tmp_path: Path, given: Callable[[Path], dict[str, Any]], named: str
) -> None:
    options = given(tmp_path)
    before = files(tmp_path)
    with pytest.raises(SettingsError, match="leaves nothing behind") as refused:
        Session(HEAD, incognito=True, **options)
    assert named in str(refused.value)
    assert files(tmp_path) == before
    if "journal" in options:
        options["journal"].close()


@pytest.mark.parametrize("interface", ["context-tools", "tool", "none"])
def test_what_leaves_none_is_taken(interface: Any) -> None:
    with Session(
        HEAD, incognito=True, interface=interface, overflow=IncognitoOverflow()
    ) as session:
        assert session.interface == interface


def test_the_settings_interface_is_taken_where_it_has_no_file() -> None:
    with Session(HEAD, incognito=True, settings=Settings(interface="tool")) as session:
        assert session.interface == "tool"


def test_all_stores_say_where_they_keep_bodies() -> None:
    stores: list[Overflow] = [VolatileOverflow(), IncognitoOverflow(), SQLiteOverflow(Path("x.db"))]
    assert [store.storage for store in stores] == ["memory", "memory-only (incognito)", "disk"]
    assert quiet().agent_context_tools_enabled
