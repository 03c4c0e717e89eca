"""What contained commands must not see though its user could: secrets, sockets, variables. Pure.

A list can never be complete, so it is not what the rest stands on: nothing of this can be written to,
and without a network nothing that was read can be sent anywhere but into the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from redraft.sandbox.shell import first_environment

__all__ = ["bound_sockets", "contained_environment", "is_key_file", "secret_paths"]

_IN_HOME = {
    "keys": ".ssh .gnupg .pki .cert .password-store .vault-token .netrc .authinfo .authinfo.gpg "
    ".Xauthority .local/share/keyrings .local/share/kwalletd .local/share/gnupg .bitcoin .ethereum "
    ".electrum",
    "clouds": ".aws .azure .boto .s3cfg .oci .kube .minikube .docker .terraform.d .terraformrc "
    ".databrickscfg .snowflake .rclone.conf .ngrok2 .fly .heroku .railway",
    "registries": ".git-credentials .npmrc .yarnrc .yarnrc.yml .pypirc .pip .gem/credentials "
    ".bundle/config .cargo/credentials .cargo/credentials.toml .composer/auth.json .m2/settings.xml "
    ".m2/settings-security.xml .gradle/gradle.properties .nuget/NuGet .sbt/.credentials .ivy2/.credentials",
    "databases": ".pgpass .my.cnf .mylogin.cnf .mongorc.js .dbshell .rediscli_auth",
    "models": ".cache/huggingface/token .cache/huggingface/stored_tokens .huggingface .kaggle .openai "
    ".anthropic .claude .claude.json .codex .gemini .copilot .aider.conf.yml",
    "histories": ".bash_history .zsh_history .zsh_sessions .history .sh_history .python_history "
    ".node_repl_history .psql_history .mysql_history .sqlite_history .rediscli_history .lesshst .viminfo "
    ".local/share/fish/fish_history",
    "people": ".mozilla .thunderbird .var/app snap .purple .weechat .irssi .mutt .muttrc .msmtprc",
    # As a whole, for half of all programs keep their credentials there.
    "settings": ".config",
    "ours": ".local/share/redraft .local/state/redraft",
}
"""Below a home directory."""

_IN_SYSTEM = {
    "keys": "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d "
    "/etc/ssl/private /etc/krb5.keytab /etc/letsencrypt /etc/wireguard /etc/ppp "
    "/etc/NetworkManager/system-connections /etc/docker/key.json",
    "machines": "/etc/kubernetes /etc/rancher /var/lib/kubelet /var/lib/docker /var/lib/containerd "
    "/var/lib/containers /var/lib/lxd /var/lib/incus /var/snap /var/lib/cloud",
    "people": "/var/spool/cron /var/spool/mail /var/mail /var/backups",
    "kernel": "/sys/kernel/debug /sys/kernel/tracing /sys/kernel/security /sys/fs/bpf /sys/fs/pstore",
}
"""Of the system: mostly what root alone can read, for a run as root."""

_KEY_FILE = re.compile(r"ssh_host_.*_key")

# They name what is hidden, or a directory for temporary files that another one replaces.
_POINTERS = {
    "sockets": "DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS SSH_AUTH_SOCK SSH_AGENT_PID "
    "GPG_AGENT_INFO GNOME_KEYRING_CONTROL DOCKER_HOST CONTAINER_HOST",
    "sessions": "XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY XAUTHORITY TMUX TMUX_PANE STY SUDO_COMMAND",
    "files": "KUBECONFIG TMPDIR TMP TEMP TEMPDIR",
}
_NOT_PASSED = frozenset(name for names in _POINTERS.values() for name in names.split())
_URL_WITH_PASSWORD = re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


def secret_paths(homes: Sequence[PurePosixPath]) -> list[PurePosixPath]:
    """Paths to hide, whether something stands there or not.

    Args:
        homes: home directories of the user.
    """
    below = [home / name for home in homes for names in _IN_HOME.values() for name in names.split()]
    return below + [PurePosixPath(name) for names in _IN_SYSTEM.values() for name in names.split()]


def is_key_file(name: str) -> bool:
    """Whether a file of /etc/ssh of this name is a private key of the machine."""
    return _KEY_FILE.fullmatch(name) is not None


def contained_environment(harness: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The environment of the first contained command.

    What `redraft.sandbox.shell.first_environment` holds back stays behind here too; and so do
    variables that name sockets and sessions of this machine, and values such as
    `postgres://user:password@host`.

    Args:
        harness: the environment of this process.
        asked: variables to set; what is asked for by name is given.
    """
    kept = {
        name: value
        for name, value in first_environment(harness, {}).items()
        if name not in _NOT_PASSED and not _URL_WITH_PASSWORD.search(value)
    }
    return kept | dict(asked)


def bound_sockets(table: str) -> list[PurePosixPath]:
    """The paths of sockets that programs of this machine wait at.

    A socket in the file system can be connected to though it lies in a read-only mount and in another
    network. What listens may do anything: `docker.sock` is root.

    Args:
        table: the text of /proc/net/unix.
    """
    paths = set()
    for line in table.splitlines()[1:]:
        columns = line.split(maxsplit=7)
        # An abstract name starts with @; a relative path cannot be resolved from here.
        if len(columns) == 8 and columns[7].startswith("/"):
            paths.add(PurePosixPath(columns[7]))
    return sorted(paths)
