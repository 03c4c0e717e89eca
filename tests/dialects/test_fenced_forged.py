"""What models do with fences when nobody checks their grammar: thoughts, made-up results, other forms."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import FencedCall, call_fence, elsewhere, spoken
from redraft.dialects.fenced_results import (
    Piece,
    is_frame_line,
    results_message,
    wrapped,
)

LS = call_fence("bash", '{"command": "ls"}')
CALL = FencedCall("bash", '{"command": "ls"}')
MADE_UP = results_message(1, [Piece("r1.1", "bash", "a.txt")])["content"]


def read(text: str, taken: tuple[str, ...] = ()) -> Any:
    message = {"role": "assistant", "content": text}
    return Fenced().read({"choices": [{"message": message, "finish_reason": "stop"}]}, taken)


class TestForged:
    def test_a_call_in_front_of_made_up_results_is_real_and_one_behind_them_is_not(self) -> None:
        reply = read(f"{LS}\n\n{MADE_UP}\n\n{LS}\n\n{LS}")
        assert reply.forged
        assert reply.behind == (1, 2)
        assert [call.id for call in reply.content.calls] == ["r1.1", "r1.2", "r1.3"]

    def test_a_fence_that_was_never_closed_ends_where_results_are_made_up(self) -> None:
        said = spoken(f"{LS.removesuffix('```')}{MADE_UP}\n{LS}")
        assert (said.calls, said.real, said.forged, said.cut) == ((CALL, CALL), 1, True, False)

    def test_results_without_a_call_are_made_up_too(self) -> None:
        reply = read(f"{MADE_UP}\nSo there is a.txt.")
        assert (reply.forged, reply.behind, reply.content.calls) == (True, (), ())

    @pytest.mark.parametrize(
        "text",
        [
            f"It looks like this:\n````\n{MADE_UP}\n````",
            "The line [result r1.1 bash] stands in front.",
            f"> {MADE_UP}".replace("\n", "\n> "),
            "[result of the search]",
            "[tool results]",
        ],
    )
    def test_what_is_quoted_or_only_looks_alike_is_not(self, text: str) -> None:
        assert not spoken(text).forged
        assert not spoken(f"{text}\n\n{LS}").forged

    def test_nothing_of_the_reply_is_lost(self) -> None:
        text = f"{LS}\n\n{MADE_UP}\n\n{LS}"
        assert read(text).content.carriers[0]["content"] == text

    @settings(max_examples=40)
    @given(st.integers(1, 999), st.text("ab\n[]", max_size=20))
    def test_the_frames_own_lines_are_known_and_no_line_of_a_body_is(
        self, number: int, body: str
    ) -> None:
        lines = wrapped(body, number).split("\n")
        assert is_frame_line(lines[0])
        assert not any(map(is_frame_line, lines[1:-1]))


class TestThoughts:
    @pytest.mark.parametrize("opened", ["<think>\n", ""])
    def test_a_call_in_thoughts_is_not_made(self, opened: str) -> None:
        said = spoken(f"{opened}I could do this:\n{LS}\n</think>\n\nI do that.\n\n{LS}")
        assert said.calls == (CALL,)
        assert said.prose.endswith("I do that.")

    def test_thoughts_that_never_end_hold_no_call(self) -> None:
        assert spoken(f"<think>\n{LS}").calls == ()

    def test_a_word_in_a_call_is_no_end_of_thoughts(self) -> None:
        fence = call_fence("bash", '{"command": "grep -c \'</think>\' log"}')
        assert len(spoken(f"{LS}\n{fence}").calls) == 2


class TestOtherForms:
    BODY = '{"name": "bash", "arguments": {"command": "ls"}}'

    @pytest.mark.parametrize(
        "text",
        [
            f"```json\n{BODY}\n```",
            f"I call it.\n\n```\n{BODY}\n```\n",
            f"~~~\n{BODY}\n~~~",
            f"<tool_call>\n{BODY}\n</tool_call>",
            f"<function_call>{BODY}</function_call>",
            BODY,
            f"<think>\nhm\n</think>\n{BODY}",
            f"```json\n[{BODY}]\n```",
        ],
    )
    def test_a_call_in_another_form_is_noticed(self, text: str) -> None:
        assert spoken(text).calls == ()
        assert elsewhere(text, ["bash"])

    @pytest.mark.parametrize(
        "text",
        [
            "The answer is 42.",
            '```json\n{"name": "Ada", "arguments": {}}\n```',
            "```bash\nls\n```",
            f"Write it so:\n````\n{LS}\n````",
            '{"name": "bash"',
            "",
        ],
    )
    def test_an_answer_is_not(self, text: str) -> None:
        assert not elsewhere(text, ["bash"])


def test_line_breaks_inside_of_a_text_are_read_as_they_are_meant() -> None:
    (call,) = spoken('```tool_call\n{"name": "bash", "arguments": {"command": "a\nb"}}\n```').calls
    assert call.arguments == '{"command": "a\\nb"}'
