"""The user's page on the budget: its snippets run, its numbers are the code's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from redraft.budget import DEFAULT_WINDOW, FREE_RUN, MARGIN, MAXIMUM
from redraft.prompts import defuse, readout_line
from redraft.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "budget.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_python_on_the_page_runs() -> None:
    (snippet,) = fenced("python")
    exec(compile(snippet, "docs/budget.md", "exec"), {})


def test_the_settings_file_on_the_page_is_accepted(tmp_path: Path) -> None:
    (snippet,) = fenced("toml")
    assert tomllib.loads(snippet)
    file = tmp_path / "redraft.toml"
    file.write_text(snippet, encoding="utf-8")
    assert Settings.load(file, {}) == Settings(budget=32_000)
    assert Settings.load(None, {"REDRAFT_BUDGET": "32000"}) == Settings(budget=32_000)


def test_the_readout_on_the_page_is_the_one_that_a_model_sees() -> None:
    line = readout_line(12_345, 29_952, "7f3a")
    assert line in PAGE
    assert f"`{defuse('[redraft:7f3a]', '7f3a')}`" in PAGE


def test_the_numbers_on_the_page_are_the_codes() -> None:
    assert f"else {DEFAULT_WINDOW:,}" in PAGE
    assert f"| `margin` | {MARGIN:,} |" in PAGE
    assert f"| `output_reserve` | {Settings().output_reserve:,} |" in PAGE
    assert f"After {MAXIMUM} rollbacks" in PAGE
    assert FREE_RUN == 3
    assert "After three such rounds" in PAGE
    assert [int(mark) for mark in re.findall(r"^\| (\d+) % \|", PAGE, re.MULTILINE)] == [25, 50, 75]
