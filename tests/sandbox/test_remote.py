"""What comes back from a shell elsewhere can be told from everything around it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.sandbox.capture import Capture
from redraft.sandbox.remote import Frame, UpToMark, read_frame

TAG = "5f0c"
noise = st.binary(max_size=40).filter(lambda data: TAG.encode() not in data)


@given(noise, noise, st.integers(0, 255), st.none() | st.integers(2, 10**6), noise)
def test_a_frame_is_found_whatever_stands_around_it(
    before: bytes, after: bytes, code: int, group: int | None, report: bytes
) -> None:
    said = f"\n{TAG} {code} {'' if group is None else group}\n".encode() + report + b"\n5f0c."
    assert read_frame(before + said + after, TAG) == Frame(code, group, report)
    for length in range(len(before + said)):
        assert read_frame((before + said)[:length], TAG) is None


@pytest.mark.parametrize("head", ["", "x", "1 x", "-1"])
def test_a_frame_without_numbers_is_none(head: str) -> None:
    assert read_frame(f"\n{TAG} {head}\n\n{TAG}.".encode(), TAG) is None


@given(st.binary(max_size=60), st.binary(max_size=20), st.lists(st.integers(0, 90), max_size=8))
def test_a_stream_ends_at_its_mark_however_it_is_cut(
    output: bytes, late: bytes, cuts: list[int]
) -> None:
    mark = b"\0\0mark\0"
    stream = output.replace(mark, b"") + mark + late
    points = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    capture = Capture(1000)
    sink = UpToMark(capture, mark)
    for start, end in itertools.pairwise(points):
        sink.feed(stream[start:end])
    kept = stream.partition(mark)[0]
    assert sink.found
    assert capture.text() == (kept.decode("utf-8", "replace"), 0)


@given(st.binary(max_size=60))
def test_a_stream_without_a_mark_is_kept_whole(output: bytes) -> None:
    mark = b"\0\0mark\0"
    capture = Capture(1000)
    sink = UpToMark(capture, mark)
    whole = output.replace(mark, b"")
    for byte in whole:
        sink.feed(bytes([byte]))
    sink.flush()
    assert capture.text() == (whole.decode("utf-8", "replace"), 0)
