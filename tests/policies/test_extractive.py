"""The built-in summarizer: word for word, within its cap, no payload cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.policies import audit, extract
from redraft.policies.folding import in_sections
from redraft.policies.hierarchical_summary import LAYERS
from redraft.policies.units import units


def count(text: str) -> int:
    """A token for four characters."""
    return (len(text) + 3) // 4


TALK = "\n\n".join(
    [
        "user: Please move the service to port 8443. You must never restart the database.",
        "assistant: I look around first.",
        *["tool: nothing to see here, the same words again and again" for _ in range(30)],
        "tool: commit 3f2a91c07be4 broke it",
        "assistant: Next I will write the migration.",
    ]
)


def test_what_is_rare_and_exact_is_kept_and_what_repeats_is_not() -> None:
    found = extract(TALK, 70, count)
    assert "3f2a91c07be4" in found
    assert found.count("nothing to see") <= 1
    assert count(found) <= 70


def test_it_sorts_under_the_headings_that_are_asked_for() -> None:
    parts = in_sections(extract(TALK, 120, count, LAYERS), LAYERS)
    assert parts is not None
    assert "never restart" in parts["Constraints"]
    assert "migration" in parts["Pending actions"]
    assert "3f2a91c07be4" in parts["Facts"]


def test_what_fits_stays_as_it_is() -> None:
    assert extract(TALK, 10_000, count) == TALK


@settings(max_examples=60)
@given(st.text(max_size=600), st.integers(0, 80), st.sampled_from(((), LAYERS)))
def test_it_never_exceeds_its_cap_and_never_makes_anything_up(
    text: str, most: int, sections: tuple[str, ...]
) -> None:
    found = extract(text, most, count, sections)
    assert count(found) <= most
    assert found == extract(text, most, count, sections)
    assert not audit([text], found).invented


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@settings(max_examples=25)
@given(
    st.lists(st.dictionaries(st.text(max_size=8), json_values, min_size=1), min_size=1, max_size=4),
    st.sampled_from((None, 2)),
    st.integers(5, 120),
)
def test_a_json_payload_is_kept_whole_or_not_at_all(
    values: list[Any], indent: int | None, most: int
) -> None:
    written = [json.dumps(value, indent=indent) for value in values]
    text = "\n".join(f"Result {at} came.\n{one}" for at, one in enumerate(written))
    assert [unit.text for unit in units(text) if unit.structured] == written
    kept = [unit.text for unit in units(extract(text, most, count)) if unit.structured]
    assert all(one in written for one in kept)


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "[\n" * 20_000, '{"a":' * 20_000, "```\n" + "x\n" * 9]
)
def test_broken_structure_is_read_in_one_go(text: str) -> None:
    assert count(extract(text, 50, count)) <= 50
