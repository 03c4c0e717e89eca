from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from contextfile_world import (
    calls,
    live_of,
    meaning,
    more,
    numbers,
    result,
    says,
    shown,
    story,
    texts,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.context import Block, Commit, Live, commit, reconcile
from redraft.contextfile import END, Edited, Mirror, Reading, Refused, Untouched, render
from redraft.contextfile.safe_io import HEAD_CAP, MARK_NS
from redraft.errors import ContextFileError, SettingsError


@pytest.fixture
def mirror():
    with Mirror() as made:
        yield made


def edited(reading: Reading) -> Edited:
    assert isinstance(reading, Edited), reading
    return reading


def refused(reading: Reading) -> str:
    assert isinstance(reading, Refused), reading
    return reading.rule


def inode(mirror: Mirror) -> int:
    return mirror.path.stat().st_ino


def restored(mirror: Mirror, live: Live) -> None:
    """Showing puts back the true context, whatever stands there."""
    mirror.show(shown(live))
    assert mirror.path.read_bytes() == render(shown(live))
    assert mirror.read() == Untouched()


def test_a_new_mirror_is_an_empty_context_in_a_private_place(mirror) -> None:
    assert mirror.path.read_bytes() == END
    assert mirror.path.name == "LIVE_CTX_MAIN.txt"
    assert mirror.path.is_absolute()
    assert mirror.directory.stat().st_mode & 0o777 == 0o700
    assert mirror.path.stat().st_mode & 0o777 == 0o600
    assert mirror.env == {"REDRAFT_CONTEXT_FILE": str(mirror.path)}
    assert mirror.read() == Untouched()


def test_the_file_holds_what_is_shown(mirror) -> None:
    restored(mirror, story())


def test_new_turns_are_written_in_place(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    before = inode(mirror)
    for at in range(3):
        live = more(live, says(f"next {at}", "user"), says(f"answer {at}"))
        restored(mirror, live)
        assert inode(mirror) == before


def test_new_turns_are_rendered_once_and_old_ones_not_again(mirror, monkeypatch) -> None:
    live = story()
    mirror.show(shown(live))
    made = []
    from redraft.contextfile import mirror as module

    real = module.render_turn
    monkeypatch.setattr(module, "render_turn", lambda turn: made.append(turn.number) or real(turn))
    live = more(live, says("next", "user"))
    mirror.show(shown(live))
    assert made == [10]
    mirror.show(shown(live)[2:])
    assert made == [10]


def test_showing_the_same_again_writes_nothing(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    before = mirror.path.stat()
    mirror.show(shown(live))
    mirror.show(list(shown(live)))
    after = mirror.path.stat()
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)


def test_turns_that_look_the_same_write_nothing_and_count_as_shown(mirror) -> None:
    mirror.show(shown(story()))
    before = mirror.path.stat().st_ctime_ns
    again = shown(story())
    mirror.show(again)
    assert mirror.path.stat().st_ctime_ns == before
    mirror.path.write_bytes(mirror.path.read_bytes().replace(b"done", b"finished"))
    assert edited(mirror.read()).window == again[-1:]


def test_a_changed_turn_replaces_the_file(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    before = inode(mirror)
    mirror.show(shown(live)[1:])
    assert mirror.path.read_bytes() == render(shown(live)[1:])
    assert inode(mirror) != before


def test_every_write_leaves_a_time_that_no_later_write_leaves_by_itself(mirror) -> None:
    live = story()
    for step in (shown(live)[:3], shown(live), shown(live)[2:]):
        mirror.show(step)
        assert mirror.path.stat().st_mtime_ns == MARK_NS
    mirror.path.write_bytes(mirror.path.read_bytes())
    assert mirror.path.stat().st_mtime_ns != MARK_NS


def test_a_write_of_equal_length_at_once_after_showing_is_noticed(mirror) -> None:
    live = story()
    for _ in range(50):
        mirror.show(shown(live))
        with mirror.path.open("r+b") as file:
            file.seek(40)
            file.write(b"!")
        assert isinstance(mirror.read(), Edited)
        restored(mirror, live)


def test_attributes_show_what_a_turn_costs_and_what_stands_behind_it() -> None:
    live = live_of(says("one two"), says("three", "user"))
    first, second = shown(live)
    with Mirror(attributes=True) as mirror:
        mirror.show([first])
        mirror.show([first, second])
        assert mirror.path.read_text().splitlines()[::3] == [
            f"[[CTX_TURN 3 role=assistant tokens={first.tokens} after={second.tokens}]]",
            f"[[CTX_TURN 4 role=user tokens={second.tokens} after=0]]",
            "[[CTX_END]]",
        ]
        assert mirror.read() == Untouched()


def test_an_edit_is_read_as_its_window(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    mirror.path.write_bytes(mirror.path.read_bytes().replace(b"out 1\nline", b"short"))
    reading = edited(mirror.read())
    assert numbers(reading.window) == [6]
    assert texts(reading.blocks) == ["short"]
    assert reading.data == b"[[CTX_TURN 6 role=tool]]\nshort\n\n"


def test_a_touched_file_with_the_same_bytes_is_untouched_and_still_watched(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    mirror.path.touch()
    assert mirror.read() == Untouched()
    assert mirror.read(killed=True) == Untouched()
    mirror.path.write_bytes(mirror.path.read_bytes().replace(b"done", b"over"))
    assert isinstance(mirror.read(), Edited)
    restored(mirror, live)


def test_a_file_that_a_command_named_is_compared_even_where_its_times_stand_still(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    data = mirror.path.read_bytes()
    with mirror.path.open("r+b") as file:
        file.write(data.replace(b"look 0", b"LOOK 0"))
    status = mirror.path.stat()
    # As if the clock had stood still: what is known of the file is what it has now.
    mirror._known = _signature_of(mirror, status)
    assert mirror.read() == Untouched()
    assert isinstance(mirror.read(named=True), Edited)


def _signature_of(mirror: Mirror, status: os.stat_result) -> tuple[int, ...]:
    from redraft.contextfile.safe_io import signature

    dir_fd = os.open(mirror.directory, os.O_RDONLY)
    try:
        return signature(mirror.path.name, dir_fd) or ()
    finally:
        os.close(dir_fd)


def test_a_named_file_that_nobody_changed_is_untouched(mirror) -> None:
    mirror.show(shown(story()))
    assert mirror.read(named=True, failed=True, killed=True) == Untouched()


def test_nothing_is_read_twice(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    with mirror.path.open("a") as file:
        file.write("a note\n")
    assert isinstance(mirror.read(), Edited)
    assert not mirror.changed()
    assert mirror.read() == Untouched()
    assert mirror.read(named=True) == Untouched()
    with mirror.path.open("a") as file:
        file.write("another\n")
    assert mirror.changed()
    assert "brought up to date" in refused(mirror.read())
    restored(mirror, live)


def test_a_late_edit_is_noticed_before_the_next_showing(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    assert mirror.read() == Untouched()
    assert not mirror.changed()
    with mirror.path.open("a") as file:
        file.write("a late note\n")
    assert mirror.changed()
    later = more(live, says("meanwhile", "user"))
    reading = edited(mirror.read())
    revision = reconcile(later, reading.window, reading.blocks)
    assert [insert.after for insert in revision.inserts] == [9]
    assert not revision.changes
    restored(mirror, later)


def test_a_whole_session_of_edits_leaves_file_and_context_in_step(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    for old, new in ((b"out 0\nline", b"short"), (b"look 1", b"saw 1"), (b"done", b"")):
        data = mirror.path.read_bytes()
        assert old in data
        mirror.path.write_bytes(data.replace(old, new))
        reading = edited(mirror.read())
        outcome = commit(live, reconcile(live, reading.window, reading.blocks), 10**6)
        assert isinstance(outcome, Commit)
        live = outcome.live
        restored(mirror, live)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_showing_any_sequence_of_contexts_writes_each_as_it_is(data) -> None:
    live = story()
    with Mirror() as mirror:
        for _ in range(data.draw(st.integers(1, 5))):
            turns = list(shown(live))
            match data.draw(st.sampled_from(["more", "less", "shuffle", "same", "write"])):
                case "more":
                    live = more(live, calls("x", "y", name="n"), result("z", name="n"))
                    turns = list(shown(live))
                case "less":
                    turns = turns[: data.draw(st.integers(0, len(turns)))]
                case "shuffle":
                    random.Random(data.draw(st.integers())).shuffle(turns)
                case "write":
                    mirror.path.write_bytes(data.draw(st.binary(max_size=40)))
                    mirror.read()
            mirror.show(turns)
            assert mirror.path.read_bytes() == render(turns)
            assert mirror.read(named=True) == Untouched()
            assert sorted(path.name for path in mirror.directory.iterdir()) == [mirror.path.name]


def test_an_empty_file_is_refused_and_a_file_of_blanks_too(mirror) -> None:
    live = story()
    for data in (b"", b"\n", b" \r\n\t"):
        mirror.show(shown(live))
        mirror.path.write_bytes(data)
        assert "empty" in refused(mirror.read())
        restored(mirror, live)


def test_an_end_mark_alone_means_that_everything_goes(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    mirror.path.write_bytes(END)
    reading = edited(mirror.read())
    assert reading.window == shown(live)
    assert reading.blocks == ()


def test_invalid_utf8_is_refused_with_the_bytes_kept_for_the_record(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    data = mirror.path.read_bytes().replace(b"out 1", b"out \xff")
    mirror.path.write_bytes(data)
    reading = mirror.read()
    assert "UTF-8" in refused(reading)
    assert isinstance(reading, Refused)
    assert reading.data == data
    restored(mirror, live)


def test_a_missing_end_mark_is_refused_only_after_a_command_that_failed(mirror) -> None:
    live = story()
    for failed in (True, False):
        mirror.show(shown(live))
        mirror.path.write_bytes(mirror.path.read_bytes().removesuffix(END))
        reading = mirror.read(failed=failed)
        if failed:
            assert "end mark" in refused(reading)
        else:
            assert edited(reading).window == shown(live)[-1:]
    mirror.show(shown(live))
    mirror.path.write_bytes(mirror.path.read_bytes().replace(b"done", b"over"))
    assert isinstance(mirror.read(failed=True), Edited)


def test_whatever_a_killed_command_left_is_refused(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    mirror.path.write_bytes(mirror.path.read_bytes().replace(b"done", b"over"))
    assert "killed" in refused(mirror.read(killed=True))
    restored(mirror, live)


def test_a_file_over_the_limit_is_refused_and_only_its_head_is_kept() -> None:
    live = story()
    with Mirror(max_bytes=1000) as mirror:
        mirror.show(shown(live))
        with mirror.path.open("ab") as file:
            file.write(b"x" * 1000)
        assert "1000 bytes" in refused(mirror.read())
        restored(mirror, live)
        with mirror.path.open("ab") as file:
            file.truncate(2 * 1024**3)
        reading = mirror.read()
        assert isinstance(reading, Refused)
        assert len(reading.data) == HEAD_CAP
        restored(mirror, live)


def test_a_context_over_the_limit_can_still_be_cut_down() -> None:
    live = story()
    with Mirror(max_bytes=10) as mirror:
        mirror.show(shown(live))
        mirror.path.write_bytes(mirror.path.read_bytes().replace(b"done", b""))
        assert edited(mirror.read()).window == shown(live)[-1:]
        restored(mirror, live)
        mirror.path.write_bytes(mirror.path.read_bytes() + b"more")
        assert "larger" in refused(mirror.read())


def test_what_is_read_by_window_means_what_the_whole_file_means(mirror) -> None:
    live = story()
    mirror.show(shown(live))
    data = mirror.path.read_bytes().replace(b"look 1", b"saw 1").replace(b"done", b"over")
    mirror.path.write_bytes(data + b"note\n")
    reading = edited(mirror.read())
    from redraft.contextfile import Parsed, parse

    whole = parse(data + b"note\n")
    assert isinstance(whole, Parsed)
    assert meaning(reconcile(live, reading.window, reading.blocks)) == meaning(
        reconcile(live, shown(live), whole.blocks)
    )
    assert reading.blocks[-1] == Block("note")


@pytest.mark.parametrize("name", ["", "../x", "a b", "a.b", "né", "x" * 101, "a\n"])
def test_a_name_that_is_no_word_is_an_error(name) -> None:
    with pytest.raises(SettingsError, match="letters, digits"):
        Mirror(name=name)


def test_a_limit_below_one_byte_is_an_error() -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        Mirror(max_bytes=0)


def test_agents_have_files_of_their_own_in_one_directory(tmp_path) -> None:
    with Mirror(tmp_path / "d") as one, Mirror(tmp_path / "d", name="scout_2") as two:
        assert two.path == tmp_path / "d" / "LIVE_CTX_SCOUT_2.txt"
        two.show(shown(story()))
        assert one.read() == Untouched()


def test_a_closed_mirror_says_so(mirror) -> None:
    mirror.close()
    for use in (lambda: mirror.show([]), mirror.read, mirror.changed):
        with pytest.raises(ContextFileError, match="make a new Mirror"):
            use()
    assert not Path(mirror.directory).exists()
