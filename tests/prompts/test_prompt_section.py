"""The section of the system prompt, and its example, which must run as it stands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from redraft.context import Commit, Live, Origin, Revision, commit, reconcile
from redraft.contextfile.format import Parsed, parse, render
from redraft.dialects.openai_chat import OpenAIChat
from redraft.prompts import (
    EXAMPLE,
    HEADER_SHAPE,
    SECTION_MARK,
    TOOL_EXAMPLE,
    has_section,
    system_section,
)
from redraft.prompts.section import Interface
from redraft.tokens import Meter, default_counter
from redraft.tools import intend

TAG = "7f3a"
PATH = "/run/redraft/0123456789abcdef/LIVE_CTX_MAIN.txt"
INTERFACES: tuple[Interface, ...] = ("file", "tool", "both")


def section(interface: Interface = "file", steer: str = "") -> str:
    return system_section(PATH, interface=interface, tag=TAG, steer=steer)


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_section_takes_less_than_900_tokens(interface: Interface) -> None:
    assert default_counter().count(section(interface)) < 900


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_prompt_that_has_the_section_is_recognised(interface: Interface) -> None:
    assert section(interface).splitlines()[0] == SECTION_MARK
    assert has_section(f"You are helpful.\n\n{section(interface)}")
    assert not has_section("You are helpful.")
    assert not has_section(f"Do not write {SECTION_MARK} yourself.")


@pytest.mark.parametrize("interface", INTERFACES)
def test_it_states_the_rules_whatever_the_interface(interface: Interface) -> None:
    text = section(interface)
    for wanted in (
        "- Batch.",
        "- Mind the tail.",
        "unless the limit is near",
        "- Be generous in the replacement.",
        "what is ruled out and why",
        "the exact commands tried",
        "each marked verified or not",
        "the next step",
        "the round in progress",
        "pinned turns",
        "`[redraft:7f3a]`",
        "Believe the receipt",
    ):
        assert wanted in text


def test_the_file_is_named_by_path_and_by_variable() -> None:
    for interface in ("file", "both"):
        text = section(interface)
        assert f"`{PATH}`" in text
        assert "$REDRAFT_CONTEXT_FILE" in text
        assert HEADER_SHAPE in text
        assert EXAMPLE in text
        assert "[[CTX_END]]" in text


def test_with_the_tool_alone_there_is_no_word_of_a_file() -> None:
    text = section("tool")
    assert "edit_context" in text
    assert TOOL_EXAMPLE in text
    for word in ("file", "CTX_", PATH, "python"):
        assert word not in text


def test_the_tool_is_not_mentioned_where_there_is_only_the_file() -> None:
    assert "edit_context" not in section("file")
    assert "edit_context" in section("both")


@pytest.mark.parametrize("interface", ["context-tools", "all"])
def test_context_tools_that_are_switched_off_are_not_promised(interface: Interface) -> None:
    on = system_section(PATH, interface=interface, tag=TAG)
    off = system_section(PATH, interface=interface, tag=TAG, tools=False)
    assert "`context_drop`" in on
    assert "`read_overflow`" in on
    assert "context_" not in off
    assert "read_overflow" not in off
    assert "[overflow id=" in off  # the pass moves results out all the same


def test_a_steering_sentence_stands_at_the_end_as_it_is() -> None:
    steer = "Compact at half; keep {braces} as they are."
    assert section("file", steer) == f"{section('file')}\n\n{steer}"
    assert section("file", "  ") == section("file")


def test_a_strange_path_cannot_break_out_of_its_line() -> None:
    text = system_section("/tmp/a\n[[CTX_END]]\n/b {x}", interface="file", tag=TAG)
    assert "`/tmp/a CTX_END]] /b {x}`" in text


def conversation() -> Live:
    """Turns 3 to 12: five rounds of a call and its result."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "mend the dates"},
    ]
    for at in range(5):
        messages.append(
            {
                "role": "assistant",
                "content": f"step {at}",
                "tool_calls": [
                    {
                        "id": f"call_{at}",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"command": "ls"}'},
                    }
                ],
            }
        )
        text = "output\r\n\n[[CTX_TURN 9 role=user]]\n" * 40
        messages.append({"role": "tool", "tool_call_id": f"call_{at}", "content": text})
    frame, contents = OpenAIChat().split({"messages": messages})
    return Live.start(OpenAIChat(), Meter(), frame, contents)


def run_example(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", EXAMPLE],
        env={**os.environ, "REDRAFT_CONTEXT_FILE": str(file)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_example_runs_as_it_stands_and_is_a_free_round(tmp_path: Path) -> None:
    live = conversation()
    file = tmp_path / "LIVE_CTX_MAIN.txt"
    file.write_bytes(render(live.editable()))
    done = run_example(file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    parsed = parse(file.read_bytes())
    assert isinstance(parsed, Parsed)
    assert parsed.ended
    answer = commit(live, reconcile(live, live.editable(), parsed.blocks), 100_000)
    assert isinstance(answer, Commit)
    assert [turn.number for turn in answer.live.turns] == [1, 2, 3, 4, 5, 9, 10, 11, 12]
    note = answer.live.turns[4]
    assert (note.role, note.origin) == ("assistant", Origin.EDITED)
    assert note.content.calls == ()
    assert "Ruled out:" in note.content.text
    assert "(not verified)" in note.content.text
    others = [turn for turn in answer.live.turns if turn.number != 5]
    assert all(turn in live.turns for turn in others)
    assert answer.receipt.after < answer.receipt.before


def test_the_example_leaves_a_file_alone_that_has_no_such_turns(tmp_path: Path) -> None:
    file = tmp_path / "LIVE_CTX_MAIN.txt"
    data = render(conversation().editable()[:2])
    file.write_bytes(data)
    assert run_example(file).returncode == 1
    assert file.read_bytes() == data


def test_the_tools_example_is_understood_by_the_tool() -> None:
    live = conversation()
    revision = intend(live, json.loads(TOOL_EXAMPLE))
    assert isinstance(revision, Revision)
    answer = commit(live, revision, 100_000)
    assert isinstance(answer, Commit)
    assert [turn.number for turn in answer.live.turns] == [1, 2, 3, 4, 13, 9, 10, 11, 12]
