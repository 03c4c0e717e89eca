"""Texts on their way in and out."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.cli.texts import one_line, read_file, read_task
from redraft.errors import SettingsError

ANY_TEXT = st.text(st.characters())
"""Also with control characters and lone surrogates."""


@given(ANY_TEXT, st.integers(2, 50))
def test_one_line_is_one_line_of_printable_characters(text: str, most: int) -> None:
    line = one_line(text, most)
    assert line == "" or line.isprintable()
    assert len(line) <= most


@given(st.lists(st.text("abc-|$", min_size=1), max_size=9))
def test_one_line_keeps_words_that_fit(words: list[str]) -> None:
    assert one_line("\n".join(words), 200) == " ".join(words)


def test_a_cut_shows() -> None:
    assert one_line("a" * 11, 10) == "a" * 9 + "\N{HORIZONTAL ELLIPSIS}"
    assert one_line("a" + "\n" * 99, 10).endswith("\N{HORIZONTAL ELLIPSIS}")


@given(ANY_TEXT.filter(lambda text: text != "-" and not (text[:1] == "@" and len(text) > 1)))
def test_a_task_in_words_is_taken_as_it_is(text: str) -> None:
    assert read_task(text, io.BytesIO(b"never read")) == text


@given(st.text())
def test_standard_input_is_read_as_utf_8(text: str) -> None:
    read = read_task("-", io.BytesIO(text.encode()))
    assert read == text.removeprefix("\ufeff").rstrip("\r\n")


@given(st.text(), st.sampled_from([b"\xff", b"\xe9 ", b"\xc3", b"\xed\xa0\x80"]))
def test_standard_input_that_is_no_text_is_named_with_the_place(start: str, broken: bytes) -> None:
    place = len(start.encode())
    with pytest.raises(SettingsError, match=f"standard input is not UTF-8 text .byte {place} is"):
        read_task("-", io.BytesIO(start.encode() + broken))


def test_a_file_that_never_ends_is_not_read_to_its_end() -> None:
    with pytest.raises(SettingsError, match="more than 10,000,000 bytes"):
        read_file(Path("/dev/zero"), "the task")
