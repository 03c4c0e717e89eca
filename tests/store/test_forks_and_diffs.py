"""A run of its own from another one's log, and what each revision changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_world import (
    as_bytes,
    contents,
    differing,
    edited,
    every_kind,
    journal,
    live_of,
    rounds,
    started,
)

from redraft.context import Live
from redraft.errors import JournalError
from redraft.events import EditJudged, RoundEnded
from redraft.store import (
    Appended,
    Committed,
    Entry,
    Opened,
    Sent,
    SQLiteJournal,
    Told,
    diff,
    fork,
    list_runs,
    revisions,
)


def judged(number: int) -> Told:
    return Told(EditJudged(1, number, "model", "file", "applied", 9, 5, "", 0, 0))


def reply(live: Live, at: int) -> tuple[Live, Appended]:
    call = {"id": f"c{at}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    after = live.append(contents({"role": "assistant", "content": "go", "tool_calls": [call]}))
    return after, Appended(after.turns[-1:])


def result(live: Live, at: int) -> tuple[Live, Appended]:
    after = live.append(contents({"role": "tool", "tool_call_id": f"c{at}", "content": "done"}))
    return after, Appended(after.turns[-1:])


def story() -> list[Entry]:
    """Two rounds with an edit each, then one with two edits, the second of them open to the end."""
    live = live_of(rounds(4))
    entries: list[Entry] = [Opened({"model": "m", "tag": "beef"}), started(live)]
    numbers = iter([3, 5, 7, 9])
    for at in (1, 2):
        entries.append(Sent(at, len(live.turns), live.tokens))
        live, asked = reply(live, at)
        done = edited(live, next(numbers), f"noted {at}")
        live, answer = result(done.live, at)
        entries += [asked, Committed(at, done), judged(at), answer, Told(RoundEnded(at, 1, 2, 1))]
    entries.append(Sent(3, len(live.turns), live.tokens))
    live, asked = reply(live, 3)
    entries.append(asked)
    for number in (3, 4):
        done = edited(live, next(numbers), f"noted {number}")
        live = done.live
        entries += [Committed(number, done), judged(number)]
    return entries


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with journal(tmp_path / "run") as writer:
        for entry in story():
            writer.record(entry)
        writer.set_meta(workdir="/home/ana")
    return tmp_path / "run"


def forked(run: Path, at: int | None) -> list[Entry]:
    place = run.parent / f"fork-{at}"
    with journal(run, write=False) as source:
        count = fork(source, place, at=at)
    with journal(place, write=False) as copy:
        entries = list(copy.entries())
    assert len(entries) == count + 1  # who goes on with it must know that it is a fork
    last = entries.pop()
    assert isinstance(last, Opened)
    assert last.values == {"model": "m", "tag": "beef", "lent": True}
    return entries


def test_a_fork_of_the_whole_run_holds_all_of_it(run: Path) -> None:
    assert differing(forked(run, None), story()) is None


@pytest.mark.parametrize(("at", "until"), [(0, 3), (1, 8), (2, 14), (3, 18), (4, 20)])
def test_a_fork_ends_with_its_revisions_round_or_before_the_next_revision(
    run: Path, at: int, until: int
) -> None:
    entries = forked(run, at)
    assert differing(entries, story()[:until]) is None
    numbers = [entry.number for entry in entries if isinstance(entry, Committed)]
    assert numbers == list(range(1, at + 1))


def test_a_fork_keeps_times_and_what_was_noted_and_says_where_it_comes_from(run: Path) -> None:
    forked(run, 2)
    with journal(run, write=False) as source, journal(run.parent / "fork-2", write=False) as copy:
        times = [recorded.at for recorded in source.tail().new()]
        assert [recorded.at for recorded in copy.tail().new()][:-1] == times[:14]
        meta = copy.meta()
    assert (meta["forked_from"], meta["forked_at"], meta["workdir"]) == ("run", 2, "/home/ana")
    assert (meta["model"], meta["task"]) == ("m", "Do the task.")
    infos = {info.name: info.status for info in list_runs(run.parent)}
    assert infos["fork-2"] == "closed"


def test_what_the_source_holds_beyond_the_revision_is_not_in_the_fork(run: Path) -> None:
    forked(run, 1)
    data = (run.parent / "fork-1" / "journal.db").read_bytes()
    assert b"noted 1" in data
    assert b"noted 2" not in data


def test_a_run_that_is_running_can_be_forked(run: Path) -> None:
    with journal(run):
        assert len(forked(run, None)) == len(story())


def test_every_kind_of_entry_goes_into_a_fork(tmp_path: Path) -> None:
    entries = list(every_kind())
    with journal(tmp_path / "run") as writer:
        for entry in entries:
            writer.record(entry)
        fork(writer, tmp_path / "fork")
    with journal(tmp_path / "fork") as copy:
        tail = copy.tail()
        back = [recorded.entry for recorded in tail.new()]
        live = tail.live
    assert differing(back[:-1], entries) is None
    with journal(tmp_path / "run", write=False) as source:
        whole = source.tail()
        list(whole.new())
    assert live is not None
    assert whole.live is not None
    assert as_bytes(live) == as_bytes(whole.live)


def test_a_fork_at_an_unknown_revision_is_an_error_and_leaves_nothing(run: Path) -> None:
    with journal(run, write=False) as source, pytest.raises(JournalError, match="no revision 9"):
        fork(source, run.parent / "fork", at=9)
    assert not (run.parent / "fork").exists()


def test_a_fork_into_a_run_that_is_there_is_refused_and_leaves_it_alone(run: Path) -> None:
    data = (run / "journal.db").read_bytes()
    with journal(run, write=False) as source:
        forked(run, 1)
        with pytest.raises(JournalError, match="holds a run already"):
            fork(source, run.parent / "fork-1")
    assert (run / "journal.db").read_bytes() == data
    with journal(run.parent / "fork-1", write=False) as copy:
        assert len(list(copy.entries())) == 9


def test_a_run_without_a_session_cannot_be_forked(tmp_path: Path) -> None:
    with journal(tmp_path / "run") as source:
        with pytest.raises(JournalError, match="no session"):
            fork(source, tmp_path / "fork")
        assert not (tmp_path / "fork").exists()


# -- differences -------------------------------------------------------------------------------------------


def test_the_revisions_of_a_run_are_listed_with_who_made_them(run: Path) -> None:
    with journal(run, write=False) as reader:
        found = list(revisions(reader))
    assert [info.number for info in found] == [1, 2, 3, 4]
    assert {(info.author, info.source) for info in found} == {("model", "file")}
    assert all(info.receipt.after != info.receipt.before for info in found)


def test_a_revisions_difference_shows_each_turn_before_and_after(run: Path) -> None:
    with journal(run, write=False) as reader:
        one = diff(reader, 2)
    assert one.info.number == 2
    assert [(turn.number, bool(turn.old), bool(turn.new)) for turn in one.turns] == [
        (15, False, True),
        (5, True, False),
        (6, True, False),
    ]
    note, call, output = one.turns
    assert (note.old_text, note.new_text) == ("", "noted 2")
    assert call.old_text == 'step 1\n[call call_1: bash]\n{"command": "look 1"}'
    assert (output.old_text, output.new_text) == ("output output ", "")


def test_a_difference_comes_as_lines_of_a_unified_diff(run: Path) -> None:
    with journal(run, write=False) as reader:
        note, call, _ = diff(reader, 1).turns
    assert note.lines() == [
        "--- /dev/null",
        "+++ turn 12 assistant, note, 11 tokens",
        "@@ -0,0 +1 @@",
        "+noted 1",
    ]
    assert call.lines()[:2] == ["--- turn 3 assistant, original, 71 tokens", "+++ /dev/null"]


def test_an_unknown_revision_is_an_error_that_says_which_there_are(run: Path) -> None:
    with journal(run, write=False) as reader:
        for number in (0, 5):
            with pytest.raises(
                JournalError, match=f"no revision {number} in this run; there are 1 to 4"
            ):
                diff(reader, number)
    with (
        SQLiteJournal(run.parent / "other") as blank,
        pytest.raises(JournalError, match="none has been applied"),
    ):
        diff(blank, 1)
