"""Where the file may lie, what is made, and what is removed again."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from contextfile_world import more, says, shown, story

import redraft
from redraft.contextfile import END, Mirror, Refused, Untouched, render, safe_io
from redraft.errors import ContextFileError

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def python(script: str, *args: str) -> str:
    """Run a script in a process of its own; its last line tells what it saw."""
    here = str(Path(__file__).parent)
    source = str(Path(redraft.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *args],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, here])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_missing_directory_is_made_private_and_removed_at_the_end(tmp_path) -> None:
    place = tmp_path / "deep" / "place"
    with Mirror(place) as mirror:
        assert place.stat().st_mode & 0o777 == 0o700
        assert mirror.directory == place
    assert not place.exists()
    assert place.parent.exists()


def test_a_directory_that_was_there_stays_with_all_that_is_in_it(tmp_path) -> None:
    (tmp_path / "other").write_text("mine")
    with Mirror(tmp_path) as mirror:
        mirror.show(shown(story()))
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_made_directory_that_holds_something_else_by_then_stays(tmp_path) -> None:
    place = tmp_path / "place"
    with Mirror(place):
        (place / "other").write_text("mine")
    assert [path.name for path in place.iterdir()] == ["other"]


def test_a_temporary_directory_goes_with_all_that_commands_left_in_it() -> None:
    with Mirror() as mirror:
        (mirror.directory / "sub").mkdir()
        (mirror.directory / "sub" / "x").touch()
    assert not mirror.directory.exists()
    mirror.close()


def test_closing_follows_no_link(tmp_path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "x").touch()
    mirror = Mirror()
    (mirror.directory / "link").symlink_to(tmp_path / "precious")
    mirror.path.unlink()
    mirror.path.symlink_to(tmp_path / "precious" / "x")
    mirror.close()
    assert not mirror.directory.exists()
    assert (tmp_path / "precious" / "x").exists()


def test_a_forgotten_mirror_cleans_up() -> None:
    mirror = Mirror()
    place = mirror.directory
    del mirror
    gc.collect()
    assert not place.exists()


def test_a_process_that_ends_cleans_up_and_its_children_do_not(tmp_path) -> None:
    script = """
        import os, sys
        from redraft.contextfile import Mirror
        mirror = Mirror()
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        print(mirror.directory, mirror.path.exists())
    """
    place, there = python(script).split()
    assert there == "True"
    assert not Path(place).exists()


def test_a_relative_directory_is_made_absolute(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Mirror(Path("place")) as mirror:
        monkeypatch.chdir("/")
        mirror.show(shown(story()))
        assert mirror.path == tmp_path / "place" / "LIVE_CTX_MAIN.txt"


def test_a_link_or_a_file_is_no_directory(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    for name in ("link", "dangling", "file"):
        with pytest.raises(ContextFileError, match="name a directory of your own") as caught:
            Mirror(tmp_path / name)
        assert caught.value.errno in (errno.ENOTDIR, errno.ELOOP)
    with pytest.raises(ContextFileError, match="may write to"):
        Mirror(tmp_path / "file" / "below")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_directory_that_others_can_write_to_is_refused(tmp_path, mode) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ContextFileError, match=r"everyone can write to .* run `chmod go-w"):
        Mirror(tmp_path)


def test_a_directory_that_others_can_only_look_into_will_do(tmp_path) -> None:
    tmp_path.chmod(0o755)
    Mirror(tmp_path).close()


@needs_root
def test_a_group_that_can_write_is_refused_unless_it_is_the_users_own(tmp_path) -> None:
    tmp_path.chmod(0o770)
    Mirror(tmp_path).close()  # root's own group
    os.chown(tmp_path, -1, NOBODY)
    with pytest.raises(ContextFileError, match="its group can write to"):
        Mirror(tmp_path)


@needs_root
def test_a_directory_of_another_user_is_refused(tmp_path) -> None:
    os.chown(tmp_path, NOBODY, -1)
    with pytest.raises(ContextFileError, match="belongs to another user"):
        Mirror(tmp_path)


@needs_root
def test_a_file_that_got_another_owner_is_refused() -> None:
    live = story()
    with Mirror() as mirror:
        mirror.show(shown(live))
        os.chown(mirror.path, NOBODY, -1)
        reading = mirror.read()
        assert isinstance(reading, Refused)
        assert reading.rule == "the file belongs to another user"
        mirror.show(shown(live))
        assert mirror.read() == Untouched()


@needs_root
def test_a_file_without_the_right_to_read_it_is_refused_and_restored() -> None:
    script = f"""
        import os
        from contextfile_world import shown, story
        from redraft.contextfile import Mirror
        os.setgid({NOBODY}); os.setuid({NOBODY})
        with Mirror() as mirror:
            mirror.show(shown(story()))
            mirror.path.chmod(0)
            print(mirror.read().rule)
            mirror.show(shown(story()))
            print(mirror.read(named=True))
    """
    assert python(script).splitlines() == [
        "the file cannot be read (Permission denied)",
        "Untouched()",
    ]


@needs_root
def test_a_directory_without_the_right_to_write_is_made_writable_again(tmp_path) -> None:
    script = f"""
        import os
        from contextfile_world import shown, story
        from redraft.contextfile import Mirror
        os.setgid({NOBODY}); os.setuid({NOBODY})
        with Mirror() as mirror:
            mirror.directory.chmod(0o500)
            mirror.show(shown(story()))
            print(mirror.read(named=True), oct(mirror.directory.stat().st_mode & 0o777))
            try:
                Mirror("/proc/redraft")
            except OSError as error:
                print(error)
    """
    first, second = python(script).splitlines()
    assert first == "Untouched() 0o700"
    assert second.endswith("name a directory that you may write to")


def test_whatever_stands_at_the_files_place_is_refused_and_left_alone(tmp_path) -> None:
    path = tmp_path / "LIVE_CTX_MAIN.txt"
    for make, take in (
        (lambda: path.write_text("mine"), path.unlink),
        (lambda: path.symlink_to("nowhere"), path.unlink),
        (lambda: os.mkfifo(path), path.unlink),
        (path.mkdir, path.rmdir),
    ):
        make()
        with pytest.raises(ContextFileError, match=r"is taken: .*; move it away") as caught:
            Mirror(tmp_path)
        assert caught.value.errno == errno.EEXIST
        gc.collect()
        assert os.path.lexists(path)
        if not path.is_file():
            with pytest.raises(ContextFileError, match="is taken"):
                Mirror(tmp_path, takeover=True)
        take()
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_session_takes_over_the_file_that_was_left(tmp_path) -> None:
    path = tmp_path / "LIVE_CTX_MAIN.txt"
    path.write_text("[[CTX_TURN 3 role=user]]\nleft over\n")
    path.chmod(0o644)
    with Mirror(tmp_path, takeover=True) as mirror:
        assert mirror.read(named=True) == Untouched()
        assert not mirror.changed()
        mirror.show(shown(story()))
        assert path.read_bytes() == render(shown(story()))
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()
    Mirror(tmp_path, takeover=True).close()


@needs_root
def test_a_file_of_another_user_is_not_taken_over(tmp_path) -> None:
    path = tmp_path / "LIVE_CTX_MAIN.txt"
    path.touch()
    os.chown(path, NOBODY, -1)
    with pytest.raises(ContextFileError, match="is taken"):
        Mirror(tmp_path, takeover=True)
    assert path.exists()


def test_the_umask_has_no_say(tmp_path) -> None:
    old = os.umask(0o377)
    try:
        with Mirror(tmp_path) as mirror:
            assert mirror.path.stat().st_mode & 0o777 == 0o600
            mirror.show(shown(story()))
            assert mirror.path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(old)


FULL = """
    import errno, resource, sys
    from contextfile_world import more, says, shown, story
    from redraft.contextfile import END, Mirror, Untouched, render
    from redraft.errors import ContextFileError

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    live = story()
    with Mirror() as mirror:
        mirror.show(shown(live))
        old = mirror.path.read_bytes()
        longer = more(live, says("x" * 5000, "user"))
        turns = shown(longer) if sys.argv[1] == "append" else shown(longer)[1:]
        for room in (0, 1, 7, 12, 13, 100, 4000):
            limit(len(old) - len(END) + room if sys.argv[1] == "append" else room)
            try:
                mirror.show(turns)
            except ContextFileError as error:
                assert error.errno == errno.EFBIG, error
                assert str(error).endswith("then go on"), error
            else:
                raise AssertionError("it was written all the same")
            assert mirror.path.read_bytes() == old
            assert [path.name for path in mirror.directory.iterdir()] == [mirror.path.name]
            assert mirror.read() == Untouched()
            limit(resource.RLIM_INFINITY)
            mirror.show(shown(live))
        mirror.show(turns)
        assert mirror.path.read_bytes() == render(turns)
        assert mirror.read(named=True) == Untouched()
        print("fine")
