"""What contained commands cannot read or write. Each attack is first shown to work outside."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest
from contained_world import (
    breaches,
    fails_inside,
    needs_bubblewrap,
    needs_python,
    needs_root,
    python,
    works_outside,
)

from redraft.contextfile.mirror import Mirror
from redraft.sandbox import BubblewrapSandbox

pytestmark = needs_bubblewrap


# --- writing ------------------------------------------------------------------------------------


WRITES = {
    "by its path": "echo x > {outside}/file",
    "by a new file": "echo x > {outside}/new && cp {outside}/new {outside}/file",
    "through a link": "ln -sfn {outside} link && echo x > link/file",
    "through a link to the file": "ln -sf {outside}/file link && echo x > link",
    "through a hard link": "ln -f {outside}/file hard && echo x > hard",
    "through a chain of links": "ln -sfn / root && ln -sfn root{outside} b && echo x > b/file",
    "through the first process's root": "echo x > /proc/1/root{outside}/file",
    "through the parent's root": "echo x > /proc/$PPID/root{outside}/file",
    "through the harness's root": "echo x > /proc/{pid}/root{outside}/file",
    "by moving it away": "mv {outside}/file {outside}/moved && echo x > {outside}/file",
    "by changing its mode first": "chmod 666 {outside}/file && echo x > {outside}/file",
    "by removing it": "rm {outside}/file",
}


@pytest.mark.parametrize("way", WRITES)
def test_nothing_outside_the_workdir_can_be_written(
    way: str, box: BubblewrapSandbox, workdir: Path, outside: Path
) -> None:
    attack = f"{WRITES[way].format(outside=outside, pid=os.getpid())} && echo BREACH"

    def restore() -> None:
        (outside / "file").unlink(missing_ok=True)
        (outside / "file").write_text("untouched\n")

    # The machine's first process may live elsewhere, and only root may look.
    if "/proc/1/" not in attack or os.access(f"/proc/1/root{outside}", os.W_OK):
        assert works_outside(workdir, attack, restore)
    assert fails_inside(box, attack)
    assert (outside / "file").read_text() == "untouched\n"


def test_a_link_left_by_one_command_is_no_way_out_for_the_next(
    box: BubblewrapSandbox, outside: Path
) -> None:
    box.run(f"ln -s {outside}/file link; ln -s {outside} directory; cd directory")
    assert fails_inside(box, "echo x > link && echo BREACH")
    assert fails_inside(box, "echo x > file && echo BREACH")
    assert (outside / "file").read_text() == "untouched\n"


def test_the_workdir_can_be_written_and_what_is_written_stays(
    box: BubblewrapSandbox, workdir: Path
) -> None:
    assert box.run("mkdir a && echo text > a/b && chmod 700 a/b").exit_code == 0
    assert (workdir / "a" / "b").read_text() == "text\n"
    assert stat.S_IMODE((workdir / "a" / "b").stat().st_mode) == 0o700
    assert (workdir / "a" / "b").stat().st_uid == os.geteuid()


def test_tmp_is_the_sandboxes_own_and_lasts(box: BubblewrapSandbox, tmp_path: Path) -> None:
    name = f"redraft-test-{os.getpid()}"
    box.run(f"echo mine > /tmp/{name}; echo too > /var/tmp/{name}")
    assert box.run(f"cat /tmp/{name} /var/tmp/{name}").output == "mine\ntoo\n"
    assert not Path("/tmp", name).exists()
    assert not Path("/var/tmp", name).exists()


@needs_root
def test_the_kernels_settings_cannot_be_written(box: BubblewrapSandbox, workdir: Path) -> None:
    # Opened and not written to: `core_pattern` names a program that the kernel runs as root.
    attack = "exec 9<>/proc/sys/kernel/core_pattern && echo BREACH"
    assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


def test_of_proc_sys_dev_and_run_only_what_is_meant_to_be_can_be_written(
    box: BubblewrapSandbox,
) -> None:
    found = box.run(
        "find /proc /sys /dev /run /etc /usr -maxdepth 4 -path '/proc/[0-9]*' -prune -o "
        "-writable ! -type l -print 2>/dev/null"
    )
    allowed = {"/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/tty"}
    allowed |= {"/dev/urandom", "/dev/zero", "/dev/shm", "/dev/pts/ptmx", "/run/redraft/state"}
    assert set(found.output.split()) <= allowed


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".netrc",
        ".local/share/redraft/j",
    ],
)
def test_secrets_of_the_home_directory_cannot_be_read(
    name: str, workdir: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(outside))
    (outside / name).parent.mkdir(parents=True, exist_ok=True)
    (outside / name).write_text("BREACH\n")
    attack = f"cat ~/{name}"
    assert works_outside(workdir, attack)
    with BubblewrapSandbox(workdir) as box:
        assert fails_inside(box, attack)
        assert fails_inside(box, f"chmod -R 777 ~/{name}; mv ~/{name} ~/moved; cat ~/moved")
        assert box.run("cat ~/file").output == "untouched\n"


def test_a_secret_that_is_a_link_is_hidden_where_it_leads_to(
    workdir: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(outside))
    (outside / "dotfiles").mkdir()
    (outside / "dotfiles" / "id").write_text("BREACH\n")
    (outside / ".ssh").symlink_to("dotfiles")
    attack = f"cat {outside}/dotfiles/id"
    assert works_outside(workdir, attack)
    with BubblewrapSandbox(workdir) as box:
        assert fails_inside(box, attack)


def test_a_work_directory_in_a_hidden_one_is_seen_alone(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(outside))
    (outside / ".config" / "editor").mkdir(parents=True)
    (outside / ".config" / "token").write_text("BREACH\n")
    with BubblewrapSandbox(outside / ".config" / "editor") as box:
        assert box.run("echo x > file; ls ..").output == "editor\n"
        assert fails_inside(box, "cat ../token")
    assert (outside / ".config" / "editor" / "file").read_text() == "x\n"


def test_the_mirror_of_another_session_can_be_neither_seen_nor_written(
    box: BubblewrapSandbox, workdir: Path
) -> None:
    with Mirror() as other:
        before = other.path.read_bytes()
        read = f"grep -q CTX_END {other.path} && echo BREACH"
        write = f"echo x >> {other.path} && echo BREACH"
        assert works_outside(workdir, read)
        assert fails_inside(box, read)
        # What is written at that path lands in the sandbox's own /tmp, at most.
        box.run(f"mkdir -p {other.directory}; {write}; rm -rf {other.directory} /tmp/redraft-*")
        assert other.path.read_bytes() == before
        assert works_outside(workdir, write)


def test_the_own_context_file_can_be_read_and_replaced(workdir: Path) -> None:
    with Mirror() as mine, BubblewrapSandbox(workdir, context_dir=mine.directory) as box:
        name = mine.path
        assert box.run(f"cat {name}").output == "[[CTX_END]]\n"
        assert box.run(f"echo note > {name}.new && mv {name}.new {name}").exit_code == 0
        assert (
            box.run(f"sed -i s/note/other/ {name} && echo '[[CTX_END]]' >> {name}").exit_code == 0
        )
        assert name.read_text() == "other\n[[CTX_END]]\n"
        assert box.run(f"rm -rf {mine.directory}").exit_code != 0
        assert mine.directory.is_dir()


def test_a_context_directory_may_be_made_after_the_sandbox(workdir: Path, tmp_path: Path) -> None:
    place = tmp_path / "later"
    with BubblewrapSandbox(workdir, context_dir=place) as box:
        assert box.run(f"ls {place}").exit_code != 0
        # A command that puts something in its way gets nowhere.
        box.run(f"mkdir -p {place.parent}; ln -s /etc {place}")
        with Mirror(place) as mine:
            assert box.run(f"cat {mine.path}").output == "[[CTX_END]]\n"


# --- the journal --------------------------------------------------------------------------------

DEPTHS = ("journal", "a/journal", "a/b/c/journal")


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_journal_stays_out_of_reach_below_the_workdir(depth: str, workdir: Path) -> None:
    journal = workdir / depth
    journal.mkdir(parents=True)
    (journal / "journal.db").write_text("BREACH\n")
    (journal.parent / "beside").write_text("seen\n")
    attack = f"cat {journal}/journal.db"
    assert works_outside(workdir, attack)
    with BubblewrapSandbox(workdir, hidden=[journal]) as box:
        assert fails_inside(box, attack)
        assert fails_inside(box, f"umount {journal}; {attack}")
        assert fails_inside(
            box, "grep -rs BREACH . | tr -d '\\n'; find / -name journal.db 2>/dev/null"
        )
        top = depth.split("/", maxsplit=1)[0]
        # Under another name it would be seen by the next command.
        for move in (f"mv {journal} {workdir}/moved", f"mv {top} moved", "mv a/b moved"):
            box.run(move)
            assert fails_inside(box, f"cat moved/journal.db moved/journal/journal.db; {attack}")
            assert fails_inside(box, "cat moved/b/c/journal/journal.db moved/c/journal/journal.db")
        box.run(f"rm -rf {journal}; rm -rf {top}; echo x > {journal}/journal.db")
        assert (journal / "journal.db").read_text() == "BREACH\n"
        assert fails_inside(box, attack)


def test_other_files_beside_a_hidden_place_are_ordinary(workdir: Path) -> None:
    (workdir / "a" / "journal").mkdir(parents=True)
    with BubblewrapSandbox(workdir, hidden=[workdir / "a" / "journal"]) as box:
        assert (
            box.run("echo x > a/file && mv a/file a/other && mkdir a/d && rmdir a/d").exit_code == 0
        )
    assert (workdir / "a" / "other").read_text() == "x\n"


def test_a_single_file_can_be_hidden(workdir: Path) -> None:
    (workdir / ".env").write_text("BREACH\n")
    with BubblewrapSandbox(workdir, hidden=[workdir / ".env"]) as box:
        assert fails_inside(box, "cat .env; mv .env env; cp .env copy; cat env copy")
        assert fails_inside(box, "echo x > .env && echo BREACH")
    assert (workdir / ".env").read_text() == "BREACH\n"


def test_the_harness_own_files_are_out_of_reach(box: BubblewrapSandbox, workdir: Path) -> None:
    private = box._private
    attack = f"ls {private} && echo BREACH"
    assert works_outside(workdir, attack)
    assert fails_inside(box, attack)


def test_what_the_shell_reports_cannot_be_turned_into_a_link(
    box: BubblewrapSandbox, workdir: Path, outside: Path
) -> None:
    # The harness reads the report: through a link it would read anything, and export it.
    (outside / "secret").write_text("/\n\0STOLEN=BREACH\0=\0")
    report = "/run/redraft/state"
    box.run(f"trap '' EXIT; rm -f {report}; ln -sf {outside}/secret {report}; kill -9 $$")
    assert fails_inside(box, "echo $STOLEN")
    box.run(f"mkfifo f; mv f {report}; chmod 000 {report}; exec true")
    assert box.run("export NEXT=1; pwd").output == f"{workdir}\n"
    assert box.run("echo $NEXT").output == "1\n"


def test_a_forged_report_reaches_no_further_than_the_sandbox(
    box: BubblewrapSandbox, outside: Path
) -> None:
    # The loader writes a trace where it is told to, for each program that is started with this.
    # bubblewrap itself starts outside, so it must be none of these programs.
    export = f"export LD_DEBUG=files LD_DEBUG_OUTPUT={outside}/trace"
    assert works_outside(outside, f"{export}; true; /bin/true; ls {outside}/trace* && echo BREACH")
    for left in outside.glob("trace*"):
        left.unlink()
    box.run(export)
    box.run("true")
    assert list(outside.glob("trace*")) == []


# --- what else the file system leads to -----------------------------------------------------------


@needs_python
def test_sockets_in_the_file_system_cannot_be_connected_to(
    box: BubblewrapSandbox, workdir: Path, outside: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        # The kernel lists a socket by the name that it was bound to.
        name = str(outside / "s")
        server.bind(name)
        server.listen()
        attack = python(
            f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{name}'); print('BREACH')"
        )
        assert works_outside(workdir, attack)
        assert fails_inside(box, attack)


@needs_root
def test_device_nodes_can_be_neither_made_nor_found(
    box: BubblewrapSandbox, workdir: Path, outside: Path
) -> None:
    make = "mknod node c 1 3 && echo x > node && echo BREACH; rm -f node"
    assert works_outside(workdir, make)
    assert fails_inside(box, make)
    os.mknod(outside / "node", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    use = f"echo x > {outside}/node && echo BREACH"
    assert works_outside(workdir, use)
    assert fails_inside(box, use)
    kernel = box.run("ls /dev").output.split()
    assert not {"kmsg", "mem", "kvm", "fuse", "loop-control"} & set(kernel)
    assert not [name for name in kernel if name.startswith(("sd", "vd", "nvme", "tty0"))]


def test_programs_of_the_machine_can_still_be_run(box: BubblewrapSandbox) -> None:
    outcome = box.run(
        "ls / | sort | head -1; echo a | sed s/a/b/; git --version >/dev/null 2>&1; cd /usr"
    )
    assert outcome.exit_code == 0
    assert not breaches(outcome)
