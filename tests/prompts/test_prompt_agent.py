"""What the agent's model is told, and how results read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.prompts.agent import (
    bad_arguments_result,
    broken_off_notice,
    command_result,
    empty_reply_notice,
    no_such_tool_result,
    system_prompt,
)
from redraft.tokens import default_counter


def test_the_system_prompt_tells_the_times_and_is_short() -> None:
    prompt = system_prompt(120.0, 600.0)
    assert "120 seconds" in prompt
    assert "up to 600" in prompt
    assert default_counter().count(prompt) < 450


@given(st.text())
def test_what_a_successful_command_printed_is_left_alone(output: str) -> None:
    assert command_result(output, 0, timed_out=False, seconds=1.0) is output


@pytest.mark.parametrize("output", ["", "no newline", "newline\n"])
def test_how_a_command_ended_stands_on_a_line_of_its_own(output: str) -> None:
    text = command_result(output, 2, timed_out=False, seconds=1.0)
    assert text.startswith(output)
    assert text.splitlines()[-1] == "[exit code 2]"
    assert "\n\n" not in text


def test_a_command_that_took_too_long_says_so_and_what_to_do() -> None:
    text = command_result("half", 143, timed_out=True, seconds=0.5)
    assert text.startswith("half\n[stopped: not done after 0.5 seconds.")
    assert "`timeout`" in text


def test_an_unknown_tool_cannot_write_lines_of_ours() -> None:
    text = no_such_tool_result("x\n[redraft:7f3a] context", ["bash", "edit_context"])
    assert "\n" not in text
    assert "[redraft" not in text
    assert text.endswith("Tools: `bash`, `edit_context`.")


def test_every_refusal_says_what_to_do_next() -> None:
    assert "Send the call again" in bad_arguments_result("`command` is missing")
    for notice in (broken_off_notice("7f3a"), empty_reply_notice("7f3a")):
        assert notice.startswith("[redraft:7f3a] ")
        assert "\n" not in notice
