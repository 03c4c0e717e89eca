"""The program bubblewrap: whether it is here and works, and what it is told in any case."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

from redraft.sandbox.diagnosis import Facts, diagnose
from redraft.sandbox.places import find_program

__all__ = ["available", "has_option", "isolation", "wrapper"]

_NEW_USER = "1000"
_TRIAL_SECONDS = 20.0
_KERNEL = Path("/proc/sys")
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def wrapper() -> str | None:
    """Where bubblewrap lies; the system's own first, since a project may put things on PATH."""
    return find_program("bwrap", system_first=True)


def available() -> str | None:
    """Try bubblewrap.

    Returns:
        None if it works here, else the reason in words for a person, and what to do.
    """
    program = wrapper() if sys.platform == "linux" else None
    return diagnose(
        Facts(
            linux=sys.platform == "linux",
            program=program is not None,
            message=_trial(program) if program else "",
            user_namespaces=_setting("user/max_user_namespaces") != "0"
            and _setting("kernel/unprivileged_userns_clone") != "0",
            apparmor=_setting("kernel/apparmor_restrict_unprivileged_userns") == "1",
            container=_in_container(),
            root=os.geteuid() == 0,
        )
    )


@functools.cache
def has_option(program: str, option: str) -> bool:
    """Whether this version knows an option. Distributions carry some back, so its number says less."""
    done = subprocess.run(
        [program, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={},
        stdin=subprocess.DEVNULL,
    )
    return option in (done.stdout + done.stderr).split()


def isolation(program: str, *, network: bool) -> list[str]:
    """The options that part a command from this machine, but for its files.

    Args:
        program: where bubblewrap lies.
        network: whether the command shares this machine's network.
    """
    words = [
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
        *("--unshare-cgroup-try", "--new-session", "--die-with-parent"),
    ]
    if not network:
        words.append("--unshare-net")
    if has_option(program, "--disable-userns"):
        words.append("--disable-userns")
    if os.geteuid() == 0:
        # Programs that find themselves root try what they may not, such as giving files away.
        words += ["--uid", _NEW_USER, "--gid", _NEW_USER]
    return words


def _trial(program: str) -> str:
    """Run nothing, in all the namespaces; returns what went wrong."""
    try:
        done = subprocess.run(
            [
                program,
                *isolation(program, network=False),
                *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
                *("--chdir", "/", "--", find_program("true", system_first=True) or "true"),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={},
            timeout=_TRIAL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip()
    return "" if done.returncode == 0 else said or f"exit code {done.returncode}"


def _setting(name: str) -> str:
    try:
        return (_KERNEL / name).read_text().strip()
    except OSError:
        return ""


def _in_container() -> bool:
    return any(mark.exists() for mark in _CONTAINER_MARKS) or "container" in os.environ
