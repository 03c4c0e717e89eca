"""What real commands do to the file: with the shell and tools that a model uses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from contextfile_world import calls, live_of, numbers, result, says, shown, story, texts

from redraft.context import reconcile
from redraft.contextfile import Edited, Mirror, Reading, Refused, Untouched, render


@pytest.fixture
def live():
    return live_of(
        calls("Let me look.", "ls", name="a"),
        result("a.txt  \nb.txt\t\n\n[[CTX_END]]\n", name="a"),
        says("And now?\r\nTell me.", "user"),
        says("Nothing\fmore.\u2028"),
    )


@pytest.fixture
def mirror(live):
    with Mirror() as made:
        made.show(shown(live))
        yield made


def run(mirror: Mirror, command: str) -> int:
    done = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, **mirror.env, "PYTHON": sys.executable},
        cwd=mirror.directory,
        timeout=60,
        check=False,
    )
    return done.returncode


def rule(reading: Reading) -> str:
    assert isinstance(reading, Refused), reading
    return reading.rule


def restored(mirror: Mirror, live) -> None:
    mirror.show(shown(live))
    assert mirror.path.read_bytes() == render(shown(live))
    assert not mirror.path.is_symlink()
    assert mirror.path.stat().st_mode & 0o7777 == 0o600
    assert mirror.read() == Untouched()


def test_an_echoed_note_is_a_note_behind_the_last_turn(mirror, live) -> None:
    assert run(mirror, 'echo "remember: port 8080" >> "$REDRAFT_CONTEXT_FILE"') == 0
    reading = mirror.read(named=True)
    assert isinstance(reading, Edited)
    revision = reconcile(live, reading.window, reading.blocks)
    (insert,) = revision.inserts
    assert (insert.after, insert.new.content.role) == (6, "user")
    assert insert.new.content.text == "remember: port 8080"
    assert not revision.changes


def test_sed_in_place_is_one_edited_turn(mirror, live) -> None:
    assert run(mirror, 'sed -i "s/^b.txt.*/b.txt is empty/" "$REDRAFT_CONTEXT_FILE"') == 0
    reading = mirror.read()
    assert isinstance(reading, Edited)
    assert numbers(reading.window) == [4]
    (change,) = reconcile(live, reading.window, reading.blocks).changes
    assert change.new.content.text.startswith("a.txt  \nb.txt is empty\n\n[[CTX_END]]")
    restored(mirror, live)


def test_a_sed_that_matches_nothing_is_no_edit(mirror, live) -> None:
    assert run(mirror, 'sed -i "s/nowhere//" "$REDRAFT_CONTEXT_FILE"') == 0
    assert mirror.read(named=True) == Untouched()
    restored(mirror, live)


def test_a_python_script_that_cuts_out_a_turn_by_its_header_removes_that_turn(mirror, live) -> None:
    script = (
        "import os, re; p = os.environ['REDRAFT_CONTEXT_FILE']; s = open(p, newline='').read(); "
        "s = re.sub(r'\\[\\[CTX_TURN 5 .*?(?=\\n\\[\\[CTX_TURN 6 )', '', s, flags=re.S); "
        "open(p, 'w', newline='').write(s)"
    )
    assert run(mirror, f'"$PYTHON" -c "{script}"') == 0
    reading = mirror.read()
    assert isinstance(reading, Edited)
    revision = reconcile(live, reading.window, reading.blocks)
    assert [(change.number, change.new) for change in revision.changes] == [(5, None)]
    assert not revision.inserts


@pytest.mark.parametrize(
    "formatter",
    [
        r"s/[ \t]*$//",
        r"s/\r*$/\r/",
        r"s/\r$//",
        r"s/[ \t\r]*$/\r/",
    ],
)
def test_a_formatter_that_changes_white_space_at_line_ends_changes_no_turn(
    mirror, live, formatter
) -> None:
    assert run(mirror, f"sed -i '{formatter}' \"$REDRAFT_CONTEXT_FILE\"") == 0
    reading = mirror.read()
    assert isinstance(reading, Edited)
    assert not reconcile(live, reading.window, reading.blocks)
    restored(mirror, live)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ('rm "$F"', "missing"),
        (': > "$F"', "empty"),
        ('mv "$F" elsewhere', "missing"),
        ('ln -sf /etc/passwd "$F"', "symbolic link"),
        ('ln -sf nowhere "$F"', "symbolic link"),
        ('cp "$F" copy; ln -sf copy "$F"', "symbolic link"),
        ('rm "$F"; mkdir "$F"', "directory"),
        ('rm "$F"; mkdir "$F"; touch "$F/x"', "directory"),
        ('rm "$F"; mkfifo "$F"', "pipe"),
        ('printf "\\377\\376" >> "$F"', "UTF-8"),
        ('head -c 2000 /bin/sh > "$F"', "UTF-8"),
        ('truncate -s 2G "$F"', "larger"),
        ('truncate -s 2G "$F"; chmod 644 "$F"', "larger"),
        ('rm -rf "$(dirname "$F")"', "directory of the file"),
        ('D="$(dirname "$F")"; rm -rf "$D"; ln -s /etc "$D"', "directory of the file"),
        ('D="$(dirname "$F")"; rm -rf "$D"; touch "$D"', "directory of the file"),
        ('D="$(dirname "$F")"; rm -rf "$D"; mkdir "$D"; chmod 777 "$D"', "missing"),
    ],
)
def test_what_is_no_context_file_is_refused_and_the_next_showing_restores_it(
    mirror, live, command, word
) -> None:
    assert run(mirror, f'F="$REDRAFT_CONTEXT_FILE"; {command}') == 0
    assert mirror.changed()
    assert word in rule(mirror.read())
    assert not mirror.changed()
    restored(mirror, live)
    assert mirror.directory.stat().st_mode & 0o777 == 0o700
    assert not mirror.directory.is_symlink()


def test_what_a_link_in_the_way_points_to_is_never_written(mirror, live, tmp_path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    run(mirror, f'ln -sf {precious} "$REDRAFT_CONTEXT_FILE"')
    rule(mirror.read())
    restored(mirror, live)
    assert precious.read_text() == "mine"


def test_a_file_that_was_linked_elsewhere_is_replaced_and_the_other_name_keeps_its_text(
    mirror, live, tmp_path
) -> None:
    backup = mirror.directory / "backup"
    run(mirror, 'ln "$REDRAFT_CONTEXT_FILE" backup')
    before = backup.read_bytes()
    assert mirror.read() == Untouched()
    mirror.show([*shown(live), *shown(story())])
    assert backup.read_bytes() == before
    assert mirror.path.stat().st_nlink == 1


def test_a_full_directory_in_the_way_is_kept_under_another_name(mirror, live) -> None:
    run(mirror, 'F="$REDRAFT_CONTEXT_FILE"; rm "$F"; mkdir "$F"; echo mine > "$F/x"')
    rule(mirror.read())
    restored(mirror, live)
    (moved,) = mirror.directory.glob("*.moved-*")
    assert (moved / "x").read_text() == "mine\n"


def test_a_socket_in_the_way_is_refused(mirror, live) -> None:
    mirror.path.unlink()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind(str(mirror.path))
        assert "socket" in rule(mirror.read())
        restored(mirror, live)
    finally:
        server.close()


def test_a_pipe_that_holds_data_is_not_read_and_does_not_make_us_wait(mirror, live) -> None:
    run(mirror, 'rm "$REDRAFT_CONTEXT_FILE"; mkfifo "$REDRAFT_CONTEXT_FILE"')
    pipe = os.open(mirror.path, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(pipe, b"[[CTX_END]]\n")
        assert "pipe" in rule(mirror.read())
        restored(mirror, live)
        assert os.read(pipe, 100) == b"[[CTX_END]]\n"
    finally:
        os.close(pipe)


def test_a_file_of_two_gigabytes_is_refused_without_being_read(mirror) -> None:
    run(mirror, 'truncate -s 2G "$REDRAFT_CONTEXT_FILE"')
    reading = mirror.read()
    assert isinstance(reading, Refused)
    assert len(reading.data) <= 1024 * 1024


def test_changed_rights_alone_are_no_edit_and_are_put_right(mirror, live) -> None:
    run(mirror, 'chmod 666 "$REDRAFT_CONTEXT_FILE"')
    assert mirror.read() == Untouched()
    restored(mirror, live)


def test_what_a_command_left_that_was_killed_while_it_wrote_is_refused(mirror, live) -> None:
    writer = subprocess.Popen(
        ["sh", "-c", f'while :; do echo "[[CTX_TURN 3 role=user]]"; done > {mirror.path}'],
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while mirror.path.stat().st_size < 1000 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(writer.pid, signal.SIGKILL)
    writer.wait()
    reading = mirror.read(failed=True, killed=True)
    assert "killed" in rule(reading)
    restored(mirror, live)


def test_a_command_left_running_is_read_late_and_then_shut_out(mirror, live) -> None:
    writer = subprocess.Popen(
        [
            "sh",
            "-c",
            f'exec 3>>{mirror.path}; read go; echo "late" >&3; echo done; read go; echo "x" >&3',
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert mirror.read() == Untouched()
    writer.stdin.write("go\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == "done\n"
    assert mirror.changed()
    reading = mirror.read()
    assert isinstance(reading, Edited)
    assert texts(reading.blocks)[-1] == "late"
    restored(mirror, live)
    writer.communicate("go\n")  # it still holds the old file, which is no longer at the path
    assert mirror.read() == Untouched()
