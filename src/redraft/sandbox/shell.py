"""The script around each command, and what it reports back. Pure.

Each command gets a fresh bash, because a shell that one command broke must not break the next.
What has to last is small: the working directory and the exported variables. The script writes them
to a file when the shell ends, and the next shell starts with them. A shell that was replaced or
killed writes nothing, so the state stays what it was.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

__all__ = ["State", "command_bytes", "first_environment", "looks_secret", "read_state", "script"]

# These belong to one shell and not to its environment.
_SHELL_OWN = frozenset({"_", "SHLVL"})
# Bash would run these before the first command, or obey options that the command did not set.
_SHELL_HOOKS = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND"})
_FUNCTION = b"BASH_FUNC_"
_SECRET_WORDS = frozenset(
    {
        "APIKEY",
        "CREDENTIAL",
        "CREDENTIALS",
        "KEY",
        "KEYS",
        "PASSPHRASE",
        "PASSWD",
        "PASSWORD",
        "PAT",
        "SECRET",
        "SECRETS",
        "TOKEN",
    }
)
_SURROGATE = re.compile("[\ud800-\udfff]")

# Kept on one line: bash numbers the lines of the command from the line of its `eval`. Every step is
# a builtin, so it works after `PATH=`. `>|` writes under noclobber, `set -f` keeps names that hold
# a star, the groups hide the script from `set -x`. The EXIT trap serves `exit`, `set -e` and
# signals; the call after `eval` serves a command that set an EXIT trap of its own. The record "="
# comes last, so a file without it was not finished.
_SCRIPT = (
    "__redraft_keep() {{ {{ set +xveu -f; }} 2>/dev/null; local IFS=$'\\n' name; "
    "{{ builtin pwd; builtin printf '\\0'; "
    'for name in $(builtin compgen -e); do builtin printf \'%s=%s\\0\' "$name" "${{!name}}"; done; '
    "builtin printf '=\\0'; }} >| {state}; return ${{1:-0}}; }}; "
    "trap '{{ __redraft_keep; }} 2>/dev/null' EXIT; "
    'eval "$(< {command})"; {{ __redraft_keep $?; }} 2>/dev/null'
)


@dataclass(frozen=True)
class State:
    """What lasts from one command to the next.

    Attributes:
        directory: the working directory, as bytes, since a path need not be text.
        environment: the exported variables; values need not be text either.
    """

    directory: bytes
    environment: Mapping[bytes, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: Path | str, variables: Mapping[str, str]) -> Self:
        """The state with names and values as text."""
        environment = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
        return cls(os.fsencode(directory), environment)


def script(state: str, command: str) -> str:
    """The shell text that runs the file `command` and leaves the state in the file `state`."""
    return _SCRIPT.format(state=shlex.quote(state), command=shlex.quote(command))


def command_bytes(command: str) -> bytes:
    """The command as UTF-8; a lone surrogate, which has no UTF-8 form, becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", command).encode()


def read_state(report: bytes, before: State) -> State:
    """The state that a shell reported, or `before` where the report is missing or unfinished.

    Args:
        report: the bytes of the state file; any bytes will do.
        before: the state that the shell started with.
    """
    records = report.split(b"\0")
    if len(records) < 3 or records[-2:] != [b"=", b""]:
        return before
    directory = records[0].removesuffix(b"\n")
    if not directory.startswith(b"/"):
        return before
    # Exported functions cannot be read back as plain variables; those given at the start last.
    variables = {k: v for k, v in before.environment.items() if k.startswith(_FUNCTION)}
    for record in records[1:-2]:
        name, equals, value = record.partition(b"=")
        if name and equals and name.decode("latin-1") not in _SHELL_OWN:
            variables[name] = value
    return State(directory, variables)


def looks_secret(name: str) -> bool:
    """Whether a variable's name says that it holds a credential.

    `OPENAI_API_KEY`, `HF_TOKEN`, `AWS_SECRET_ACCESS_KEY` and `DB_PASSWORD` do;
    `TOKENIZERS_PARALLELISM` and `KEYBOARD` do not, since whole words are compared.
    """
    return not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


def first_environment(harness: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The environment of the first command.

    Args:
        harness: the environment of this process; credentials and shell start-up hooks stay behind.
        asked: variables to set; what is asked for by name is given, credential or not.
    """
    kept = {
        name: value
        for name, value in harness.items()
        if name not in _SHELL_HOOKS | _SHELL_OWN and not looks_secret(name)
    }
    return kept | dict(asked)
