"""What a model is told that writes its calls as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redraft import prompts
from redraft.agent import BASH
from redraft.dialects.fenced_calls import spoken
from redraft.dialects.fenced_results import is_frame_line
from redraft.tokens import default_counter
from redraft.tools import EDIT_CONTEXT, described


def section() -> str:
    return prompts.calls_section([described(BASH), described(EDIT_CONTEXT)])


def test_the_section_shows_a_call_as_it_is_read() -> None:
    (call,) = spoken(section()).calls
    assert call.name == "NAME"


def test_the_section_is_small_and_begins_and_ends_with_lines_that_can_be_found_again() -> None:
    text = section()
    assert default_counter().count(text) < 600
    assert text.splitlines()[0] == prompts.CALLS_MARK
    assert text.splitlines()[-1] == prompts.CALLS_END


def test_without_tools_there_is_nothing_to_say() -> None:
    assert prompts.calls_section([]) == ""


@pytest.mark.parametrize(
    "notice",
    [
        prompts.elsewhere_notice,
        prompts.forged_notice,
        prompts.forged_reply_notice,
        prompts.forged_result,
        prompts.unreadable_fence_result,
        lambda tag: prompts.unreadable_fence_result(tag, cut=True),
    ],
)
def test_what_is_told_is_ours_short_and_no_frame(notice: Callable[[str], str]) -> None:
    text = notice("4f2a")
    assert text.startswith("[redraft:4f2a] ")
    assert default_counter().count(text) < 130
    assert not any(map(is_frame_line, text.splitlines()))


def test_the_example_of_the_tool_is_a_call_on_this_route() -> None:
    text = prompts.system_section("", interface="tool", tag="4f2a", fenced=True)
    (call,) = spoken(text).calls
    assert call.name == "edit_context"
