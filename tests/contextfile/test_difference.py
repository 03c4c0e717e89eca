from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from contextfile_world import (
    hostile,
    live_of,
    lives,
    meaning,
    numbers,
    says,
    shown,
    story,
    texts,
)
from hypothesis import event, given, settings
from hypothesis import strategies as st

from redraft.context import Block, Live, reconcile
from redraft.contextfile.format import (
    END,
    Parsed,
    Unreadable,
    Window,
    difference,
    parse,
    render_turn,
)

HEADER = re.compile(rb"(?m)^(?=\[\[CTX_(?:TURN|END))")
Edit = Callable[[bytes], bytes]


def rendered(live: Live) -> list[bytes]:
    return [*map(render_turn, shown(live)), END]


def window_of(live: Live, data: bytes) -> Window:
    window = difference(rendered(live), data)
    assert window is not None
    return window


def span(live: Live, data: bytes) -> list[int]:
    """The numbers of the turns whose place may have changed."""
    window = window_of(live, data)
    return numbers(shown(live)[window.first : window.last])


# Edits, from what a careless program does to what a careful one does.


@st.composite
def _bytes_edit(draw: st.DrawFn) -> Edit:
    at, length = draw(st.floats(0, 1)), draw(st.sampled_from([0, 1, 2, 12, 30, 200]))
    new = (
        draw(hostile).encode("utf-8", "replace")
        if draw(st.booleans())
        else draw(st.binary(max_size=3))
    )

    def edit(data: bytes) -> bytes:
        start = int(at * len(data))
        return data[:start] + new + data[start + length :]

    return edit


@st.composite
def _units_edit(draw: st.DrawFn) -> Edit:
    """Delete, copy, move or change whole lines or whole blocks."""
    split = draw(st.sampled_from([HEADER, re.compile(rb"(?<=\n)"), re.compile(rb"(?<=\r)")]))
    what = draw(st.sampled_from(["delete", "copy", "move", "swap", "insert", "number", "role"]))
    one, two = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    number = draw(st.integers(1, 12))
    block = st.sampled_from([number, 99]).map(lambda n: f"[[CTX_TURN {n} role=user]]\nok\n\n")
    mark = st.sampled_from(["[[CTX_PART 1 image]]\n", "[[CTX_CALL a_0 bash]]\n{}\n", "ok\n"])
    new = draw(hostile | block | mark)

    def edit(data: bytes) -> bytes:
        units = split.split(data)
        here, there = int(one * (len(units) - 1)), int(two * (len(units) - 1))
        unit = units[here]
        match what:
            case "delete":
                del units[here]
            case "copy":
                units.insert(there, unit)
            case "move":
                units.insert(there, units.pop(here))
            case "swap":
                units[here], units[there] = units[there], unit
            case "insert":
                units.insert(here, new.encode("utf-8", "replace"))
            case "number":
                units[here] = re.sub(rb"CTX_TURN \d+", b"CTX_TURN %d" % number, unit, count=1)
            case "role":
                units[here] = re.sub(rb"role=\w+", b"role=user", unit, count=1)
        return b"".join(units)

    return edit


