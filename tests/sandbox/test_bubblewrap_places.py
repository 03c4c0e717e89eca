"""Which directories a contained command may be given, and how they are called inside."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from contained_world import needs_bubblewrap, needs_root

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox import BubblewrapSandbox
from redraft.sandbox.contained import Channel, first_process
from redraft.sandbox.namespace import Namespace

pytestmark = needs_bubblewrap


@pytest.mark.parametrize("place", ["/", "/tmp", "~", "~/.."])
def test_a_workdir_that_holds_everything_is_refused(
    place: str, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(outside))
    with pytest.raises(SandboxError, match=r"protects nothing.*a directory of the project's own"):
        BubblewrapSandbox(Path(place).expanduser())


def test_the_temporary_directory_of_the_harness_is_hidden_wherever_it_is(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = workdir / "scratch"
    (place / "redraft-other").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with BubblewrapSandbox(workdir) as box:
        assert box.run("ls scratch; mktemp | grep -o ^/tmp/").output == "/tmp/\n"
        assert box.run("touch scratch/file").exit_code != 0
    with pytest.raises(SandboxError, match="protects nothing"):
        BubblewrapSandbox(place)


def test_a_workdir_reached_by_a_link_is_called_by_its_real_name(
    workdir: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(workdir)
    with BubblewrapSandbox(link) as box:
        assert box.run("pwd; echo x > file").output == f"{workdir}\n"
        # Its other name is there too, though the link is hidden with the rest of /tmp.
        assert box.run(f"cat {link}/file").output == "x\n"


def test_a_context_directory_reached_by_a_link_is_found_by_that_name(
    workdir: Path, tmp_path: Path, outside: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(outside)
    (outside / "context").mkdir()
    name = link / "context"
    with BubblewrapSandbox(workdir, context_dir=name) as box:
        assert box.run(f"echo x > {name}/file; cat {outside}/context/file").output == "x\n"


def test_further_directories_can_be_written(workdir: Path, outside: Path) -> None:
    (outside / "cache").mkdir()
    with BubblewrapSandbox(workdir, writable=[outside / "cache"]) as box:
        assert box.run(f"echo x > {outside}/cache/file").exit_code == 0
        assert box.run(f"echo x > {outside}/file").exit_code != 0


def test_a_directory_is_hidden_or_written_to_and_not_both(workdir: Path, outside: Path) -> None:
    for hidden, context in ((workdir, None), (outside, outside)):
        with pytest.raises(SettingsError, match="one place only"):
            BubblewrapSandbox(workdir, hidden=[hidden], context_dir=context)


def test_a_context_directory_in_a_hidden_one_is_seen_alone(workdir: Path) -> None:
    run = workdir / "run"
    (run / "context").mkdir(parents=True)
    (run / "journal.db").touch()
    with BubblewrapSandbox(workdir, hidden=[run], context_dir=run / "context") as box:
        assert box.run("ls run; echo x > run/context/file").output == "context\n"
    assert (run / "context" / "file").read_text() == "x\n"


def test_what_is_to_be_hidden_must_be_there_where_commands_can_write(
    workdir: Path, outside: Path
) -> None:
    with pytest.raises(SandboxError, match="Create it"):
        BubblewrapSandbox(workdir, hidden=[workdir / "journal"])
    with BubblewrapSandbox(workdir, hidden=[outside / "nothing"]) as box:
        assert box.run("true").exit_code == 0
    (workdir / "a" / "journal").mkdir(parents=True)
    with BubblewrapSandbox(workdir, hidden=[workdir / "a" / "journal"]) as box:
        shutil.rmtree(workdir / "a")
        with pytest.raises(SandboxError, match="Create it"):
            box.run("true")
        (workdir / "b" / "journal").mkdir(parents=True)
        (workdir / "a").symlink_to("b")
        with pytest.raises(SandboxError, match="gone or was replaced"):
            box.run("true")


@needs_root
def test_root_is_told_about_directories_of_others(tmp_path: Path) -> None:
    place = tmp_path / "foreign"
    place.mkdir()
    os.chown(place, 12345, 12345)
    with pytest.raises(SandboxError, match=r"without the privileges of root.*chown -R"):
        BubblewrapSandbox(place)
    place.chmod(0o777)
    with BubblewrapSandbox(place) as box:
        assert box.run("echo x > file").exit_code == 0


def test_a_workdir_that_vanishes_is_told(workdir: Path) -> None:
    with BubblewrapSandbox(workdir) as box:
        workdir.rmdir()
        with pytest.raises(SandboxError, match="does not exist"):
            box.run("true")
        workdir.mkdir()
        assert box.run("pwd").output == f"{workdir}\n"


def test_a_sandbox_that_cannot_start_a_command_is_told(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = BubblewrapSandbox(workdir)
    monkeypatch.setattr(
        "redraft.sandbox.bubblewrap.isolation", lambda *_, **__: ["--no-such-option"]
    )
    with pytest.raises(SandboxError, match=r"no-such-option.*--sandbox local"):
        box.run("true")
    monkeypatch.undo()
    assert box.run("echo next").output == "next\n"
    box.close()


def test_a_very_large_environment_is_told_by_the_shell(workdir: Path) -> None:
    with BubblewrapSandbox(workdir) as box:
        box.run("export HUGE=$(head -c 200000 /dev/zero | tr '\\0' x)")
        outcome = box.run("true")
        assert outcome.exit_code == 126
        assert "too long" in outcome.output


def test_private_files_are_removed_at_the_end(
    workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    box = BubblewrapSandbox(workdir)
    box.run("mkdir -p /tmp/a/b; chmod 0 /tmp/a/b; ln -s / /tmp/c")
    assert len(list(private.iterdir())) == 1
    box.close()
    assert list(private.iterdir()) == []
    BubblewrapSandbox(workdir).run("true")
    assert list(private.iterdir()) == []
    assert tempfile.gettempdir() == str(private)


def test_a_namespace_that_does_not_end_by_itself_is_ended() -> None:
    # As if a command had kept bubblewrap's first process from dying with its parent.
    facts = Channel()
    words = ["bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc"]
    words += ["--info-fd", str(facts.writing), "--", "sleep", "300"]
    with subprocess.Popen(words, pass_fds=[facts.writing]) as outer:
        try:
            facts.sent()
            while (first := first_process(facts.read())) is None:
                assert outer.poll() is None
            namespace = Namespace(first)
            assert namespace.alive()
            namespace.wait_for_end()
            assert not namespace.alive()
        finally:
            outer.kill()
            facts.close()


def test_a_process_of_this_namespace_is_never_taken_for_a_contained_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A fault here would signal every process of the machine, so what would be sent is written down.
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(
        "redraft.sandbox.namespace.os.kill", lambda process, number: sent.append((process, number))
    )
    namespace = Namespace(os.getpid())
    assert not namespace.alive()
    namespace.ask_to_stop()
    namespace.wait_for_end()
    assert sent == []
