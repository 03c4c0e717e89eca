"""The command reference, made from the live commands: `python -m redraft.cli.reference > docs/cli.md`.

Reads plain attributes of the commands, so that the text does not depend on how a version of Typer lays
out its help.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from redraft.cli.exits import MEANINGS

__all__ = ["reference"]

_HEAD = """\
# Command reference

Made from the live commands by `python -m redraft.cli.reference > docs/cli.md`; a test compares the two.

`redraft --help` and `redraft COMMAND --help` say the same in the terminal. Answers and figures go to
standard output, progress and errors to standard error, so that output can be piped. `NO_COLOR` turns
colours off; where standard error is no terminal there is no bar either, only lines."""


def reference(app: typer.Typer) -> str:
    """The reference as Markdown.

    Args:
        app: the application.
    """
    root = typer.main.get_command(app)
    return "\n\n".join([_HEAD, *_tree("redraft", root), *_exits()]) + "\n"


def _tree(path: str, command: Any) -> Iterator[str]:
    """The sections of a command and of those below it."""
    yield from _command(path, command)
    for name, below in getattr(command, "commands", {}).items():
        yield from _tree(f"{path} {name}", below)


def _command(path: str, command: Any) -> Iterator[str]:
    """The section of one command."""
    yield f"## `{path}`"
    yield from _help(command.help or "")
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = [path, *(_name(p) for p in arguments), *(["[OPTIONS]"] if options else [])]
    yield f"```\n{' '.join(usage)}\n```"
    rows = [(f"`{_name(p)}`", _words(p)) for p in (*arguments, *options)]
    if rows:
        yield _table(("name", "meaning"), rows)


def _help(text: str) -> Iterator[str]:
    """Paragraphs as they are; one that is marked as laid out by hand becomes a block."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if not paragraph.startswith("\b\n"):
            yield paragraph
            continue
        title, *lines = paragraph.removeprefix("\b\n").split("\n")
        yield title
        yield "```bash\n" + inspect.cleandoc("\n".join(lines)) + "\n```"


def _name(parameter: Any) -> str:
    """An option's names and what it takes, e.g. `--model NAME, -m NAME`; an argument's name."""
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return str(value)
    # The long name first, whatever order they were given in.
    names = sorted(parameter.opts, key=lambda name: (not name.startswith("--"), name))
    if getattr(parameter, "is_flag", False):
        return ", ".join(names)
    return f"{', '.join(names)} {value}"


def _words(parameter: Any) -> str:
    words = " ".join((parameter.help or "").split())
    if parameter.required:
        return f"{words} Required."
    shown = getattr(parameter, "show_default", False) and not getattr(parameter, "is_flag", False)
    return f"{words} Default: {parameter.default}." if shown else words


def _exits() -> Iterator[str]:
    yield "## Exit codes"
    yield _table(("code", "meaning"), [(str(int(code)), text) for code, text in MEANINGS.items()])


def _table(head: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "\n".join(f"| {left} | {right.replace('|', '&#124;')} |" for left, right in lines)


if __name__ == "__main__":
    from redraft.cli.app import app

    print(reference(app), end="")
