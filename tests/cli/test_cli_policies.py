"""`redraft policies`: one line each, who decides, and the options with their defaults."""

from __future__ import annotations

import json

import pytest
from cli_world import redraft

from redraft.cli.exits import ExitCode
from redraft.policies import SPECTRUM


def test_each_takes_one_line_with_who_decides() -> None:
    done = redraft("policies")
    assert done.code == 0
    lines = done.out.splitlines()
    assert len(lines) == len(SPECTRUM)
    for line, one in zip(lines, SPECTRUM.values(), strict=True):
        assert line.startswith(f"{one.name} ")
        assert f" {one.decides} " in line
        assert line.endswith(f" {one.line}")
        assert len(line) <= 120


def test_with_a_name_its_options_come_with_defaults_and_ranges() -> None:
    done = redraft("policies", "hybrid")
    assert done.code == 0
    assert "decides: both" in done.out
    assert "beneath=sliding-window  (a scheduled policy's name)" in done.out
    assert "late=0.85  (a share over 0, up to 1)" in done.out
    assert "the share of the limit from which it steps in" in done.out


def test_one_without_options_says_so() -> None:
    assert redraft("policies", "append-only").out.splitlines()[-1] == "options: none"


def test_json_is_a_list_of_all_or_one_object() -> None:
    rows = json.loads(redraft("policies", "--json").out)
    assert [row["name"] for row in rows] == list(SPECTRUM)
    one = json.loads(redraft("policies", "sliding-window", "--json").out)
    assert one in rows
    assert one["decides"] == "harness"
    assert one["options"][0] == {
        "name": "trigger",
        "default": "0.75",
        "allowed": "a share over 0, up to 1",
        "meaning": "the share of the limit from which it acts.",
    }


@pytest.mark.parametrize("flag", [(), ("--json",)])
def test_a_name_that_does_not_exist_is_a_mistake_with_a_hint(flag: tuple[str, ...]) -> None:
    done = redraft("policies", "slidin-window", *flag)
    assert done.code == ExitCode.USAGE
    assert "Did you mean 'sliding-window'" in done.err
    assert done.out == ""
