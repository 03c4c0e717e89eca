"""The newest output, cut head and tail to what fits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from redraft.budget import cap_output
from redraft.tokens import default_counter

MARK = re.compile(r"\[\.\.\. ([\d,]+) tokens of output left out \.\.\.\]")

count = default_counter().count


def words(text: str) -> int:
    return len(text.split())


def octets(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


counters = st.sampled_from([count, len, words, octets])
texts = st.lists(
    st.sampled_from(
        [
            "word ",
            "\r\n",
            "\n",
            "\r",
            "\ud83d\ude00",
            "\ud83d",
            "\ude00",
            "😀",
            "日本",
            "  ",
            "0",
            "x" * 90,
        ]
    ),
    max_size=300,
).map("".join)


def parts(text: str, capped: str) -> tuple[str, str]:
    """The head and the tail that were kept; the marker is on a line of its own."""
    found = MARK.search(capped)
    assert found
    head, tail = capped[: found.start()], capped[found.end() :]
    assert head == "" or head[-1] in "\r\n"
    assert tail == "" or tail[0] == "\n"
    head = head if text.startswith(head) else head[:-1]
    return head, tail[1:]


def test_an_output_that_fits_is_the_very_same_object() -> None:
    text = "a line\n" * 100
    capped, left_out = cap_output(text, count(text), count)
    assert capped is text
    assert left_out == 0


def test_the_marker_says_how_many_tokens_are_gone() -> None:
    text = "".join(f"line {at}\n" for at in range(2_000))
    capped, left_out = cap_output(text, 500, count)
    head, tail = parts(text, capped)
    middle = text[len(head) : len(text) - len(tail)]
    assert int(MARK.search(capped)[1].replace(",", "")) == left_out  # type: ignore[index]
    assert abs(left_out - count(middle)) <= len(middle) // 1_000


def test_head_and_tail_get_equal_parts_and_the_room_is_used() -> None:
    text = "".join(f"line {at}\n" for at in range(20_000))
    capped, _ = cap_output(text, 1_000, count)
    head, tail = parts(text, capped)
    assert 950 <= count(capped) <= 1_000
    assert abs(count(head) - count(tail)) <= 20


@given(texts, st.integers(-5, 400), counters)
@example("\r\n" * 50, 30, len)
@example("\ud83d\ude00" * 60, 70, len)
@example("x" * 200, 0, len)
def test_the_result_never_costs_more_than_the_room(
    text: str, room: int, counter: Callable[[str], int]
) -> None:
    capped, left_out = cap_output(text, room, counter)
    assert counter(capped) <= max(room, 0)
    assert (left_out == 0) == (capped is text)


@given(texts, st.integers(0, 400), counters)
@example("\r\n" * 50, 60, len)
@example("\r\n" * 50, 61, len)
@example("\ud83d\ude00" * 60, 70, len)
@example("\ud83d\ude00" * 60, 71, len)
def test_what_is_kept_is_a_head_and_a_tail_cut_between_whole_characters(
    text: str, room: int, counter: Callable[[str], int]
) -> None:
    capped, left_out = cap_output(text, room, counter)
    if not left_out or not MARK.search(capped):
        return
    head, tail = parts(text, capped)
    assert text.startswith(head)
    assert text.endswith(tail)
    for at in (len(head), len(text) - len(tail)):
        assert text[at - 1 : at + 1] != "\r\n"
        assert not re.fullmatch("[\ud800-\udbff][\udc00-\udfff]", text[at - 1 : at + 1])


@given(texts, st.integers(0, 200))
def test_the_same_output_is_cut_the_same_way(text: str, room: int) -> None:
    assert cap_output(text, room, count) == cap_output(text, room, count)


TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"{}\[\],:]+')


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["id", "na me", 'q"]}']),
            st.integers() | st.floats(allow_nan=False) | st.text('ab "\\{},\n', max_size=12),
        ),
        min_size=12,
        max_size=60,
    ),
    st.integers(60, 200),
    st.sampled_from([None, 1]),
)
def test_a_payload_is_cut_between_its_tokens(rows: object, room: int, indent: int | None) -> None:
    text = json.dumps(rows, indent=indent)
    capped, left_out = cap_output(text, room, count)
    if not left_out or not MARK.search(capped):
        return
    head, tail = parts(text, capped)
    whole = TOKENS.findall(text)
    first, last = TOKENS.findall(head), TOKENS.findall(tail)
    assert first == whole[: len(first)]
    assert last == whole[len(whole) - len(last) :]


def test_a_payload_that_is_one_long_string_shows_a_part_of_it() -> None:
    capped, _ = cap_output(json.dumps({"file": "word " * 2_000}), 100, count)
    assert capped.count("word") > 60


def test_where_only_the_marker_fits_only_the_marker_is_shown() -> None:
    capped, left_out = cap_output("word " * 1_000, 16, count)
    assert MARK.fullmatch(capped)
    assert left_out >= 990


def test_where_not_even_the_marker_fits_nothing_is_shown() -> None:
    assert cap_output("word " * 1_000, 3, count)[0] == ""


def test_another_marker_can_be_given() -> None:
    capped, left_out = cap_output("word " * 1_000, 50, count, lambda left: f"<{left} gone>")
    assert f"\n<{left_out} gone>\n" in capped


@pytest.mark.parametrize(
    "unit",
    ["x", " ", "-", '{"key": 12345, "text": "lorem"},', "日本語"],
    ids=["x", "space", "dash", "json", "cjk"],
)
def test_one_line_of_sixteen_million_characters_is_read_only_in_part(unit: str) -> None:
    text = unit * (16_000_000 // len(unit))
    asked = [0]

    def counted(piece: str) -> int:
        asked[0] += len(piece)
        return count(piece)

    capped, left_out = cap_output(text, 2_000, counted)
    assert count(capped) <= 2_000
    # What is gone is estimated: within 2 % of a long stretch's tokens, scaled up.
    stretch = 40_960 // len(unit) * len(unit)
    scaled = count(text[:stretch]) * (len(text) // stretch)
    assert abs(left_out + 2_000 - scaled) <= scaled // 50 + 2_000
    assert asked[0] < 1_500_000


@pytest.mark.parametrize("size", [2_047, 2_048, 2_049, 32_768, 32_769, 200_000])
def test_outputs_around_the_sizes_of_the_pieces_are_cut_right(size: int) -> None:
    text = ("abcdefg " * (size // 8 + 1))[:size]
    for room in (50, count(text) - 1):
        capped, left_out = cap_output(text, room, count)
        assert count(capped) <= room
        head, tail = parts(text, capped)
        assert left_out == pytest.approx(count(text) - count(head) - count(tail), abs=5)


def test_texts_on_both_sides_of_a_seam_that_cost_more_together_still_fit() -> None:
    def costly(text: str) -> int:
        """A counter for which every line break between two words adds up."""
        return len(text) + 40 * sum(a == "\n" or b == "\n" for a, b in pairwise(text))

    capped, _ = cap_output("ab\n" * 500, 900, costly)
    assert costly(capped) <= 900
