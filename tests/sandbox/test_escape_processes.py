"""What contained commands cannot do to other processes, nor become. Each attack works outside."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from contained_world import (
    PYTHON,
    fails_inside,
    needs_bubblewrap,
    needs_python,
    needs_root,
    python,
    works_outside,
)

from redraft.errors import SandboxError
from redraft.sandbox import BubblewrapSandbox, LocalSandbox

pytestmark = [needs_bubblewrap, needs_python]

# Loads the C library; `call` makes a system call by its number and returns its answer or error.
CALLS = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
def call(x86_64, aarch64, *args):
    number = x86_64 if platform.machine() == "x86_64" else aarch64
    done = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(arg) for arg in args))
    return done if done >= 0 else -ctypes.get_errno()
"""


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user that an attack may be tried on."""
    with subprocess.Popen(["sleep", "300"], env={"SECRET": "BREACH"}) as process:
        yield process
        process.kill()


def grows(path: Path) -> bool:
    """Whether something still writes to a file."""
    before = path.stat().st_size
    time.sleep(0.4)
    return path.stat().st_size > before


# --- others ---------------------------------------------------------------------------------------


def test_no_other_process_can_be_seen(
    box: BubblewrapSandbox, workdir: Path, victim: subprocess.Popen[bytes]
) -> None:
    attack = f"[ -e /proc/{victim.pid}/stat ] && [ -e /proc/{os.getpid()}/stat ] && echo BREACH"
    assert works_outside(workdir, attack)
    # The number may belong to a process in here, but not both are likely to.
    assert fails_inside(box, attack)
    assert box.run("cat /proc/[0-9]*/comm").output.split() == ["bwrap", "bash", "bash"]


def test_no_environment_of_another_process_can_be_read(
    box: BubblewrapSandbox, workdir: Path, victim: subprocess.Popen[bytes]
) -> None:
    attack = f"cat /proc/{victim.pid}/environ; grep -sao BREACH /proc/[0-9]*/environ"
    assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


def test_the_environment_of_the_harness_is_not_that_of_its_launcher(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-BREACH")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:BREACH@host/db")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/BREACH")
    monkeypatch.setenv("PLAIN", "seen")
    with BubblewrapSandbox(workdir) as box:
        assert fails_inside(box, "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'")
        assert box.run("echo $PLAIN").output == "seen\n"
    with BubblewrapSandbox(workdir, env={"OPENAI_API_KEY": "asked"}) as box:
        assert box.run("echo $OPENAI_API_KEY").output == "asked\n"


def test_no_other_process_can_be_killed(
    box: BubblewrapSandbox, workdir: Path, victim: subprocess.Popen[bytes]
) -> None:
    inside = f"kill -9 {victim.pid} {os.getppid()} && echo BREACH; kill -9 1; true"
    assert fails_inside(box, inside)
    # Everything that can be reached, which is the command itself.
    assert box.run("kill -9 -1").exit_code == 137
    assert victim.poll() is None
    assert works_outside(workdir, f"kill -9 {victim.pid} && echo BREACH")


def test_no_other_process_can_be_traced(
    box: BubblewrapSandbox, workdir: Path, victim: subprocess.Popen[bytes]
) -> None:
    attack = python(
        CALLS
        + f"""
ATTACH, DETACH = 16, 17
if call(101, 117, ATTACH, {victim.pid}, 0, 0) >= 0:
    os.waitpid({victim.pid}, 0)
    call(101, 117, DETACH, {victim.pid}, 0, 0)
    print("BREACH")
