"""Where runs live, what they are called, which one is meant, and which of them go."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from store_world import journal, live_of, rounds, started

from redraft.errors import JournalError
from redraft.events import RunEnded
from redraft.store import (
    Opened,
    Pinned,
    Sent,
    Told,
    find_run,
    gc_runs,
    list_runs,
    new_run,
    run_info,
    runs_home,
)

DAY = 86_400.0
NOON = 1_796_040_000.0  # 2026-11-30, noon UTC


def make(
    home: Path, name: str, *, at: float = NOON, size: int = 0, ended: str = "finished"
) -> Path:
    """A run that was active last at that time, and takes so many bytes more than it must."""
    directory = home / name
    with journal(directory, clock=lambda: at) as writer:
        writer.record(Opened({"model": "gpt-5", "tag": "beef"}))
        writer.record(started(live_of(rounds(1))))
        if ended:
            writer.record(Told(RunEnded(3, ended, "enough" if ended == "stopped" else "")))
    if size:
        (directory / "context").mkdir()
        (directory / "context" / "LIVE_CTX_MAIN.txt").write_bytes(b"x" * size)
    return directory


# -- where -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "home"),
    [
        ({"REDRAFT_HOME": "/data/redraft", "XDG_STATE_HOME": "/x"}, "/data/redraft/runs"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/home/ana"}, "/x/redraft/runs"),
        ({"HOME": "/home/ana"}, "/home/ana/.local/state/redraft/runs"),
        (
            {"XDG_STATE_HOME": "relative", "HOME": "/home/ana"},
            "/home/ana/.local/state/redraft/runs",
        ),
        ({"REDRAFT_HOME": "", "HOME": "/home/ana"}, "/home/ana/.local/state/redraft/runs"),
    ],
)
def test_runs_live_where_the_environment_says(env: dict[str, str], home: str) -> None:
    assert runs_home(env) == Path(home)


def test_the_process_environment_counts_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "mine"))
    assert runs_home() == tmp_path / "mine" / "runs"
    assert list_runs() == []
    assert new_run().parent == tmp_path / "mine" / "runs"


def test_a_new_run_has_a_name_one_can_say_and_a_directory_of_its_owners(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        directory = new_run(tmp_path / "redraft" / "runs", now=NOON, chance=Random(1))
    finally:
        os.umask(old)
    date, first, second = directory.name.rsplit("-", 2)
    assert date == "2026-11-30"
    assert first.isalpha()
    assert second.isalpha()
    assert [p.stat().st_mode & 0o777 for p in (directory, *list(directory.parents)[:2])] == [
        0o700
    ] * 3


def test_names_differ_even_where_chance_does_not(tmp_path: Path) -> None:
    chances = Random(1), Random(1)
    one, other = (new_run(tmp_path, now=NOON, chance=chance) for chance in chances)
    assert one != other


def test_a_place_that_cannot_hold_runs_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JournalError, match="set REDRAFT_HOME"):
        new_run(tmp_path / "file" / "runs")
    with pytest.raises(JournalError, match="cannot be listed"):
        list_runs(tmp_path / "file")


# -- what a list shows -----------------------------------------------------------------------------------


def test_a_run_is_listed_with_what_one_wants_to_know(tmp_path: Path) -> None:
    make(tmp_path, "2026-11-30-brisk-otter", ended="stopped", size=10_000)
    (run,) = list_runs(tmp_path)
    assert (run.name, run.status, run.why) == ("2026-11-30-brisk-otter", "stopped", "enough")
    assert (run.model, run.task, run.started, run.active) == ("gpt-5", "Do the task.", NOON, NOON)
    assert run.size > 10_000
    assert not run.running


def test_what_else_was_noted_is_listed_too(tmp_path: Path) -> None:
    with journal(make(tmp_path, "run")) as writer:
        writer.set_meta(sandbox="bubblewrap", workdir="/home/ana")
    assert run_info(tmp_path / "run").meta["workdir"] == "/home/ana"


def test_a_run_that_somebody_writes_to_is_running(tmp_path: Path) -> None:
    with journal(make(tmp_path, "run")):
        run = run_info(tmp_path / "run")
        assert (run.status, run.writer, run.running) == ("running", os.getpid(), True)
    assert run_info(tmp_path / "run").status == "finished"


def test_a_run_says_how_its_process_let_go_of_it(tmp_path: Path) -> None:
    make(tmp_path, "closed", ended="")
    assert run_info(tmp_path / "closed").status == "closed"
    with journal(make(tmp_path, "killed", ended="")) as writer:
        writer.set_meta(status="running")
        writer._database.close()
        writer._lock.release()  # type: ignore[union-attr]
        writer._lock = None
    assert run_info(tmp_path / "killed").status == "broken off"


def test_whoever_takes_an_edit_back_leaves_the_run_as_it_ended(tmp_path: Path) -> None:
    run = make(tmp_path, "run", ended="stopped")
    with journal(run) as writer:
        writer.record(Opened({"model": "gpt-5"}))  # as `redraft undo` takes it up
        writer.record(Pinned(frozenset({1})))
    assert (run_info(run).status, run_info(run).why) == ("stopped", "enough")
    with journal(run) as writer:
        writer.record(Sent(1, 2, 3))
    assert (run_info(run).status, run_info(run).why) == ("closed", "")


def test_the_summary_is_written_only_where_it_changes(tmp_path: Path) -> None:
    run = make(tmp_path, "run", ended="stopped")
    with journal(run) as writer:
        writer.record(Sent(1, 2, 3))
        seen: list[str] = []
        writer._database.set_trace_callback(seen.append)
        writer.record(Sent(2, 2, 3))
        writer._database.set_trace_callback(None)
        assert not [statement for statement in seen if "meta" in statement]
        writer.set_meta(status="odd")
        writer.record(Sent(3, 2, 3))
        assert writer.meta()["status"] == "running"


def test_runs_without_a_journal_or_with_a_damaged_one_are_listed(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "journal.db").write_bytes(b"no database\n" * 99)
    (tmp_path / "blank").mkdir()
    journal(tmp_path / "blank").close()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "a file").write_text("not a run")
    found = {run.name: run for run in list_runs(tmp_path)}
    assert {name: run.status for name, run in found.items()} == {
        "nothing": "empty",
        "damaged": "damaged",
        "blank": "empty",
    }
    assert "no journal" in found["damaged"].why


def test_a_run_that_has_no_file_yet_is_as_young_as_its_directory(tmp_path: Path) -> None:
    made = new_run(tmp_path)
    assert run_info(made).active == made.stat().st_mtime
    assert gc_runs(tmp_path, older_than=3600) == []
    assert made.is_dir()


def test_the_run_that_was_active_last_comes_first(tmp_path: Path) -> None:
    make(tmp_path, "2026-11-28-late-fox", at=NOON)
    make(tmp_path, "2026-11-30-early-fox", at=NOON - 1)
    make(tmp_path, "2026-11-29-old-fox", at=NOON - DAY)
    with journal(
        tmp_path / "2026-11-29-old-fox", write=False
    ) as reader:  # looking is not being active
        list(reader.entries())
    assert [run.name[11:] for run in list_runs(tmp_path)] == ["late-fox", "early-fox", "old-fox"]


# -- which one is meant ------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make(tmp_path, "2026-11-29-brisk-otter", at=NOON - DAY)
    make(tmp_path, "2026-11-30-brisk-owl", at=NOON)
    make(tmp_path, "2026-11-30-calm-otter", at=NOON - 60)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("2026-11-30-calm-otter", "2026-11-30-calm-otter"),
        ("2026-11-29", "2026-11-29-brisk-otter"),
        ("calm", "2026-11-30-calm-otter"),
        ("brisk-ot", "2026-11-29-brisk-otter"),
        ("owl", "2026-11-30-brisk-owl"),
        ("last", "2026-11-30-brisk-owl"),
    ],
)
def test_a_run_is_found_by_its_name_or_the_beginning_of_it(
    home: Path, words: str, name: str
) -> None:
    assert find_run(words, home) == home / name


def test_a_run_is_found_by_its_path_wherever_it_lies(home: Path, tmp_path: Path) -> None:
    assert (
        find_run(f"{home}/2026-11-29-brisk-otter", Path("/nowhere"))
        == home / "2026-11-29-brisk-otter"
    )
    with pytest.raises(JournalError, match=r"no run in .*journal\.db"):
        find_run(f"{tmp_path}/none")


def test_a_name_of_several_runs_is_an_error_that_lists_them(home: Path) -> None:
    with pytest.raises(JournalError, match=r"'brisk' may be .*brisk-owl.*brisk-otter; give more"):
        find_run("brisk", home)


def test_a_name_that_is_another_ones_beginning_means_itself(home: Path) -> None:
    make(home, "2026-11-30-calm-otter-2")
    assert find_run("2026-11-30-calm-otter", home).name == "2026-11-30-calm-otter"


@pytest.mark.parametrize("words", ["swift", "", "risk"])
def test_an_unknown_name_is_an_error_that_lists_the_latest(home: Path, words: str) -> None:
    with pytest.raises(JournalError, match="the latest are 2026-11-30-brisk-owl"):
        find_run(words, home)


def test_where_there_are_no_runs_the_error_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="start one with `redraft run`"):
        find_run("last", tmp_path / "none")


# -- which of them go --------------------------------------------------------------------------------------


def names(runs: object) -> list[str]:
    assert isinstance(runs, list)
    return [run.name for run in runs]


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """Seven runs, a day apart, of some 100 KB each; `day-6` is the oldest."""
    for day in range(7):
        make(tmp_path, f"day-{day}", at=NOON - day * DAY, size=100_000)
    return tmp_path


def test_old_runs_go(week: Path) -> None:
    gone = gc_runs(week, older_than=3.5 * DAY, now=NOON)
    assert names(gone) == ["day-6", "day-5", "day-4"]
    assert sorted(place.name for place in week.iterdir()) == ["day-0", "day-1", "day-2", "day-3"]


def test_the_oldest_go_until_the_rest_is_small_enough(week: Path) -> None:
    each = run_info(week / "day-0").size
    assert names(gc_runs(week, larger_than=2 * each + 10, now=NOON)) == [
        f"day-{day}" for day in (6, 5, 4, 3, 2)
    ]


def test_the_latest_are_kept_whatever_the_rules_say(week: Path) -> None:
    gone = gc_runs(week, older_than=0, larger_than=0, keep=5, now=NOON + 9 * DAY)
    assert names(gone) == ["day-6", "day-5"]


def test_a_run_that_is_running_never_goes(week: Path) -> None:
    with journal(week / "day-6"):
        gone = gc_runs(week, older_than=0, now=NOON + DAY)
        assert "day-6" not in names(gone)
        assert len(gone) == 6
    assert (week / "day-6" / "journal.db").exists()


def test_a_dry_run_says_what_would_go_and_removes_nothing(week: Path) -> None:
    would = gc_runs(week, older_than=3.5 * DAY, dry_run=True, now=NOON)
    assert len(list(week.iterdir())) == 7
    assert names(would) == names(gc_runs(week, older_than=3.5 * DAY, now=NOON))


def test_without_a_rule_nothing_goes(week: Path) -> None:
    assert gc_runs(week, now=NOON + 99 * DAY) == []
    assert gc_runs(week / "none", older_than=0) == []


def test_a_damaged_run_goes_by_its_age_too(week: Path) -> None:
    path = week / "day-6" / "journal.db"
    path.write_bytes(b"no database\n" * 99)
    for file in (path, week / "day-6" / "lock", week / "day-6" / "context" / "LIVE_CTX_MAIN.txt"):
        os.utime(file, (NOON - 9 * DAY, NOON - 9 * DAY))
    assert names(gc_runs(week, older_than=8 * DAY, now=NOON)) == ["day-6"]


def test_what_an_earlier_removal_left_behind_goes_with_the_next(week: Path) -> None:
    (week / ".gone-day-9-1").mkdir()
    gc_runs(week, older_than=99 * DAY, now=NOON)
    assert not (week / ".gone-day-9-1").exists()
