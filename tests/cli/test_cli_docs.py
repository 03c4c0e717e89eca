"""What docs/run.md says holds for the program as it is."""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_world import redraft

from redraft.agent import Metrics, RunStatus
from redraft.cli.app import app
from redraft.settings import Settings

TEXT = (Path(__file__).parents[2] / "docs" / "run.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", TEXT, re.M | re.S)


COMMANDS = [
    line for block in blocks("bash") for line in block.splitlines() if "redraft run" in line
]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_that_is_shown_can_be_given(line: str) -> None:
    words = shlex.split(line)
    start = words.index("run")
    assert words[start - 1] == "redraft"
    root: Any = typer.main.get_command(app)
    context = root.commands["run"].make_context("run", words[start + 1 :])
    assert context.params["model"]


def test_every_figure_is_explained() -> None:
    named = set(re.findall(r"`(\w+)`", TEXT))
    assert {field.name for field in fields(Metrics)} - named == set()
    assert {str(status) for status in RunStatus} - {"running"} - named == set()


def test_settings_that_are_shown_are_settings(tmp_path: Path) -> None:
    [block] = blocks("toml")
    assert tomllib.loads(block)
    (tmp_path / "s.toml").write_text(block)
    assert Settings.load(tmp_path / "s.toml", {}).budget == 32_000
    shown = dict(re.findall(r"^(REDRAFT_\w+)=(\S+) redraft", TEXT, re.M))
    assert shown
    assert Settings.load(None, shown)


def test_the_python_that_is_shown_runs() -> None:
    [block] = blocks("python")
    space: dict[str, Any] = {}
    exec(compile(block, "docs/run.md", "exec"), space)
    assert callable(space["work"])


def test_the_first_message_in_the_table_is_what_is_said() -> None:
    assert "There is no API key" in redraft("run", "Do it.", "--model", "gpt-5").err
