"""`redraft` as a process: signals, pipes and terminals."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_world import EDIT, process, say, script

from redraft import __version__
from redraft.testing import FakeServer, Fault

_PATIENCE = 30.0


def arguments(server: FakeServer, *more: str) -> list[str]:
    return ["run", "Do it.", "-m", "m", "--base-url", server.base_url, "--budget", "12000", *more]


def until(true: Callable[[], object]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + _PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


def alive(number: str) -> bool:
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


SLOW = (
    'sleep 300 & echo $! > child; echo $$ > shell; echo "$REDRAFT_CONTEXT_FILE" > file; sleep 300'
)


@contextmanager
def stopped_in_a_command(place: Path, number: signal.Signals, *more: str) -> Iterator[Any]:
    """A run that gets a signal, alone, while its second command runs."""
    with script("echo first", SLOW) as server:
        run = process(*arguments(server, *more), cwd=place)
        try:
            until(lambda: (place / "file").exists() and (place / "file").read_text())
            run.send_signal(number)
            run.out, run.err = (text.decode() for text in run.communicate(timeout=_PATIENCE))
        finally:
            run.kill()
            run.wait()
    yield run


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")],
)
def test_a_signal_stops_commands_removes_the_file_and_reports_what_there_is(
    tmp_path: Path, number: signal.Signals, code: int, word: str
) -> None:
    with stopped_in_a_command(tmp_path, number, "--json") as run:
        assert run.returncode == code
        assert run.err.splitlines()[-1] == f"redraft: {word}"
        assert "Traceback" not in run.err
        told = json.loads(run.out)
        assert (told["status"], told["exit_code"]) == ("interrupted", code)
        assert told["metrics"]["commands"] == 1
        assert "interrupted: 2 steps of 200" in run.err
    shell, child = ((tmp_path / name).read_text().strip() for name in ("shell", "child"))
    until(lambda: not alive(shell) and not alive(child))
    assert not Path((tmp_path / "file").read_text().strip()).exists()


def test_ctrl_c_while_the_model_thinks(tmp_path: Path) -> None:
    with script(faults=[Fault.timeout(300)]) as server:
        run = process(*arguments(server), cwd=tmp_path)
        until(lambda: server.bodies)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=_PATIENCE)
    assert (run.returncode, out) == (130, b"")
    assert err.decode().splitlines()[-1] == "redraft: interrupted"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with script(say("an answer\n" * 50_000)) as server:
        run = process(*arguments(server, "--quiet"), cwd=tmp_path)
        run.stdout.close()
        err = run.stderr.read()
        assert (run.wait(_PATIENCE), err) == (0, b"")
        run.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written_is_an_error_of_the_place(tmp_path: Path) -> None:
    with script() as server, Path("/dev/full").open("wb") as full:
        run = process(*arguments(server), cwd=tmp_path, stdout=full)
        _, err = run.communicate(timeout=_PATIENCE)
    assert run.returncode == 4
    assert b"Traceback" not in err
    assert b"standard output cannot be written: No space left" in err.splitlines()[-1]


def on_a_terminal(server: FakeServer, place: Path, **env: str) -> tuple[int, str]:
    """A run whose outputs are a terminal of 70 columns; its exit code and what it showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    # The test runner's own width must not win over that of the terminal.
    env = {"TERM": "xterm", "COLUMNS": "", "LINES": "", **env}
    run = process(*arguments(server), stdout=theirs, stderr=theirs, cwd=place, env=env)
    os.close(theirs)
    shown = bytearray()
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:  # how Linux says that nobody holds the other end any more
        pass
    os.close(ours)
    run.stdout, run.stderr = None, None
    return run.wait(_PATIENCE), shown.decode()


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]m")


def test_a_terminal_shows_the_fill_and_the_edits_as_they_land(tmp_path: Path) -> None:
    with script("seq 1 900", EDIT, f"echo {'long ' * 60}; sleep 0.5") as server:
        code, shown = on_a_terminal(server, tmp_path)
    assert code == 0
    assert re.search(r" / 9,952 tokens .*step \d of 200", shown)
    assert "edit 1 applied: " in shown
    assert COLOUR.search(shown)
    assert shown.endswith("done\r\n")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", shown)
    commands = [line for line in re.split(r"[\r\n]+", plain) if "$ echo long" in line]
    assert commands
    assert all(len(line) <= 70 and line.endswith("\N{HORIZONTAL ELLIPSIS}") for line in commands)


def test_no_color_is_obeyed_and_an_answer_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with script("seq 1 900", EDIT, say("red \x1b[31m alert \x07\ttabbed\nnext")) as server:
        code, shown = on_a_terminal(server, tmp_path, NO_COLOR="1")
    assert code == 0
    assert "edit 1 applied: " in shown
    assert "red \N{REPLACEMENT CHARACTER}[31m alert \N{REPLACEMENT CHARACTER}" in shown
    assert not COLOUR.search(shown)


def test_without_a_terminal_there_are_lines_only_in_whatever_encoding(tmp_path: Path) -> None:
    """What the encoding cannot hold is replaced, and nothing is lost for it."""
    e_acute = "\N{LATIN SMALL LETTER E WITH ACUTE}"
    with script("seq 1 900", EDIT, f"echo {e_acute}", say(f"caf{e_acute}")) as server:
        run = process(*arguments(server), cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
        out, err = run.communicate(timeout=_PATIENCE)
    assert (run.returncode, out) == (0, b"caf?\n")
    assert b"edit 1 applied: " in err
    assert b"\x1b" not in err
    assert b"\r" not in err


def test_the_version_is_printed() -> None:
    out, err = (run := process("--version")).communicate(timeout=_PATIENCE)
    assert (run.returncode, out, err) == (0, f"redraft {__version__}\n".encode(), b"")
