"""An output of any length keeps its head and its tail in bounded memory."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.sandbox.capture import Capture

MARKER = re.compile(r"\n\[\.\.\. (\d+) bytes of output left out \.\.\.\]\n")


def captured(cap: int, *chunks: bytes) -> tuple[str, int]:
    capture = Capture(cap)
    for chunk in chunks:
        capture.feed(chunk)
    return capture.text()


@given(st.lists(st.binary(max_size=40)), st.integers(0, 40))
def test_what_fits_is_kept_as_it_is(chunks: list[bytes], spare: int) -> None:
    whole = b"".join(chunks)
    assert captured(len(whole) + spare, *chunks) == (whole.decode("utf-8", "replace"), 0)


@given(st.lists(st.binary(max_size=60), max_size=20), st.integers(0, 64))
def test_kept_and_left_out_bytes_add_up_and_come_from_both_ends(
    chunks: list[bytes], cap: int
) -> None:
    whole = b"".join(b"%c" % (byte % 128) for chunk in chunks for byte in chunk)
    cuts = [sum(len(chunk) for chunk in chunks[:index]) for index in range(len(chunks) + 1)]
    pieces = [whole[a:b] for a, b in itertools.pairwise(cuts)]
    text, missing = captured(cap, *pieces)
    if len(whole) <= cap:
        assert (text, missing) == (whole.decode(), 0)
        return
    head, tail = whole[: cap // 2].decode(), whole[len(whole) - (cap - cap // 2) :].decode()
    assert text == f"{head}\n[... {missing} bytes of output left out ...]\n{tail}"
    assert missing == len(whole) - cap


@given(st.text(min_size=1, max_size=60), st.integers(1, 80))
def test_a_cut_never_splits_a_character(text: str, cap: int) -> None:
    whole = text.encode("utf-8", "replace")
    kept, missing = captured(cap, whole)
    assert "\ufffd" not in kept or "\ufffd" in text
    if missing:
        found = MARKER.search(kept)
        assert found is not None
        assert len(kept[: found.start()].encode()) + len(kept[found.end() :].encode()) <= cap


@pytest.mark.parametrize("cap", [0, 1, 2, 1000])
def test_memory_stays_near_the_cap_whatever_is_printed(cap: int) -> None:
    capture = Capture(cap)
    for _ in range(200):
        capture.feed(b"x" * 4096)
        assert len(capture._head) + len(capture._tail) <= 1.5 * cap + 1
    assert capture.text()[1] == 200 * 4096 - cap


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert captured(100, b"a\xffb\xe2\x82") == ("a\ufffdb\ufffd", 0)
