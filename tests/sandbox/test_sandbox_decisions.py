"""The sandbox's decisions, as values: limits, secrets, sockets, notes, reasons."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox import Limits, LocalSandbox, make_sandbox
from redraft.sandbox.concealed import (
    bound_sockets,
    contained_environment,
    is_key_file,
    secret_paths,
)
from redraft.sandbox.diagnosis import Facts, diagnose
from redraft.sandbox.launcher import read_notes
from redraft.sandbox.limits import Usage, excess, ulimits
from redraft.sandbox.places import Credentials, remove_tree

LIMITS = Limits(processes=10, output_bytes=100, spare_memory_bytes=50)
CALM = Usage(processes=10, memory=1000, printed=100, spare_memory=50, spare_disk=0)


# --- limits -----------------------------------------------------------------------------------------


def test_what_is_just_within_the_limits_is_allowed() -> None:
    assert excess(CALM, LIMITS, memory=1000) == ""
    assert excess(replace(CALM, spare_memory=None), LIMITS, memory=1000) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"processes": 11}, "more than 10 processes and threads"),
        ({"memory": 3 << 20}, "more than 2 MiB of memory"),
        ({"printed": 101}, "more than 100 bytes of output"),
        ({"spare_memory": 49}, "hardly any memory left"),
        ({"spare_disk": -1}, "disk is almost full"),
    ],
)
def test_each_limit_that_is_passed_is_named(change: dict[str, int], words: str) -> None:
    assert words in excess(replace(CALM, **change), LIMITS, memory=2 << 20)


@pytest.mark.parametrize(
    "name", ["processes", "memory_bytes", "file_bytes", "output_bytes", "cpu_seconds"]
)
def test_a_limit_is_at_least_one(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is 0"):
        Limits(**{name: 0})


def test_what_is_to_stay_spare_may_be_nothing() -> None:
    nothing = Limits(spare_memory_bytes=0, spare_disk_bytes=0)
    assert excess(replace(CALM, spare_memory=0), nothing, memory=1000) == ""
    with pytest.raises(SettingsError, match="spare_disk_bytes is -1"):
        Limits(spare_disk_bytes=-1)


def test_the_kernel_is_told_what_it_can_hold() -> None:
    text = ulimits(Limits(processes=7, file_bytes=2048, cpu_seconds=3), 4096, count=True)
    assert text.split(" 2>/dev/null;") == [
        *("builtin ulimit -c 0", " builtin ulimit -d 4", " builtin ulimit -f 2"),
        *(" builtin ulimit -t 3", " builtin ulimit -u 7", ""),
    ]
    assert " -u " not in ulimits(Limits(), 4096, count=False)


# --- what is concealed --------------------------------------------------------------------------------


def test_secrets_are_looked_for_in_every_home() -> None:
    paths = secret_paths([PurePosixPath("/home/a"), PurePosixPath("/b")])
    for path in (
        "/home/a/.ssh",
        "/b/.aws",
        "/b/.config",
        "/home/a/.local/share/redraft",
        "/etc/shadow",
    ):
        assert PurePosixPath(path) in paths
    assert PurePosixPath("/home/a") not in paths
    assert len(set(paths)) == len(paths)


def test_the_machines_private_keys_are_secret_and_its_public_ones_are_not() -> None:
    assert is_key_file("ssh_host_ed25519_key")
    assert not is_key_file("ssh_host_ed25519_key.pub")
    assert not is_key_file("ssh_config")


def test_variables_that_lead_to_sockets_or_hold_passwords_stay_behind() -> None:
    harness = {
        "PATH": "/bin",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "TMPDIR": "/scratch",
        "DATABASE_URL": "postgres://me:pass@host/db",
        "INDEX": "https://:token@host/simple",
        "HOMEPAGE": "https://host/a:b@c",
        "PROXY": "http://host:3128",
        "HF_TOKEN": "x",
    }
    kept = {"PATH", "HOMEPAGE", "PROXY"}
    assert set(contained_environment(harness, {})) == kept
    assert contained_environment(harness, {"HF_TOKEN": "y"})["HF_TOKEN"] == "y"


def test_the_paths_of_sockets_are_read_from_the_kernels_table() -> None:
    table = """Num       RefCount Protocol Flags    Type St Inode Path