"""
    )
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    if not yama.exists() or yama.read_text().strip() == "0" or os.geteuid() == 0:
        assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


def test_the_memory_of_the_harness_cannot_be_opened(
    box: BubblewrapSandbox, workdir: Path, victim: subprocess.Popen[bytes]
) -> None:
    attack = f"head -c 0 /proc/{victim.pid}/mem && echo BREACH"
    if os.geteuid() == 0:
        assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


# --- later ----------------------------------------------------------------------------------------

LEFT_RUNNING = {
    "in the background": "{beat} &",
    "in a session of its own": "setsid bash -c '{beat}' >/dev/null 2>&1 &",
    "by a daemon that forks twice": "(setsid bash -c '{beat} & ' &) >/dev/null 2>&1 </dev/null",
    "deaf to signals": "setsid nohup bash -c 'trap \"\" TERM HUP INT; {beat}' >/dev/null 2>&1 &",
}
BEAT = "(echo $BASHPID > beater; while :; do echo x >> beats; sleep 0.05; done)"


@pytest.mark.parametrize("way", LEFT_RUNNING)
def test_nothing_outlives_its_command(way: str, box: BubblewrapSandbox, workdir: Path) -> None:
    command = LEFT_RUNNING[way].format(beat=BEAT) + "\nwhile ! [ -s beats ]; do sleep 0.05; done"
    with LocalSandbox(workdir) as local:
        local.run(command)
        assert grows(workdir / "beats")
        local.run("kill -9 $(cat beater)")
        assert not grows(workdir / "beats")
    (workdir / "beats").unlink()
    outcome = box.run(command)
    assert outcome.exit_code == 0
    assert "ended with this command" in outcome.output
    assert not grows(workdir / "beats")


def test_the_answer_comes_when_everything_is_gone(box: BubblewrapSandbox, workdir: Path) -> None:
    # What a command wrote is read back next; nothing may still be writing.
    box.run("for i in $(seq 30); do sleep 300 & done")
    entries = Path("/proc").glob("[0-9]*")
    assert [entry for entry in entries if leads_to(entry / "cwd", workdir)] == []


def leads_to(link: Path, place: Path) -> bool:
    try:
        return link.readlink() == place
    except OSError:
        return False


def test_a_command_whose_time_is_up_leaves_nothing(box: BubblewrapSandbox, workdir: Path) -> None:
    outcome = box.run(
        f"setsid bash -c 'trap \"\" TERM; {BEAT}' & trap '' TERM; {BEAT}", timeout=1.5
    )
    assert outcome.timed_out
    assert not grows(workdir / "beats")


def test_closing_ends_a_command_that_runs(workdir: Path) -> None:
    box = BubblewrapSandbox(workdir)

    def run() -> None:
        with pytest.raises(SandboxError, match="closed while a command ran"):
            box.run(BEAT)

    thread = threading.Thread(target=run)
    thread.start()
    while not (workdir / "beats").exists():
        time.sleep(0.01)
    box.close()
    thread.join(20)
    assert not grows(workdir / "beats")


def test_the_harness_death_ends_the_command(workdir: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from redraft.sandbox import BubblewrapSandbox\n"
        "BubblewrapSandbox(Path(sys.argv[1])).run(sys.argv[2])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, workdir, f"setsid {PYTHON} -c 0 & {BEAT}"]
    ) as harness:
        while not (workdir / "beats").exists():
            time.sleep(0.02)
        assert grows(workdir / "beats")
        harness.kill()
    time.sleep(0.2)
    assert not grows(workdir / "beats")


# --- more rights ------------------------------------------------------------------------------------


def test_a_command_has_no_privileges_and_gets_none(box: BubblewrapSandbox) -> None:
    status = box.run("cat /proc/self/status").output
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"
    assert box.run("id -u").output.strip() != "0"


@needs_root
def test_a_setuid_program_gives_no_other_user(
    box: BubblewrapSandbox, workdir: Path, outside: Path
) -> None:
    for place in (workdir, outside):
        shutil.copy(shutil.which("id") or "/usr/bin/id", place / "id")
        os.chown(place / "id", 65534, 65534)
        (place / "id").chmod(0o4755)
        attack = f"[ $({place}/id -u) = 65534 ] && echo BREACH"
        assert works_outside(workdir, attack)
        assert fails_inside(box, attack)


@needs_root
@pytest.mark.parametrize(
    "attack",
    [
        "unshare --mount true && echo BREACH",
        "unshare --user --map-root-user true && echo BREACH",
        "unshare --net true && echo BREACH",
        "mkdir -p m && mount -t tmpfs none m && umount m && echo BREACH",
        "mkdir -p m && mount --bind /etc m && umount m && echo BREACH",
        "chroot / true && echo BREACH",
        "nice -n -5 true 2>&1 | grep -q . || echo BREACH",
    ],
)
def test_namespaces_and_mounts_are_not_for_commands(
    attack: str, box: BubblewrapSandbox, workdir: Path
) -> None:
    assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


@needs_root
def test_a_user_namespace_cannot_be_made_by_any_call(box: BubblewrapSandbox, workdir: Path) -> None:
    new_user, child = 0x10000000, 17
    attack = python(
        CALLS
        + f"""
made = call(56, 220, {new_user | child}, 0, 0, 0, 0)
if made == 0:
    os._exit(0)
if made > 0:
    os.waitpid(made, 0)
    print("BREACH")
if call(272, 97, {new_user}) >= 0:
    print("BREACH")
"""
    )
    assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


def test_the_kernels_key_rings_cannot_be_used(box: BubblewrapSandbox, workdir: Path) -> None:
    # KEYCTL_GET_KEYRING_ID of the session's ring (-3), which processes inherit.
    attack = python(CALLS + "\nif call(250, 219, 0, -3, 1) > 0: print('BREACH')")
    assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_ALG", "AF_PACKET"])
def test_other_kinds_of_sockets_are_refused(family: str, box: BubblewrapSandbox) -> None:
    made = box.run(
        python(f"import socket; socket.socket(socket.{family}, socket.SOCK_STREAM)")
    ).output
    assert "not supported" in made
    assert box.run(python("import socket; [socket.socket(f) for f in (1, 2, 10)]")).output == ""


# --- the terminal -----------------------------------------------------------------------------------


@needs_root
def test_nothing_can_be_typed_into_a_terminal(box: BubblewrapSandbox, workdir: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        name = os.ttyname(theirs)
        attack = python(f"import fcntl; fcntl.ioctl(open('{name}'), 0x5412, b'x'); print('BREACH')")
        assert works_outside(workdir, attack)
        assert fails_inside(box, attack)
        own = python(
            "import fcntl, os, pty, termios\n"
            "if os.fork(): os.wait(); raise SystemExit\n"
            "os.setsid(); a, b = pty.openpty(); fcntl.ioctl(b, termios.TIOCSCTTY, 0)\n"
            "fcntl.ioctl(b, 0x5412, b'x'); print('BREACH')"
        )
        assert fails_inside(box, own)
        assert fails_inside(box, "exec 9<>/dev/tty && echo BREACH")
    finally:
        os.close(ours)
        os.close(theirs)
