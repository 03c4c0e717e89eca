"""Calls that a model writes as text: what is one, what is quoted, what breaks off."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.dialects.fenced_calls import FencedCall, call_fence, spoken
from redraft.testing.strategies import arguments, bodies

LS = '```tool_call\n{"name": "bash", "arguments": {"command": "ls"}}\n```'
CALL = FencedCall("bash", '{"command": "ls"}')


@pytest.mark.parametrize(
    ("text", "prose", "calls"),
    [
        ("", "", []),
        ("no calls here", "no calls here", []),
        (LS, "", [CALL]),
        (f"I look.\n\n{LS}\n", "I look.", [CALL]),
        (f"{LS}\n{LS}", "", [CALL, CALL]),
        (f"one\n{LS}\ntwo\n{LS}\nthree", "one\n\ntwo\n\nthree", [CALL, CALL]),
        (LS.replace("\n", "\r\n"), "", [CALL]),
        (LS.replace("```", "~~~~"), "", [CALL]),
        (LS.replace("```tool_call", "``` tool_call "), "", [CALL]),
        (f"   {LS}", "", [CALL]),
        ('```tool_call\n{"name": "stop"}\n```', "", [FencedCall("stop", "{}")]),
        (
            '```tool_call\n{"name": "a", "parameters": {"x": 1}}\n```',
            "",
            [FencedCall("a", '{"x": 1}')],
        ),
        (
            '```tool_call\n[{"name": "a"}, {"name": "b"}]\n```',
            "",
            [FencedCall("a", "{}"), FencedCall("b", "{}")],
        ),
        (f"code:\n```python\nprint()\n```\n{LS}", "code:\n```python\nprint()\n```", [CALL]),
        (f"an open one:\n```python\nprint()\n{LS}", "an open one:\n```python\nprint()", [CALL]),
    ],
)
def test_what_is_a_call(text: str, prose: str, calls: list[FencedCall]) -> None:
    said = spoken(text)
    assert (said.prose, list(said.calls), said.cut) == (prose, calls, False)


@pytest.mark.parametrize(
    "text",
    [
        f"write it like this:\n````\n{LS}\n````",
        f"````markdown\n{LS}\n````",
        "the word ```tool_call in a line",
        "    ```tool_call\n    {}\n    ```",
        '```json\n{"name": "bash", "arguments": {}}\n```',
        "```tool_calls\n{}\n```",
    ],
)
def test_what_is_quoted_or_looks_alike_is_no_call(text: str) -> None:
    assert spoken(text).calls == ()
    assert spoken(text).prose == text


@pytest.mark.parametrize("body", ["ls -l", "{'name': 'bash'}", "{}", "[]", '{"name": 7}', '"bash"'])
def test_a_fence_without_a_call_in_it_is_answered_as_unreadable(body: str) -> None:
    (call,) = spoken(f"```tool_call\n{body}\n```").calls
    assert call == FencedCall("tool_call", body)


def test_a_reply_that_breaks_off_within_a_call_is_cut() -> None:
    assert spoken(LS[:-30]).cut
    assert not spoken(LS.removesuffix("\n```")).cut
    assert spoken(LS.removesuffix("\n```")).calls == (CALL,)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(("bash", "read_file")), arguments()), max_size=3), bodies()
)
def test_calls_that_are_written_are_read(calls: list[tuple[str, str]], word: str) -> None:
    prose = "I look." if "`" in word or "~" in word or not word.strip() else f"I look. {word}"
    text = "\n\n".join([prose.strip("\r\n"), *(call_fence(*call) for call in calls)])
    said = spoken(text)
    assert said.prose == prose.strip("\r\n")
    assert [call.name for call in said.calls] == [name for name, _ in calls]
    for read, (_, given_arguments) in zip(said.calls, calls, strict=True):
        assert json.loads(read.arguments) == json.loads(given_arguments)
        assert spoken(call_fence(read.name, read.arguments)).calls == (read,)


@settings(max_examples=60)
@given(st.text('`~tol_ca{}"\n\r :x', max_size=60))
def test_any_text_can_be_taken_apart(text: str) -> None:
    assert spoken(text).calls or spoken(text).prose == text