ffff: 00000002 00000000 00010000 0001 01 17 /var/run/docker.sock
ffff: 00000002 00000000 00000000 0002 01 18 /run/with a space/log
ffff: 00000002 00000000 00010000 0001 01 19 @/tmp/.X11-unix/X0
ffff: 00000002 00000000 00010000 0001 01 20 relative.sock
ffff: 00000003 00000000 00000000 0001 03 21
"""
    assert bound_sockets(table) == [
        PurePosixPath("/run/with a space/log"),
        PurePosixPath("/var/run/docker.sock"),
    ]
    assert bound_sockets("") == []


@given(st.text())
def test_any_table_can_be_read(table: str) -> None:
    assert all(path.is_absolute() for path in bound_sockets(table))


# --- notes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notes", "read"),
    [
        (b"", (False, 0)),
        (b".", (True, 0)),
        (b".0", (True, 0)),
        (b".12", (True, 12)),
        (b".x", (True, 0)),
        (b"12", (False, 2)),
        (".²".encode(), (True, 0)),
    ],
)
def test_the_launcher_notes(notes: bytes, read: tuple[bool, int]) -> None:
    assert read_notes(notes) == read


# --- reasons ------------------------------------------------------------------------------------------


UID_MAP = "bwrap: setting up uid map: Permission denied\n"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (Facts(linux=False), ["Linux only", "container command"]),
        (Facts(program=False), ["not installed", "apt install bubblewrap"]),
        (
            Facts(message=UID_MAP, apparmor=True),
            ["setting up uid map", "AppArmor", "docs/sandbox.md"],
        ),
        (Facts(message=UID_MAP, user_namespaces=False), ["max_user_namespaces"]),
        (
            Facts(
                message="bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
                container=True,
            ),
            ["Can't mount proc", "already", "--sandbox local", "systempaths=unconfined"],
        ),
        (Facts(message="bwrap: Unknown option --size"), ["older", "newer"]),
        (Facts(message=""), []),
        (Facts(message="\n"), ["it said nothing"]),
    ],
)
def test_a_reason_says_what_to_do(facts: Facts, words: list[str]) -> None:
    reason = diagnose(facts)
    assert (reason is None) == (not words)
    for word in words:
        assert word in str(reason)
    assert "bwrap:" not in str(reason)


# --- rights without privileges --------------------------------------------------------------------------


def test_rights_are_those_of_the_mode_alone(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "file").touch()
    stranger, owner = Credentials(user=12345, groups=[12345]), Credentials()
    (tmp_path / "closed").chmod(0o705)
    status = (tmp_path / "closed").stat()
    assert stranger.allow(status, os.R_OK | os.X_OK)
    assert not stranger.allow(status, os.W_OK)
    assert not Credentials(user=12345, groups=[status.st_gid]).allow(status, os.X_OK)
    (tmp_path / "closed").chmod(0o600)
    assert owner.allow((tmp_path / "closed").stat(), os.W_OK)
    # Root would be let through.
    assert not owner.reach(tmp_path / "closed" / "file")
    (tmp_path / "closed").chmod(0o700)
    assert owner.reach(tmp_path / "closed" / "file")
    assert not owner.reach(tmp_path / "closed" / "nothing")


def test_a_tree_of_any_depth_and_mode_can_be_removed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    tree = tmp_path / "tree"
    (tree / "shut").mkdir(parents=True)
    (tree / "link").symlink_to(victim)
    (tree / "shut" / "file").touch()
    (tree / "shut").chmod(0)
    below = os.open(tree, os.O_RDONLY)
    for _ in range(2 * sys.getrecursionlimit()):
        os.mkdir("d", dir_fd=below)
        here, below = below, os.open("d", os.O_RDONLY, dir_fd=below)
        os.close(here)
    os.close(below)
    remove_tree(tree)
    assert not tree.exists()
    assert victim.exists()


# --- making ---------------------------------------------------------------------------------------------


def test_a_kind_is_made_by_its_name(tmp_path: Path) -> None:
    with make_sandbox("local", tmp_path) as local:
        assert isinstance(local, LocalSandbox)
    with make_sandbox("container", tmp_path, command="env A='x y' bash") as container:
        assert container.run("echo $A").output == "x y\n"


def test_a_container_command_and_the_kind_go_together(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Give both, or neither"):
        make_sandbox("container", tmp_path)
    with pytest.raises(SettingsError, match="Give both, or neither"):
        make_sandbox("local", tmp_path, command="bash")
    with pytest.raises(SettingsError, match="Choose bubblewrap, local or container"):
        make_sandbox("chroot", tmp_path)  # type: ignore[arg-type]


def test_where_bubblewrap_does_not_work_the_alternatives_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redraft.sandbox.bubblewrap.available", lambda: "It is broken.")
    with pytest.raises(SandboxError, match=r"It is broken\. .*--sandbox local.*container command"):
        make_sandbox("bubblewrap", tmp_path)
