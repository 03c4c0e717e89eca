"""Why bubblewrap does not work here, and what to do about it. Pure.

The messages are bubblewrap's own; the causes behind them were collected from containers/bubblewrap#505
(containers), gominimal/minimal#610 and fsquillace/junest#355 (AppArmor on Ubuntu 24.04).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALTERNATIVES", "Facts", "diagnose"]

ALTERNATIVES = (
    "Without it: `--sandbox local` runs commands with nothing between them and your files; a container "
    "command runs them elsewhere, e.g. `docker exec -i box bash` (docs/sandbox.md)."
)
"""What else there is, for the end of a message to a person."""


@dataclass(frozen=True)
class Facts:
    """What was found on this machine.

    Attributes:
        linux: whether it runs Linux.
        program: whether there is a `bwrap`.
        message: what a trial said, "" if it worked.
        user_namespaces: whether the kernel's settings allow ordinary users namespaces of their own.
        apparmor: whether AppArmor restricts them (`kernel.apparmor_restrict_unprivileged_userns`).
        container: whether this looks like the inside of a container.
        root: whether this is root.
    """

    linux: bool = True
    program: bool = True
    message: str = ""
    user_namespaces: bool = True
    apparmor: bool = False
    container: bool = False
    root: bool = False


def diagnose(facts: Facts) -> str | None:
    """The reason and what to do, or None where bubblewrap works."""
    if not facts.linux:
        return "bubblewrap runs on Linux only. Use a container command or a virtual machine."
    if not facts.program:
        return (
            "bubblewrap is not installed. Install the package `bubblewrap` with this system's package "
            "manager, e.g. `apt install bubblewrap` or `dnf install bubblewrap`."
        )
    if not facts.message:
        return None
    return f"bubblewrap does not work here ({_said(facts.message)}). {_advice(facts)}"


def _said(message: str) -> str:
    """The last line that says something, without the program's name."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1].removeprefix("bwrap: ")[:200].rstrip(".") if lines else "it said nothing"


def _advice(facts: Facts) -> str:
    """(1) a container around us, (2) AppArmor, (3) the kernel's settings, (4) an unknown option, (5)
    anything else."""
    message = facts.message
    if facts.container:
        return (
            "This is a container, which is a sandbox already: use `--sandbox local` in it, or start it "
            "so that it allows namespaces (docker: `--security-opt seccomp=unconfined --security-opt "
            "systempaths=unconfined`, with AppArmor also `--security-opt apparmor=unconfined`; podman: "
            "`--security-opt unmask=ALL`)."
        )
    if facts.apparmor and not facts.root:
        return (
            "AppArmor keeps ordinary users from namespaces. Allow them to bubblewrap alone, with the "
            "profile in docs/sandbox.md, or to every program: `sudo sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0`."
        )
    if not facts.user_namespaces:
        return (
            "The kernel's settings forbid user namespaces. Allow them: `sudo sysctl "
            "user.max_user_namespaces=15000`, on older Debian also `sudo sysctl "
            "kernel.unprivileged_userns_clone=1`."
        )
    if "Unknown option" in message:
        return "It is older than 0.4.0. Install a newer one."
    return "Try `bwrap --ro-bind / / --unshare-all true` and look at what this system forbids."
