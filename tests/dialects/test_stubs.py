"""The line that stands for a body in the overflow store."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.dialects.stubs import (
    DISK,
    INCOGNITO,
    MEMORY,
    OverflowStub,
    body_bytes,
    body_id,
    stubs_in,
)
from redraft.testing.strategies import bodies

STORAGES = st.sampled_from((DISK, MEMORY, INCOGNITO))


def test_the_line_is_the_one_of_the_specification() -> None:
    name = hashlib.sha256(b"body").hexdigest()
    stub = OverflowStub.of("body", "bash", "call_7f2")
    assert stub.line == f"[overflow id={name} tool=bash bytes=4 call_id=call_7f2 storage=disk]"
    gone = OverflowStub.of("body", "bash", "call_7f2", INCOGNITO)
    assert gone.line.endswith(" storage=memory-only (incognito)]")


@settings(max_examples=60)
@given(bodies(), bodies(), bodies(), STORAGES)
def test_a_line_comes_back_as_its_stub(body: str, tool: str, call_id: str, storage: str) -> None:
    stub = OverflowStub.of(body, tool, call_id, storage)
    assert OverflowStub.parse(stub.line) == stub
    assert OverflowStub.parse(f"{stub.line}\n") == stub
    assert stub.line.splitlines() == [stub.line]
    assert stub.size == len(body_bytes(body))
    assert stub.id == body_id(body)
    assert stubs_in(f"words\n{stub.line}\nmore [overflow]\n{stub.line} \n") == (stub, stub)


LINE = OverflowStub.of("body", "bash", "a").line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[overflow]",
        f"see {LINE}",
        f"{LINE} and more",
        f"> {LINE}",
        LINE.replace("id=", "id=z"),
        LINE.replace("bytes=4", "bytes=many"),
        LINE[:-1],
        LINE.replace("tool=bash ", ""),
    ],
)
def test_anything_else_is_no_stub(text: str) -> None:
    assert OverflowStub.parse(text) is None
    assert stubs_in(text) == ()