"""


@pytest.mark.parametrize("how", ["append", "replace"])
def test_a_disk_that_is_full_leaves_the_old_file_and_an_error_with_advice(how) -> None:
    assert python(FULL, how) == "fine"


def test_an_interrupted_extension_is_written_anew_next_time(monkeypatch) -> None:
    live = story()
    longer = more(live, says("next", "user"))
    real = os.pwrite
    with Mirror() as mirror:
        mirror.show(shown(live))
        steps = iter([real, None])

        def broken(fd: int, data: bytes, at: int) -> int:
            step = next(steps)
            if step is None:
                raise KeyboardInterrupt
            return step(fd, data, at)

        # The end mark cannot be written over, nor can the old bytes be put back.
        monkeypatch.setattr(safe_io.os, "pwrite", broken)
        monkeypatch.setattr(
            safe_io.os, "ftruncate", lambda fd, size: (_ for _ in ()).throw(OSError())
        )
        with pytest.raises(KeyboardInterrupt):
            mirror.show(shown(longer))
        monkeypatch.undo()
        assert isinstance(mirror.read(), Refused)  # what stands there is nobody's edit
        mirror.show(shown(longer))
        assert mirror.path.read_bytes() == render(shown(longer))


def test_a_place_that_cannot_be_restored_is_an_error_with_advice(tmp_path) -> None:
    place = tmp_path / "place"
    mirror = Mirror(place)
    mirror.path.unlink()
    place.rmdir()
    (tmp_path / "blocked").touch()
    tmp_path.rename(tmp_path.with_name("gone"))
    tmp_path.touch()
    try:
        with pytest.raises(ContextFileError, match=r"remove what stands there|may write to"):
            mirror.show([])
    finally:
        tmp_path.unlink()
        tmp_path.with_name("gone").rename(tmp_path)
    mirror.show([])
    assert mirror.path.read_bytes() == END
    mirror.close()
    assert not place.exists()
