"""What outlives a text: approvals that wait, sources, identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.dialects.preserve import (
    PRESERVED,
    Approval,
    approval_line,
    pending_approvals,
    preserved_block,
)
from redraft.dialects.stubs import OverflowStub

UUID = "123e4567-e89b-42d3-a456-426614174000"
IDS = st.text("abcdef0123456789_-", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[approval pending id=ap_1: push to main]", [Approval("ap_1", "push to main")]),
        ("before\n[approval pending id=ap_1]\nafter", [Approval("ap_1")]),
        ('{"status": "pending", "approval_id": "ap_1"}', [Approval("ap_1")]),
        ("awaiting approval, approval_id=ap_1", [Approval("ap_1")]),
        ('{"status": "approved", "approval_id": "ap_1"}', []),
        ("the approval of [approval pending id=ap_1] is quoted in a line", []),
        ("no such thing", []),
        ("approval is pending", []),
    ],
)
def test_which_texts_wait_for_an_approval(text: str, found: list[Approval]) -> None:
    assert list(pending_approvals(text)) == found


@settings(max_examples=60)
@given(IDS, st.text(max_size=40))
def test_an_approvals_line_is_found_again(name: str, asked: str) -> None:
    line = approval_line(Approval(name, asked))
    assert line.splitlines() == [line]
    (found,) = pending_approvals(f"text\n{line}\ntext")
    assert found.id == name
    assert approval_line(found) == line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see https://example.org/a?b=1&c=2.", "https://example.org/a?b=1&c=2"),
        ("<http://example.org/x>", "http://example.org/x"),
        ("Source: the handbook, page 3", "the handbook"),
        (f"run {UUID} failed", UUID),
        (
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "9fceb02d0ae598e95dc970b74767f19372d61af8",
        ),
        ("fixes ABC-123", "ABC-123"),
        ("user_id: 4711", "user_id: 4711"),
        ('{"id": "a1"}', 'id": "a1'),
        ("[approval pending id=ap_1: push]", "[approval pending id=ap_1: push]"),
    ],
)
def test_a_value_is_kept_as_it_stands(text: str, value: str) -> None:
    block = preserved_block([f"some words\n{text}\nsome more"])
    assert block.startswith(f"{PRESERVED}\n")
    assert value in block


@pytest.mark.parametrize("text", ["", "plain words", "1234567 and deadbeef", "an idea: 7", "x-1"])
def test_where_there_is_nothing_there_is_no_block(text: str) -> None:
    assert preserved_block([text]) == ""


def test_the_id_of_a_stub_is_no_identifier() -> None:
    assert preserved_block([f"note\n{OverflowStub.of('x', 'bash', 'call-1').line}"]) == ""


def test_lists_are_bounded_and_approvals_are_not() -> None:
    text = "\n".join(
        f"TICKET-{at} https://example.org/{at}\n[approval pending id=ap_{at}]" for at in range(100)
    )
    block = preserved_block([text])
    assert block.count("https://") == 30
    assert block.count("(and 70 more in the originals)") == 2
    assert block.count("[approval pending") == 100


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from(
            (
                "[approval pending id=ap_1: push]",
                "https://example.org/a_b?c=d",
                "Source: the handbook",
                UUID,
                "order_id=77",
                "ABC-123",
                "words",
                '{"id": "a1", "pending": true, "approval_id": "q9"}',
            )
        ),
        max_size=8,
    )
)
def test_a_block_keeps_all_of_itself_when_it_is_kept_again(lines: list[str]) -> None:
    """A note on a note, a fold over a note: nothing is lost on the way."""
    once = preserved_block(["\n".join(lines)])
    twice = preserved_block([f"a note\n\n{once}"]) if once else ""
    for value in (
        "ap_1",
        "https://example.org/a_b?c=d",
        "the handbook",
        UUID,
        "order_id=77",
        "ABC-123",
    ):
        assert (value in once) == (value in twice)
    assert pending_approvals(once) == pending_approvals(twice)
