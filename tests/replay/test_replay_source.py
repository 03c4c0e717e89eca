"""Files as they come: encodings, damage, and errors that name file, line and what to do."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_world import SESSION, lines, pi_answer, pi_user, read

from redraft.errors import RecordingError
from redraft.replay import Source, load, read_source

MESSAGES = [{"role": "user", "content": "Grüße"}, {"role": "assistant", "content": "jawohl"}]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"nothing\.json: .*check the path"):
        load(tmp_path / "nothing.json")


def test_a_directory_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"without a journal.*or the recordings in it"):
        load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"  \n\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_an_empty_file_says_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=r"a\.json: the file is empty"):
        load(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_or_without_a_mark_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps(MESSAGES, ensure_ascii=False).encode(encoding))
    assert load(path).threads[0].messages[0]["content"] == "Grüße"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("document", [MESSAGES, {"messages": MESSAGES}])
def test_wide_unicode_without_a_mark_is_told_from_its_first_character(
    tmp_path: Path, encoding: str, document: object
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps(document, ensure_ascii=False).encode(encoding))
    assert load(path).threads[0].messages[0]["content"] == "Grüße"


def test_wide_unicode_that_breaks_off_is_damaged_and_not_to_be_converted(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps(MESSAGES).encode("utf-16")[:-1])
    with pytest.raises(RecordingError, match=r"a\.json:1: .* is not UTF-16; .*copy or export"):
        load(path)


def test_bytes_that_are_no_text_are_not_to_be_converted(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(RecordingError, match=r"a\.png:1: .*NUL bytes.*name a recording"):
        load(path)


@pytest.mark.parametrize(("data", "line"), [(b"\0", 1), (b"\n\0\0\0\n", 2)])
def test_nul_bytes_are_named_with_their_line(tmp_path: Path, data: bytes, line: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=rf"a\.jsonl: line {line} holds NUL bytes"):
        load(path)


def test_another_encoding_is_named_with_its_line_and_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"role": "user",\n"content": "Gr\xfc\xdfe"}]')
    with pytest.raises(RecordingError, match=r"a\.json:2: byte 0xfc is not UTF-8; .*iconv"):
        load(path)


def test_a_packed_file_is_to_be_unpacked_first(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"[]"))
    with pytest.raises(RecordingError, match="gzip file; unpack it first"):
        load(path)


def test_broken_json_says_where_it_breaks_and_what_is_known() -> None:
    with pytest.raises(RecordingError, match=r"recording: as JSON it breaks at .*line 1 column"):
        read('{"messages": [')


def test_json_of_no_known_form_lists_the_forms() -> None:
    with pytest.raises(RecordingError, match=r"of no form that is known here.*ATIF.*SWE-agent"):
        read('{"some": "thing"}')


GOOD = [SESSION, pi_user("hello"), pi_answer("hi", (3, 5, 0, 0), 1)]


def test_a_damaged_line_is_named() -> None:
    with pytest.raises(
        RecordingError, match=r"^recording:3: this line is not JSON .*mend or remove"
    ):
        read(lines(*GOOD[:2], '{"type": "mess', GOOD[2]))


def test_a_damaged_first_line_can_be_passed_over_and_says_so() -> None:
    with pytest.raises(RecordingError, match=r"its first line is not .*\(skip_damaged\)"):
        read(lines("{broken", *GOOD))
    assert len(read(lines("{broken", *GOOD), skip_damaged=True).threads[0].messages) == 2


def test_lines_of_no_known_form_are_not_called_broken_json() -> None:
    with pytest.raises(RecordingError, match="lines are JSON objects, but of no form"):
        read(lines({"some": "thing"}, {"other": "thing"}))


def test_a_last_line_that_a_crash_cut_off_is_told_from_other_damage() -> None:
    with pytest.raises(RecordingError, match=r"recording:4: .*cut off as by a crash"):
        read(lines(*GOOD, '{"type": "mess'))


def test_a_line_that_holds_no_object_is_named() -> None:
    with pytest.raises(
        RecordingError, match=r"recording:2: this line holds a list where an object"
    ):
        read(lines(GOOD[0], [1], *GOOD[1:]))


def test_damaged_lines_can_be_passed_over_and_are_noted() -> None:
    found = read(lines(GOOD[0], "#!", GOOD[1], GOOD[2], '{"type"'), skip_damaged=True)
    assert len(found.threads[0].messages) == 2
    assert [note[:6] for note in found.notes[:2]] == ["line 2", "line 5"]


def test_a_document_over_many_lines_is_not_taken_for_damaged_lines() -> None:
    found = read(json.dumps({"messages": MESSAGES}, indent=2), skip_damaged=True)
    assert (found.format, found.notes) == ("messages", ())


def test_blank_lines_and_windows_line_ends_do_not_matter() -> None:
    spread, plain = (
        read(text).threads[0] for text in (lines(*GOOD).replace("\n", "\r\n\r\n"), lines(*GOOD))
    )
    assert spread.messages == plain.messages
    assert [replace(call, line=3) for call in spread.calls] == list(plain.calls)


def test_a_separator_inside_of_a_string_is_no_end_of_a_line() -> None:
    found = read(
        "\n".join(
            json.dumps(row, ensure_ascii=False) for row in [GOOD[0], pi_user("a\u2028b\x85c")]
        )
    )
    assert found.threads[0].messages[0]["content"] == "a\u2028b\x85c"


def read_or_refuse(text: str) -> None:
    """Nothing but a `RecordingError`, which names the file, may come out."""
    with suppress(RecordingError):
        read_source(Source("x", text))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_recording_or_a_recording_error(data: bytes) -> None:
    read_or_refuse(data.decode("utf-8", "replace"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "role",
                        "content",
                        "messages",
                        "type",
                        "message",
                        "steps",
                        "source",
                        "action",
                    ),
                    *(
                        "trajectory",
                        "history",
                        "traj",
                        "kind",
                        "uuid",
                        "usage",
                        "tool_calls",
                        "args",
                    ),
                    *(
                        "schema_version",
                        "interactions",
                        "request",
                        "response",
                        "info",
                        "observation",
                    ),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_json_of_any_shape_gives_a_recording_or_a_recording_error(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value) + "\n" + json.dumps(value)):
        read_or_refuse(text)
