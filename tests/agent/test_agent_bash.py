"""How a call of the tool `bash` is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.agent.bash import BASH, LONGEST, Command, read_command

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["command", "timeout", "other"]), ANY_JSON))
def test_any_arguments_give_a_command_or_a_complaint(arguments: dict[str, Any]) -> None:
    read = read_command(arguments, 120.0)
    if isinstance(read, str):
        assert read.startswith(("`command` ", "`timeout` "))
    else:
        assert read.text == arguments["command"]
        assert 0 < read.seconds <= LONGEST


@pytest.mark.parametrize(
    ("timeout", "default", "seconds"),
    [
        (None, 120.0, 120.0),
        (5, 120.0, 5.0),
        (0.5, 120.0, 0.5),
        ("30", 120.0, 30.0),
        (1e9, 120.0, LONGEST),
        (float("inf"), 120.0, LONGEST),
        (1e9, 4_000.0, 4_000.0),
        (None, 4_000.0, 4_000.0),
    ],
)
def test_the_time_is_what_the_model_asks_for_up_to_the_longest(
    timeout: Any, default: float, seconds: float
) -> None:
    read = read_command({"command": "ls", "timeout": timeout}, default)
    assert read == Command("ls", seconds)


@pytest.mark.parametrize("timeout", [0, -3, "soon", True, [5], float("nan"), 10**400])
def test_a_time_that_is_none_is_refused_and_not_guessed(timeout: Any) -> None:
    complaint = read_command({"command": "ls", "timeout": timeout}, 120.0)
    assert complaint == "`timeout` must be a number of seconds above 0"


def test_the_schema_asks_for_what_is_read() -> None:
    parameters = BASH["function"]["parameters"]
    assert set(parameters["properties"]) == {"command", "timeout"}
    assert parameters["required"] == ["command"]
