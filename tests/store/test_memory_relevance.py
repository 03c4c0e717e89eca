"""What the floor lets through, on questions of our own with what a person would want to see for each.

The figures are exact: a change of the measure or the floor moves them, and whoever makes one says here and
in `docs/design/memory.md` what it did. Three quarters of the questions have an answer, some of them are
whole messages, and the others are about what the memory has never heard of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Draft, ItemQuery
from redraft.store.memory_search import FLOOR

LABELLED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "memory_labelled.json").read_text(encoding="utf-8")
)
ITEMS: dict[str, str] = LABELLED["items"]
NAMES = {text: name for name, text in ITEMS.items()}


@dataclass(frozen=True)
class Figures:
    """What came back at a floor: of it what was wanted, what was not, and what was missed."""

    right: int
    wrong: int
    missed: int
    silent: int


@cache
def answers() -> list[tuple[set[str], dict[str, float]]]:
    """For each question what is wanted, and the relevance of all that shares a word."""
    with SQLiteMemory(None) as memory:
        memory.add_all(map(Draft, ITEMS.values()))
        return [
            (
                set(one["relevant"]),
                {
                    NAMES[hit.item.text]: hit.relevance
                    for hit in memory.search(ItemQuery(one["text"], floor=0.01, limit=len(ITEMS)))
                },
            )
            for one in LABELLED["questions"]
        ]


def figures(floor: float) -> Figures:
    found = [
        (wanted, {name for name, value in all_of.items() if value >= floor})
        for wanted, all_of in answers()
    ]
    return Figures(
        sum(len(wanted & got) for wanted, got in found),
        sum(len(got - wanted) for wanted, got in found),
        sum(len(wanted - got) for wanted, got in found),
        sum(not wanted and not got for wanted, got in found),
    )


def test_the_set_is_as_large_as_it_says_and_all_of_it_is_kept() -> None:
    questions = LABELLED["questions"]
    assert (len(ITEMS), len(questions)) == (66, 56)
    assert sum(not one["relevant"] for one in questions) == 13
    assert {name for one in questions for name in one["relevant"]} <= set(ITEMS)
    with SQLiteMemory(None) as memory:
        added = memory.add_all(map(Draft, ITEMS.values()))
        assert {one.outcome for one in added} == {"kept"}


def test_the_floor_brings_what_is_wanted_and_little_else() -> None:
    """Precision 0.88, recall 0.96; nothing comes back for any of the thirteen foreign questions."""
    assert figures(FLOOR) == Figures(right=44, wrong=6, missed=2, silent=13)


@pytest.mark.parametrize(
    ("floor", "expected"),
    [
        (0.25, Figures(right=45, wrong=22, missed=1, silent=13)),
        (0.45, Figures(right=37, wrong=3, missed=9, silent=13)),
    ],
)
def test_a_lower_floor_brings_noise_and_a_higher_one_loses_answers(
    floor: float, expected: Figures
) -> None:
    assert figures(floor) == expected


def test_what_is_wanted_comes_first() -> None:
    first = [next(iter(all_of)) in wanted for wanted, all_of in answers() if wanted]
    assert (sum(first), len(first)) == (43, 43)


def test_what_only_a_reader_would_connect_is_missed() -> None:
    """Words do not tell that an import error "only in CI" is about the cache, or what "deploy" has to do
    with "deployment". That is what an embedder is for."""
    missed = {
        name for wanted, all_of in answers() for name in wanted if all_of.get(name, 0.0) < FLOOR
    }
    assert missed == {"deploy-freeze", "db-replica"}
