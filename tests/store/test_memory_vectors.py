"""Vectors find what is said in other words, with `sqlite-vec` and without it alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_memory_relevance import ITEMS, LABELLED, NAMES

from redraft.store import memory_vectors
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Draft, ItemQuery
from redraft.store.memory_vectors import cosine, load_cosine, pack
from redraft.testing import HashedNgrams

Answers = list[dict[str, float]]


def loadable() -> bool:
    """Whether `sqlite-vec` is there and this Python may load it; many are built so that they may not."""
    database = sqlite3.connect(":memory:")
    try:
        return "vec_distance" in load_cosine(database)
    finally:
        database.close()


def answers() -> Answers:
    with SQLiteMemory(None, embedder=HashedNgrams()) as memory:
        memory.add_all(map(Draft, ITEMS.values()))
        return [
            {
                NAMES[hit.item.text]: hit.relevance
                for hit in memory.search(ItemQuery(one["text"], limit=len(ITEMS)))
            }
            for one in LABELLED["questions"]
        ]


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where `sqlite-vec` is not installed."""

    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(memory_vectors.importlib, "import_module", missing)


def test_every_word_form_is_found_and_nothing_foreign(by_hand: None) -> None:
    """Words alone miss two of the 46; see `test_memory_relevance`."""
    wanted = [set(one["relevant"]) for one in LABELLED["questions"]]
    got = [set(one) for one in answers()]
    assert sum(len(want & found) for want, found in zip(wanted, got, strict=True)) == 46
    assert sum(len(found - want) for want, found in zip(wanted, got, strict=True)) == 7
    assert not any(found for want, found in zip(wanted, got, strict=True) if not want)


@pytest.mark.skipif(not loadable(), reason="this Python cannot load sqlite-vec")
def test_sqlite_vec_and_redraft_itself_say_the_same(request: pytest.FixtureRequest) -> None:
    by_extension = answers()
    request.getfixturevalue("by_hand")
    by_hand = answers()
    assert [list(one) for one in by_extension] == [list(one) for one in by_hand]
    for one, other in zip(by_extension, by_hand, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.skipif(not loadable(), reason="this Python cannot load sqlite-vec")
def test_vectors_of_another_length_are_passed_over_by_sqlite_vec_too(tmp_path: Path) -> None:
    with SQLiteMemory(tmp_path / "m.db", embedder=Renamed(64)) as memory:
        memory.add(Draft("the port of the staging database"))
    with SQLiteMemory(tmp_path / "m.db", embedder=Renamed(32)) as memory:
        memory.add(Draft("deployment takes an hour"))
        [hit] = memory.search(ItemQuery("we are deploying"))
        assert hit.item.id == 2


class Renamed(HashedNgrams):
    """A model that changed the length of its vectors and not its name."""

    def __init__(self, size: int) -> None:
        super().__init__(size, floor=0.2)
        self.name = "one name"


def test_vectors_of_another_length_are_passed_over(by_hand: None, tmp_path: Path) -> None:
    test_vectors_of_another_length_are_passed_over_by_sqlite_vec_too(tmp_path)


def test_vectors_of_another_model_are_never_compared(by_hand: None, tmp_path: Path) -> None:
    with SQLiteMemory(tmp_path / "m.db", embedder=HashedNgrams(letters=3)) as memory:
        memory.add(Draft("deployments take an hour"))
    with SQLiteMemory(tmp_path / "m.db", embedder=HashedNgrams()) as memory:
        assert memory.search(ItemQuery("deploying")) == []
        assert memory.embed_missing() == 1
        assert len(memory.search(ItemQuery("deployment"))) == 1


def test_an_embedder_of_hashed_letters_says_the_same_in_every_process() -> None:
    [vector] = HashedNgrams(8, 3).embed(["deploy"])
    assert vector == [1.0, 0.0, -2.0, 0.0, 0.0, 1.0, 0.0, 0.0]


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_it_makes_a_vector_for_any_text(texts: Sequence[str]) -> None:
    made = HashedNgrams(16).embed(texts)
    assert [len(vector) for vector in made] == [16] * len(texts)
    for vector in made:
        packed = pack(vector)
        assert packed is None or cosine(packed, packed) == pytest.approx(1, abs=1e-5)
