from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from token_texts import texts

from redraft.tokens import o200k_base
from redraft.tokens.pieces import PIECE_CHARS, as_sent, cuts_clean, pieces


def ids(text: str) -> list[int]:
    return o200k_base().encode_ordinary(text)


@given(texts, st.integers(1, 30))
def test_pieces_join_to_the_text_and_none_is_empty_or_too_long(text: str, longest: int) -> None:
    cut = list(pieces(text, longest))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= longest for piece in cut)


@given(texts.map(as_sent))
def test_a_clean_cut_changes_no_token(text: str) -> None:
    whole = ids(text)
    for at in range(1, len(text)):
        if cuts_clean(text[at - 1], text[at]):
            assert ids(text[:at]) + ids(text[at:]) == whole, (text[:at], text[at:])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("e", " "),
        (".", " "),
        ("\n", "x"),
        ("e", "."),
        ("5", ","),
        ("x", "1"),
        ("1", "x"),
        ("語", "。"),
    ],
)
def test_ordinary_text_offers_clean_cuts(before: str, after: str) -> None:
    assert cuts_clean(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a", "b"),
        ("1", "2"),
        (" ", " "),
        (" ", "x"),
        ("n", "'"),
        ("\n", "/"),
        ("=", "="),
        ("\n", "\n"),
    ],
)
def test_no_cut_is_clean_inside_what_may_be_one_token(before: str, after: str) -> None:
    assert not cuts_clean(before, after)


@given(st.lists(st.text("abcDé", min_size=1, max_size=12), min_size=1), st.integers(14, 40))
def test_words_in_short_pieces_cost_what_the_whole_costs(words: list[str], longest: int) -> None:
    text = " ".join(words)
    assert sum(len(ids(piece)) for piece in pieces(text, longest)) == len(ids(text))


def test_a_text_of_one_piece_is_passed_on_as_the_same_object() -> None:
    text = "x" * PIECE_CHARS
    assert next(pieces(text)) is text
    assert list(pieces("")) == []


def test_each_surrogate_is_sent_as_the_replacement_character() -> None:
    assert as_sent("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert as_sent("naïve 🚀") == "naïve 🚀"