_whole: list[Edit] = [
    lambda data: data.replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"),
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.removesuffix(END),
    lambda data: data + END,
    lambda data: END + data,
    lambda data: END + data.removesuffix(END),
    lambda data: data + b"a note\n",
    lambda data: data[:-1],
    lambda data: data + b"\n",
    lambda data: re.sub(rb"(?m)[ \t]+$", b"", data),
    lambda data: data + data,
    lambda data: data[: len(data) // 2],
    lambda _: b"",
]
edits = st.lists(_bytes_edit() | _units_edit() | st.sampled_from(_whole), min_size=1, max_size=3)


@settings(max_examples=400)
@given(lives, edits)
def test_reading_the_window_gives_the_same_revision_as_reading_the_whole_file(live, steps) -> None:
    before = rendered(live)
    data = b"".join(before)
    for step in steps:
        data = step(data)
    window = difference(before, data)
    whole = parse(data)
    if window is None:
        assert data == b"".join(before)
        return
    assert data[sum(map(len, before[: window.first])) :].startswith(window.data)
    if isinstance(whole, Unreadable):
        assert isinstance(window.parsed, Unreadable)
        return
    assert isinstance(window.parsed, Parsed)
    assert window.ended == whole.ended
    turns = shown(live)
    event(f"window {window.last - window.first} of {len(turns)}")
    part = reconcile(live, turns[window.first : window.last], window.parsed.blocks)
    assert meaning(part) == meaning(reconcile(live, turns, whole.blocks))


def test_no_difference_is_none() -> None:
    live = story()
    assert difference(rendered(live), b"".join(rendered(live))) is None
    assert difference([END], END) is None


@pytest.mark.parametrize("at", range(7))
def test_one_edited_body_is_a_window_of_that_turn_alone(at) -> None:
    live = story()
    blocks = rendered(live)
    new = blocks[at].replace(b"]]\n", b"]]\nedited ", 1)
    data = b"".join([*blocks[:at], new, *blocks[at + 1 :]])
    window = window_of(live, data)
    assert (window.first, window.last) == (at, at + 1)
    assert window.data == new
    assert window.ended


def test_a_deleted_run_is_a_window_of_that_run_and_nothing_stands_there() -> None:
    live = story()
    blocks = rendered(live)
    window = window_of(live, b"".join(blocks[:1] + blocks[4:]))
    assert (window.first, window.last, window.data) == (1, 4, b"")
    assert window.parsed == Parsed((), ended=False)


def test_text_put_between_two_blocks_belongs_to_the_first() -> None:
    live = story()
    blocks = rendered(live)
    data = b"".join([*blocks[:2], b"added\n", *blocks[2:]])
    assert span(live, data) == [4]
    assert texts(window_of(live, data).parsed.blocks) == ["out 0\nline\n\nadded"]


def test_a_new_block_between_two_others_comes_with_a_neighbour_to_stand_beside() -> None:
    live = story()
    blocks = rendered(live)
    window = window_of(live, b"".join([*blocks[:2], b"[[CTX_TURN 99]]\nnew\n", *blocks[2:]]))
    assert (window.first, window.last) == (2, 3)
    revision = reconcile(live, shown(live)[2:3], window.parsed.blocks)
    assert [insert.after for insert in revision.inserts] == [4]
    assert not revision.changes


def test_a_note_after_the_end_mark_follows_the_last_turn() -> None:
    live = story()
    window = window_of(live, b"".join(rendered(live)) + b"note\n")
    assert (window.first, window.last) == (6, 7)
    assert window.parsed.blocks[-1] == Block("note")
    assert window.ended


def test_a_file_without_turns_is_read_whole() -> None:
    live = live_of()
    window = window_of(live, END + b"\xef\xbb\xbfnote")
    assert (window.first, window.last) == (0, 0)
    assert window.parsed == Parsed((Block("\ufeffnote"),), ended=True)


def test_a_mark_put_between_two_blocks_belongs_to_the_first() -> None:
    live = story()
    blocks = rendered(live)
    data = b"".join([*blocks[:2], b"[[CTX_PART 1 image]]\n", *blocks[2:]])
    assert [block.parts for block in window_of(live, data).parsed.blocks] == [(1,)]


def test_blocks_cut_off_at_the_end_leave_the_others_out_of_the_window() -> None:
    live = story()
    assert span(live, b"".join(rendered(live)[:5])) == [8, 9]


def test_a_lost_end_mark_is_noticed() -> None:
    live = story()
    whole = b"".join(rendered(live))
    assert not window_of(live, whole.removesuffix(END)).ended
    assert not window_of(live, whole.removesuffix(END) + b"cut sho").ended
    assert window_of(live, END + whole.removesuffix(END)).ended
    assert window_of(live, whole[:-1]).ended


def test_a_block_that_lost_its_line_start_is_no_block() -> None:
    live = story()
    blocks = rendered(live)
    data = b"".join([*blocks[:3], b"x", *blocks[3:]])
    assert span(live, data) == [5, 6]
    assert [block.number for block in window_of(live, data).parsed.blocks] == [5]


def test_a_copy_of_a_turn_from_elsewhere_widens_the_window_to_it() -> None:
    live = story()
    blocks = rendered(live)
    data = b"".join([*blocks[:2], blocks[5], *blocks[2:]])
    assert span(live, data) == [5, 6, 7, 8]
    data = b"".join([*blocks[:5], blocks[1], *blocks[5:]])
    assert span(live, data) == [4, 5, 6, 7, 8]


def test_a_copy_of_one_turn_cannot_pass_for_a_missing_turn_with_the_same_words() -> None:
    live = live_of(says("ok", "user"), says("yes"), says("ok", "user"), says("no"))
    blocks = rendered(live)
    data = b"".join([*blocks[:2], blocks[0], *blocks[3:]])  # turn 5 is replaced by a copy of turn 3
    window = window_of(live, data)
    assert (window.first, window.last) == (0, 3)
    revision = reconcile(live, shown(live)[:3], window.parsed.blocks)
    assert [change.number for change in revision.changes] == [5]
    assert len(revision.inserts) == 1


def test_invalid_bytes_are_found_wherever_they_stand() -> None:
    live = story()
    blocks = rendered(live)
    for at in range(len(blocks) + 1):
        data = b"".join([*blocks[:at], b"\xff", *blocks[at:]])
        assert isinstance(window_of(live, data).parsed, Unreadable)
