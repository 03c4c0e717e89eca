"""The text of a turn as it is shown, and when two texts count as the same."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import canonical, lines, mark, same, visible
from redraft.context.shown import with_old_lines
from redraft.testing.strategies import bodies

ANY = st.text(st.characters(exclude_categories=())) | bodies()
BLANKS = st.text(" \t\r\n", max_size=4)


@given(ANY)
def test_lines_end_at_cr_lf_and_crlf_and_nowhere_else(text: str) -> None:
    split = lines(text)
    assert "".join(split) == text
    assert all(re.fullmatch(r"[^\r\n]*(\r\n|\n|\r)", line) for line in split[:-1])
    assert "\r\n" not in {a[-1] + b[0] for a, b in pairwise(split)}


@given(ANY)
def test_what_is_visible_is_utf_8_and_as_long_as_the_text(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert len(shown) == len(text)
    assert visible(shown) == shown


@given(ANY, st.sampled_from(("\n", "\r\n", "\r")), BLANKS)
def test_line_ends_and_trailing_blanks_make_no_difference(text: str, end: str, blank: str) -> None:
    other = "".join(line.rstrip("\r\n \t") + end for line in lines(text)) + blank
    assert same(text, other)
    assert canonical(text) == canonical(other)


@given(ANY, ANY)
def test_two_texts_are_the_same_exactly_where_their_canonical_lines_are(a: str, b: str) -> None:
    assert same(a, b) == (canonical(a) == canonical(b))


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", " a"), ("a", "\na"), ("a b", "a  b"), ("a\n\nb", "a\nb"), ("a", "a\x0c")],
)
def test_everything_else_does(one: str, other: str) -> None:
    assert not same(one, other)


class TestOldLines:
    @given(ANY, st.sampled_from(("\n", "\r\n")))
    def test_an_editor_that_changed_nothing_changed_nothing(self, text: str, end: str) -> None:
        shown = end.join(line.rstrip("\r\n \t") for line in lines(visible(text)))
        assert with_old_lines(text, shown) == text

    @given(ANY, ANY)
    def test_it_only_ever_changes_line_ends_trailing_blanks_and_surrogates(
        self, old: str, new: str
    ) -> None:
        new = visible(new)
        assert same(visible(with_old_lines(old, new)), new)

    @given(
        st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abcx"), max_size=8)
    )
    def test_every_line_that_stands_in_the_old_text_keeps_its_end(
        self, old: list[str], new: list[str]
    ) -> None:
        """Also where it was moved, repeated, or stands behind a line from far below."""
        before = "".join(f"{line} \r\n" for line in old)
        after = "".join(f"{line}\n" for line in new)
        wanted = "".join(f"{line} \r\n" if line in old else f"{line}\n" for line in new)
        got = with_old_lines(before, after)
        assert got in (wanted, before)

    def test_lines_that_look_alike_are_taken_in_order(self) -> None:
        old = "x\n}  \ny\r\n}\r\n"
        assert with_old_lines(old, "x\n}\nnew\n}\n") == "x\n}  \nnew\n}\r\n"

    def test_the_last_line_gets_no_end_that_it_did_not_have(self) -> None:
        assert with_old_lines("a\r\nb", "a\nc\nb\n") == "a\r\nc\nb\n"
        assert with_old_lines("a\r\nb\r\n", "b\na") == "b\r\na"

    def test_a_surrogate_comes_back_with_its_line(self) -> None:
        assert with_old_lines("\ud83d x\ny", "\ufffd x\nz") == "\ud83d x\nz"


@given(ANY)
def test_a_mark_is_one_word_without_brackets(word: str) -> None:
    done = mark(word)
    assert done
    assert len(done) <= 200
    assert not re.search(r"[\s\[\]=]", done)
    assert mark(done) == done
    done.encode()
