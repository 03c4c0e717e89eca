"""Commands through a command: `docker exec`, `podman run` and `ssh`, as far as a stand-in goes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contained_world import needs_bubblewrap, needs_root

from redraft.contextfile.mirror import Mirror
from redraft.errors import SandboxError, SettingsError
from redraft.sandbox import ContainerSandbox
from redraft.sandbox.remote import payload
from redraft.sandbox.shell import State

STAND_IN = [sys.executable, str(Path(__file__).with_name("stand_ins.py"))]
EXEC, RUN, SSH = ([*STAND_IN, kind, "bash"] for kind in ("exec", "run", "ssh"))
BEAT = "while :; do echo x >> beats; sleep 0.05; done"


@pytest.fixture
def container(workdir: Path) -> Iterator[ContainerSandbox]:
    with ContainerSandbox(EXEC, workdir=str(workdir), timeout=30) as sandbox:
        yield sandbox


def grows(path: Path) -> bool:
    before = path.stat().st_size
    time.sleep(0.4)
    return path.stat().st_size > before


def soon(true: Callable[[], bool], seconds: float = 20) -> bool:
    """Wait until something is true, as long as a crowded machine may need."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


# --- what goes there and what does not ------------------------------------------------------------


def test_the_environment_is_the_containers_own(
    container: ContainerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_HARNESS", "1")
    assert container.run("echo $IMAGE ${OF_THE_HARNESS-none}").output == "from the image none\n"
    container.run("unset IMAGE")
    assert container.run("echo ${IMAGE-none}").output == "none\n"


def test_without_a_workdir_it_begins_where_the_shell_starts() -> None:
    with ContainerSandbox(EXEC) as box:
        assert box.run("pwd").output == "/\n"
        box.run("cd /usr")
        assert box.run("pwd").output == "/usr\n"


def test_nothing_is_left_lying_about(workdir: Path) -> None:
    place = workdir / "tmp"
    place.mkdir()
    with ContainerSandbox([*EXEC[:-1], "env", f"TMPDIR={place}", "bash"]) as box:
        assert box.run(f"ls {place}").output.startswith("tmp.")
        assert list(place.iterdir()) == []
        box.run("sleep 300", timeout=0.5)
        box.run("sleep 300 &")
    # Where the client had to be killed, the other end is on its own, and takes the time that it takes.
    assert soon(lambda: list(place.iterdir()) == [])


def test_a_script_that_is_cut_short_is_not_run_and_leaves_nothing(workdir: Path) -> None:
    whole = payload("tag", "echo ran", State.of(str(workdir), {}), os.fsencode(workdir))
    for size in (len(whole) - 1, len(whole) // 2, whole.index(b"\n") + 1):
        done = subprocess.run(
            ["bash"],
            check=False,
            input=whole[:size],
            capture_output=True,
            env={**os.environ, "TMPDIR": str(workdir)},
        )
        assert (done.returncode, done.stdout) == (1, b"")
        assert list(workdir.iterdir()) == []


def test_a_client_that_does_not_end_when_asked_leaves_no_zombie(workdir: Path) -> None:
    client = f"trap '' TERM; echo $$ >{workdir}/client; bash; while :; do sleep 1; done"
    with ContainerSandbox(["bash", "-c", client], workdir=str(workdir)) as box:
        assert box.run("echo out").output == "out\n"
        assert not Path("/proc", (workdir / "client").read_text().strip()).exists()


def test_what_is_said_around_the_command_is_not_its_output(workdir: Path) -> None:
    with ContainerSandbox(SSH, workdir=str(workdir)) as box:
        assert box.run("echo out; echo err >&2").output == "out\nerr\n"


def test_the_mark_may_be_split_by_the_stream(container: ContainerSandbox) -> None:
    for size in range(4088, 4098):
        outcome = container.run(f"head -c {size} /dev/zero | tr '\\0' x")
        assert outcome.output == "x" * size


def test_each_command_may_get_a_container_of_its_own(workdir: Path) -> None:
    with ContainerSandbox(RUN, workdir=str(workdir)) as box:
        box.run("mkdir d; cd d; export A=1; sleep 300 &")
        assert box.run("pwd; echo $A").output == f"{workdir}/d\n1\n"


# --- what goes on there ---------------------------------------------------------------------------


def test_background_processes_go_on_until_the_sandbox_is_closed(workdir: Path) -> None:
    with ContainerSandbox(EXEC, workdir=str(workdir)) as box:
        box.run(f"({BEAT}) >/dev/null 2>&1 &\nwhile ! [ -s beats ]; do sleep 0.05; done")
        assert grows(workdir / "beats")
        box.run("true")
        assert grows(workdir / "beats")
    assert not grows(workdir / "beats")


@pytest.mark.parametrize("command", [EXEC, RUN, SSH], ids=["exec", "run", "ssh"])
def test_a_command_whose_time_is_up_is_ended_there(command: list[str], workdir: Path) -> None:
    with ContainerSandbox(command, workdir=str(workdir)) as box:
        assert box.run(f"trap '' TERM; ({BEAT}) & {BEAT}", timeout=2).timed_out
        assert not grows(workdir / "beats")


def test_the_harness_death_ends_the_command_there(workdir: Path) -> None:
    script = (
        "import sys; from redraft.sandbox import ContainerSandbox\n"
        "ContainerSandbox(sys.argv[3:], workdir=sys.argv[1]).run(sys.argv[2])"
    )
    with subprocess.Popen([sys.executable, "-c", script, workdir, BEAT, *EXEC]) as harness:
        while not (workdir / "beats").exists():
            time.sleep(0.02)
        harness.kill()
    time.sleep(1)
    assert not grows(workdir / "beats")


# --- the context file -----------------------------------------------------------------------------


def test_a_context_file_that_is_shared_can_be_edited(workdir: Path) -> None:
    with (
        Mirror() as mine,
        ContainerSandbox(EXEC, workdir=str(workdir), context_dir=mine.directory) as box,
    ):
        assert box.run(f"sed -i 's/^/note\\n/' {mine.path}").exit_code == 0
        assert mine.path.read_text() == "note\n[[CTX_END]]\n"
        assert [path.name for path in mine.directory.iterdir()] == [mine.path.name]


@needs_bubblewrap
def test_a_context_file_that_is_not_shared_is_told(workdir: Path) -> None:
    bwrap = shutil.which("bwrap") or "bwrap"
    elsewhere = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp", "bash"]
    with Mirror() as mine, pytest.raises(SandboxError, match=r"is not shared.*docker run -v"):
        ContainerSandbox(elsewhere, context_dir=mine.directory)


@needs_root
def test_a_context_file_that_is_written_as_another_user_is_told(tmp_path: Path) -> None:
    with Mirror() as mine:
        mine.directory.chmod(0o777)
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash"]
        with pytest.raises(SandboxError, match=rf"as user 65534.*--user {os.geteuid()}:"):
            ContainerSandbox(other, context_dir=mine.directory)


# --- commands that lead nowhere -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (["/nowhere/docker", "exec"], "cannot be started.*Install it"),
        (
            ["sh", "-c", "echo no such container: box >&2; exit 1"],
            "no such container: box.*by hand",
        ),
        (["true"], "said nothing.*by hand"),
        (["cat"], "by hand"),
        (["sh", "-c", "exec sh"], "not bash.*Install bash"),
    ],
)
def test_a_command_that_leads_to_no_bash_is_told(command: list[str], advice: str) -> None:
    if "not bash" in advice and os.path.realpath("/bin/sh").endswith("bash"):
        pytest.skip("sh is bash here")
    with pytest.raises(SandboxError, match=f"(?s){advice}"):
        ContainerSandbox(command, timeout=2)


def test_a_command_that_does_not_answer_is_told() -> None:
    with pytest.raises(SandboxError, match=r"did not answer in 0.5 seconds.*no -t"):
        ContainerSandbox(["sleep", "300"], timeout=0.5)


def test_a_container_that_goes_away_is_told(workdir: Path) -> None:
    switch = workdir / "there"
    switch.touch()
    with ContainerSandbox(
        ["sh", "-c", f"[ -e {switch} ] && exec bash; echo gone >&2; exit 1"]
    ) as box:
        assert box.run("echo hi").output == "hi\n"
        switch.unlink()
        with pytest.raises(SandboxError, match="gone"):
            box.run("echo hi")
        switch.touch()
        assert box.run("echo hi").output == "hi\n"


def test_a_workdir_that_is_not_there_is_told() -> None:
    with pytest.raises(SandboxError, match=r"/no/such/place.*Create it"):
        ContainerSandbox(EXEC, workdir="/no/such/place")


@pytest.mark.parametrize("command", [[], "docker exec -i box bash"])
def test_the_command_is_a_list_of_words(command: list[str]) -> None:
    with pytest.raises(SettingsError, match="list of words"):
        ContainerSandbox(command)
