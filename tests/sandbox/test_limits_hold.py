"""What a contained command cannot use up."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from contained_world import needs_bubblewrap, needs_python, needs_root, python, works_outside

from redraft.sandbox import BubblewrapSandbox, Limits, LocalSandbox, Outcome

pytestmark = [needs_bubblewrap, needs_python]

MIB = 1 << 20
ROOT = os.geteuid() == 0


def run(workdir: Path, command: str, **limits: int) -> Outcome:
    with BubblewrapSandbox(workdir, limits=Limits(**limits), timeout=30) as box:
        outcome = box.run(command)
        # Whatever happened, the next command works.
        assert box.run("echo next").output == "next\n"
        return outcome


def test_a_fork_bomb_is_ended(workdir: Path) -> None:
    # Not shown to work outside. Root is stopped by the watch; for others the kernel refuses to fork.
    outcome = run(workdir, "bomb() { bomb | bomb & }; bomb; exec sleep 3", processes=60)
    if ROOT:
        assert outcome.stopped == "more than 60 processes and threads"
        assert (outcome.exit_code, outcome.timed_out) == (137, False)
        end = "redraft: this command was stopped: more than 60 processes and threads\n"
        assert outcome.output.endswith(end)
    else:
        assert "Resource temporarily unavailable" in outcome.output


def test_threads_count_as_processes(workdir: Path) -> None:
    command = python(
        "import threading, time\n"
        "for _ in range(90): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "time.sleep(1); print('BREACH')"
    )
    assert works_outside(workdir, command)
    outcome = run(workdir, command, processes=60)
    assert outcome.stopped if ROOT else "can't start new thread" in outcome.output


def test_the_processes_of_the_machine_do_not_count(workdir: Path) -> None:
    with BubblewrapSandbox(workdir, limits=Limits(processes=5)) as box:
        for _ in range(10):
            assert box.run("sleep 0.1; echo done").output == "done\n"


def test_as_many_processes_as_allowed_are_no_trouble(workdir: Path) -> None:
    outcome = run(workdir, "for i in $(seq 40); do sleep 0.3 & done; wait; echo done", processes=60)
    assert (outcome.output, outcome.stopped) == ("done\n", "")


def test_one_process_cannot_have_more_memory(workdir: Path) -> None:
    command = python("held = bytearray(200 << 20); print('BREACH')")
    assert works_outside(workdir, command)
    outcome = run(workdir, command, memory_bytes=100 * MIB)
    assert "MemoryError" in outcome.output


def test_many_processes_together_cannot_have_more_memory(workdir: Path) -> None:
    command = python(
        "import os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        held = bytearray(80 << 20); time.sleep(3); print('BREACH', flush=True); os._exit(0)\n"
        "for _ in range(3): os.wait()"
    )
    assert works_outside(workdir, command)
    assert run(workdir, command, memory_bytes=100 * MIB).stopped == "more than 100 MiB of memory"


def test_shared_memory_counts_once(workdir: Path) -> None:
    command = python(
        "import os, time\n"
        "held = bytearray(os.urandom(1)) * (60 << 20)\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: time.sleep(1); os._exit(0)\n"
        "for _ in range(3): os.wait()\n"
        "print('done')"
    )
    outcome = run(workdir, command, memory_bytes=100 * MIB)
    assert (outcome.output, outcome.stopped) == ("done\n", "")


def test_addresses_that_are_only_reserved_do_not_count(workdir: Path) -> None:
    # As Go, Java and JavaScript reserve them.
    command = python("import mmap; mmap.mmap(-1, 8 << 30, prot=mmap.PROT_READ); print('done')")
    assert run(workdir, command, memory_bytes=100 * MIB).output == "done\n"


def test_files_in_memory_are_bounded(workdir: Path) -> None:
    outcome = run(workdir, "head -c 100M /dev/zero > /dev/shm/hog", memory_bytes=64 * MIB)
    assert "No space left" in outcome.output
    for place in ("/dev/hog", "/run/hog", "/hog"):
        assert "Read-only" in run(workdir, f"head -c 1M /dev/zero > {place}").output


def test_output_without_end_is_ended(workdir: Path) -> None:
    outcome = run(workdir, "yes", output_bytes=20 * MIB)
    assert outcome.stopped.startswith("more than 20971520 bytes of output")
    assert len(outcome.output) < 1_100_000
    assert outcome.truncated_bytes > 10 * MIB


def test_a_file_cannot_grow_further(workdir: Path) -> None:
    command = "head -c 3M /dev/zero > big; stat -c %s big"
    with LocalSandbox(workdir) as local:
        assert local.run(command).output == f"{3 * MIB}\n"
    outcome = run(workdir, command, file_bytes=MIB)
    assert outcome.output.splitlines()[-1] == f"{MIB}"
    assert "File size limit" in outcome.output or "File too large" in outcome.output


def test_a_process_cannot_compute_for_ever(workdir: Path) -> None:
    outcome = run(workdir, "while :; do :; done", cpu_seconds=1)
    assert outcome.exit_code in (128 + 24, 137)
    assert not outcome.timed_out


def test_limits_cannot_be_raised(workdir: Path) -> None:
    outcome = run(workdir, "ulimit -f unlimited; ulimit -d unlimited; ulimit -c 10", file_bytes=MIB)
    assert outcome.output.count("cannot modify limit") == 3


def test_the_kernel_takes_contained_commands_first_when_memory_runs_out(workdir: Path) -> None:
    assert run(workdir, "cat /proc/self/oom_score_adj").output == "1000\n"


def test_scarce_memory_of_the_machine_ends_the_command(workdir: Path) -> None:
    more_than_there_is = 1 << 60
    outcome = run_alone(workdir, "sleep 20", spare_memory_bytes=more_than_there_is)
    assert outcome.stopped == "this machine has hardly any memory left"


def run_alone(workdir: Path, command: str, **limits: int) -> Outcome:
    with BubblewrapSandbox(workdir, limits=Limits(**limits), timeout=30) as box:
        return box.run(command)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "redraft-test", place],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no disk of a known size can be made here")
    yield place
    subprocess.run(["umount", place], check=True)


@needs_root
def test_a_disk_that_is_almost_full_ends_the_command(small_disk: Path) -> None:
    outcome = run(small_disk, "for i in 1 2 3 4 5; do head -c 10M /dev/zero > f$i; sleep 0.2; done")
    assert outcome.stopped == "the disk is almost full"
    with BubblewrapSandbox(small_disk) as box:
        assert box.run("rm -f f?; echo free").output == "free\n"
