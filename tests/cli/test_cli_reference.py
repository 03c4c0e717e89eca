"""The command reference is the live commands, and all of them are documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from cli_world import redraft

from redraft.cli.app import app
from redraft.cli.reference import reference

ROOT = Path(__file__).parents[2]
COMMANDS: dict[str, Any] = {"": typer.main.get_command(app)}
COMMANDS |= COMMANDS[""].commands
COMMANDS |= {
    f"{name} {below}": command
    for name, group in COMMANDS[""].commands.items()
    for below, command in getattr(group, "commands", {}).items()
}


def test_the_reference_is_up_to_date() -> None:
    """If this fails: `python -m redraft.cli.reference > docs/cli.md`."""
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference(app)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_says_what_it_is_for(name: str) -> None:
    assert COMMANDS[name].help
    assert [item.name for item in COMMANDS[name].params if not item.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = redraft(*name.split(), "--help")
    assert (done.code, done.err) == (0, "")
    for item in COMMANDS[name].params:
        assert item.opts[0] in done.out or item.param_type_name == "argument"


def test_the_help_teaches_with_two_examples() -> None:
    out = redraft("--help").out
    assert "  redraft demo" in out
    assert '  redraft run "' in out


def test_the_help_of_run_says_whose_rights_commands_have() -> None:
    assert "with your rights" in " ".join(redraft("run", "--help").out.split())


def test_no_argument_at_all_shows_the_help() -> None:
    done = redraft()
    assert "Usage: " in done.out + done.err
