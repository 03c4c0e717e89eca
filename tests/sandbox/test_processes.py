"""Ending a session ends that session and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redraft.sandbox.processes import end_session, members, read_stat

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes under /proc")


def test_what_a_shell_left_behind_is_ended() -> None:
    script = "sleep 300 & (trap '' TERM; sleep 300) & exit"
    with subprocess.Popen(["bash", "-c", script], start_new_session=True) as shell:
        shell.wait()
        assert len(members(shell.pid)) >= 2
        end_session(shell.pid, 0.2)
        # Killed at the end; the last of them may still be going.
        left = [stat for m in members(shell.pid) if (stat := read_stat(Path(f"/proc/{m}")))]
        assert all(stat.state in b"RDX" for stat in left)


def test_a_session_whose_first_process_lives_is_another_of_the_same_number() -> None:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as stranger:
        end_session(stranger.pid, 0.2)
        assert stranger.poll() is None
        stranger.kill()


def test_a_session_that_is_gone_is_no_trouble() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as shell:
        shell.wait()
    end_session(shell.pid, 0.2)


def test_a_name_with_spaces_and_brackets_is_no_trouble(tmp_path: Path) -> None:
    program = tmp_path / "a ) S 1 ("
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "300"], start_new_session=True) as process:
        stat = read_stat(Path(f"/proc/{process.pid}"))
        assert stat is not None
        assert (stat.session, stat.threads, stat.dead) == (process.pid, 1, False)
        process.kill()
        while not (stat := read_stat(Path(f"/proc/{process.pid}"))) or not stat.dead:
            pass
    assert read_stat(Path(f"/proc/{process.pid}")) is None
