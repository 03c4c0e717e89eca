"""Settings: one place, three sources, and errors that say what is allowed."""

from __future__ import annotations

import ast
import inspect
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft import settings as module
from redraft.errors import SettingsError
from redraft.settings import FOREIGN_VARIABLES, Settings


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "redraft.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_defaults_are_the_designs_numbers() -> None:
    settings = Settings.load(None, {})
    assert settings == Settings()
    assert settings.gate == "fit"
    assert settings.margin == 2_048
    assert settings.nudge_tiers == (25, 50, 75)
    assert settings.rollback_max == 50
    assert settings.budget is None
    assert settings.window is None


def test_the_defaults_that_budget_keeps_too_are_the_same() -> None:
    from redraft.budget import MARGIN, MAXIMUM, TIERS

    settings = Settings()
    assert (settings.margin, settings.rollback_max, settings.nudge_tiers) == (
        MARGIN,
        MAXIMUM,
        TIERS,
    )


def test_every_setting_has_a_docstring_under_it() -> None:
    body = ast.parse(inspect.getsource(module)).body
    (node,) = (n for n in body if isinstance(n, ast.ClassDef) and n.name == "Settings")
    documented = {
        above.target.id
        for above, below in zip(node.body, node.body[1:], strict=False)
        if isinstance(above, ast.AnnAssign)
        and isinstance(above.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
    assert documented == {field.name for field in fields(Settings)}


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_checked(field: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^{field.name} is <object"):
        Settings(**{field.name: object()})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().gate = "shrink"  # type: ignore[misc]


def test_a_file_sets_what_it_names(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        [redraft]
        budget = 32_000
        gate = "shrink"
        nudge_tiers = [20, 40, 60]
        final_turn = false
        command_timeout = 30
        steer = "Compact at half."
        """,
    )
    settings = Settings.load(file, {})
    assert settings == Settings(
        budget=32_000,
        gate="shrink",
        nudge_tiers=(20, 40, 60),
        final_turn=False,
        command_timeout=30,
        steer="Compact at half.",
    )


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    file = written(tmp_path, '[redraft]\ngate = "shrink"\nmax_steps = 5\n')
    settings = Settings.load(file, {"REDRAFT_GATE": "conserve", "PATH": "/bin"})
    assert (settings.gate, settings.max_steps, settings.interface) == ("conserve", 5, "file")


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("REDRAFT_BUDGET", "32_000", 32_000),
        ("REDRAFT_WINDOW", " 8192 ", 8_192),
        ("REDRAFT_GATE", "shrink", "shrink"),
        ("REDRAFT_INTERFACE", "both", "both"),
        ("REDRAFT_NUDGE_TIERS", "20, 40,60", (20, 40, 60)),
        ("REDRAFT_FINAL_TURN", "no", False),
        ("REDRAFT_FILE_ATTRIBUTES", "TRUE", True),
        ("REDRAFT_COMMAND_TIMEOUT", "2.5", 2.5),
        ("REDRAFT_STEER", " as written ", " as written "),
        ("REDRAFT_PINNED", "0", 0),
    ],
)
def test_a_variable_sets_a_setting(variable: str, text: str, value: object) -> None:
    name = variable.removeprefix("REDRAFT_").lower()
    assert getattr(Settings.load(None, {variable: text}), name) == value


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    file = written(tmp_path, "[redraft]\nbudget = 9000\n")
    assert Settings.load(file, {"REDRAFT_BUDGET": ""}).budget == 9_000


def test_the_variable_that_commands_are_given_is_no_setting() -> None:
    assert set(FOREIGN_VARIABLES) == {"REDRAFT_CONTEXT_FILE", "REDRAFT_HOME"}
    assert Settings.load(None, dict.fromkeys(FOREIGN_VARIABLES, "/x/y")) == Settings()


@pytest.mark.parametrize("variable", ["REDRAFT_BUDGETS", "REDRAFT_budget", "REDRAFT_"])
def test_an_unknown_variable_is_named_with_what_there_is(variable: str) -> None:
    with pytest.raises(SettingsError, match=rf"{variable} in the environment.*use one of budget, "):
        Settings.load(None, {variable: "1"})


def test_an_unknown_key_is_named_with_its_file(tmp_path: Path) -> None:
    file = written(tmp_path, "[redraft]\nbugdet = 1\n")
    with pytest.raises(SettingsError, match=r"bugdet in .*redraft\.toml is no setting.*budget"):
        Settings.load(file, {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("budget", "0"),
        ("budget", "-1"),
        ("budget", "1.5"),
        ("budget", "true"),
        ("budget", '"32000"'),
        ("output_reserve", "-1"),
        ("margin", "0"),
        ("gate", '"loose"'),
        ("gate", '["fit"]'),
        ("gate", "1"),
        ("nudge_tiers", "[25, 50]"),
        ("nudge_tiers", "[50, 50, 75]"),
        ("nudge_tiers", "[75, 50, 25]"),
        ("nudge_tiers", "[0, 50, 75]"),
        ("nudge_tiers", "[25, 50, 100]"),
        ("nudge_tiers", "[true, 2, 3]"),
        ("final_turn", "1"),
        ("final_turn", '"true"'),
        ("max_steps", "0"),
        ("command_timeout", "0"),
        ("command_timeout", "nan"),
        ("command_timeout", "inf"),
        ("command_timeout", "true"),
        ("steer", "3"),
        ("interface", "{}"),
    ],
)
def test_a_bad_value_in_the_file_is_named_with_what_is_allowed(
    tmp_path: Path, key: str, value: str
) -> None:
    file = written(tmp_path, f"[redraft]\n{key} = {value}\n")
    with pytest.raises(SettingsError, match=rf"^{key} in .*redraft\.toml is .*; give "):
        Settings.load(file, {})


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        ("REDRAFT_BUDGET", "many", "a whole number from 1 to 100000000"),
        ("REDRAFT_BUDGET", "1e5", "a whole number"),
        ("REDRAFT_GATE", "FIT", "one of fit, shrink, conserve"),
        ("REDRAFT_FINAL_TURN", "maybe", "true or false"),
        ("REDRAFT_NUDGE_TIERS", "25,50", "three rising percentages"),
        ("REDRAFT_NUDGE_TIERS", "a,b,c", "three rising percentages"),
        ("REDRAFT_COMMAND_TIMEOUT", "nan", "a number of seconds from 0.1 to 86400"),
    ],
)
def test_a_bad_variable_is_named_with_its_text_and_what_is_allowed(
    variable: str, text: str, allowed: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(None, {variable: text})
    assert str(caught.value).startswith(f"{variable} is '{text}'; give {allowed}")


@pytest.mark.parametrize("text", ["gate = 'fit'", "[redarft]\ngate = 'fit'", "redraft = 3"])
def test_settings_outside_the_table_are_not_silently_ignored(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"outside the table \[redraft\]"):
        Settings.load(written(tmp_path, text), {})


def test_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    assert Settings.load(written(tmp_path, ""), {}) == Settings()


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        Settings.load(tmp_path / "none.toml", {})


@pytest.mark.parametrize("data", [b"[redraft\n", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "redraft.toml"
    file.write_bytes(data)
    with pytest.raises(SettingsError, match="is not TOML in UTF-8"):
        Settings.load(file, {})


@given(
    st.dictionaries(
        st.sampled_from([f"REDRAFT_{field.name.upper()}" for field in fields(Settings)]),
        st.text(max_size=12),
        max_size=4,
    )
)
def test_any_environment_gives_settings_or_a_settings_error(env: dict[str, str]) -> None:
    answer: Settings | SettingsError
    try:
        answer = Settings.load(None, env)
    except SettingsError as error:
        answer = error
    named = any(variable in str(answer) for variable in env)
    assert named if isinstance(answer, SettingsError) else isinstance(answer, Settings)
