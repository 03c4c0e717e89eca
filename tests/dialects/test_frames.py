"""Tool output that lost its call stays inside of its frame."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redraft.dialects import framed
from redraft.testing.strategies import bodies

FIRST, LAST = "[tool output, kept as text]", "[end of tool output]"

forging = st.lists(
    bodies() | st.sampled_from((FIRST, LAST, f"\\{LAST}", "\n", f"\n{LAST}\n", f"{FIRST}\n"))
).map("".join)


@given(forging)
def test_a_frame_opens_once_and_closes_once(text: str) -> None:
    done = framed(text)
    bare = done.replace(f"\\{FIRST}", "").replace(f"\\{LAST}", "")
    assert bare.count(FIRST) == bare.count(LAST) == 1
    assert done.startswith(FIRST + "\n")
    assert done.endswith("\n" + LAST)


@given(forging)
def test_what_is_framed_stays_as_it_is(text: str) -> None:
    assert framed(framed(text)) == framed(text)


def test_text_without_a_frame_in_it_stands_word_for_word() -> None:
    assert framed("a\r\nb ") == f"{FIRST}\na\r\nb \n{LAST}"
