"""Only few rows are read, and what is found is what reading all of them would have found."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.store import memory_by_words
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Draft, ItemQuery
from redraft.store.memory_match import sharing
from redraft.store.memory_words import idf, most_relevance, relevance, terms

WORDS = ["port", "host", "token", "cache", "index", "query", "batch", "shard", "lease", "quota"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
WEIGHTS = st.dictionaries(st.sampled_from(WORDS), st.floats(1, 12), min_size=1)


def counts(path: Path) -> dict[str, int]:
    database = sqlite3.connect(path)
    try:
        return dict(database.execute("SELECT term, items FROM frequency").fetchall())
    finally:
        database.close()


def truth(memory: SQLiteMemory) -> dict[str, int]:
    items = list(memory.items())
    having = Counter(word for item in items for word in set(terms(item.text)))
    return having | ({"": len(items)} if items else {})


class TestFinding:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(TEXTS, max_size=20), TEXTS, st.sampled_from([0.0, 0.2, 0.34, 0.7, 1.0]))
    def test_it_finds_what_reading_every_item_would_find(
        self, texts: list[str], question: str, floor: float
    ) -> None:
        with SQLiteMemory(None) as memory:
            memory.add_all(Draft(text) for text in texts)
            items = list(memory.items())
            having = Counter(word for item in items for word in set(terms(item.text)))
            weights = {word: idf(len(items), having[word]) for word in {*WORDS, *having}}
            asked = {word: weights[word] for word in terms(question)}
            all_of = {
                item.id: relevance(asked, {word: weights[word] for word in terms(item.text)})
                for item in items
            }
            hits = memory.search(ItemQuery(question, floor=floor, limit=100))
            expected = {one: value for one, value in all_of.items() if value >= floor and value > 0}
            assert {hit.item.id: hit.relevance for hit in hits} == expected
            values = [hit.relevance for hit in hits]
            assert values == sorted(values, reverse=True)

    def test_of_more_than_are_read_the_best_come_back_and_then_the_newest(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memory_by_words, "_MOST_READ", 4)
        monkeypatch.setattr(memory_by_words, "_ROWS_SHORT", 4)
        monkeypatch.setattr(memory_by_words, "_MOST_BESIDE", 4)
        with SQLiteMemory(None) as memory:
            best = memory.add(Draft("the port of the host has a lease")).id
            fresh = [memory.add(Draft(f"port host {at} {at}x {at}y {at}z")).id for at in range(9)]
            hits = memory.search(ItemQuery("port host lease", limit=3))
            assert [hit.item.id for hit in hits] == [best, fresh[-1], fresh[-2]]

    def test_a_question_of_many_words_finds_what_has_its_rare_ones(self) -> None:
        with SQLiteMemory(None) as memory:
            memory.add_all(Draft(f"common ground number{at} matter{at}") for at in range(200))
            wanted = memory.add(Draft("the zebra port is 5433")).id
            page = " ".join(f"common ground other{at}" for at in range(60))
            hits = memory.search(ItemQuery(f"{page} zebra port 5433 {page}", limit=1))
            assert [hit.item.id for hit in hits] == [wanted]

    @pytest.mark.parametrize(
        "question",
        ["common zebra", "common ground", " ".join(f"common{at} ground" for at in range(99))],
    )
    def test_few_of_many_items_are_read(
        self, question: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Reading is what takes time. Every item here has words of the question."""
        read: list[int] = []

        def items(rows: Iterable[tuple[int, str]]) -> dict[int, frozenset[str]]:
            found = as_they_are(rows)
            read.append(len(found))
            return found

        as_they_are = memory_by_words._items
        monkeypatch.setattr(memory_by_words, "_items", items)
        monkeypatch.setattr(memory_by_words, "_MOST_READ", 8)
        monkeypatch.setattr(memory_by_words, "_MOST_BESIDE", 4)
        with SQLiteMemory(None) as memory:
            memory.add_all(Draft(f"common ground number{at} matter{at}") for at in range(200))
            wanted = memory.add(Draft("common zebra ground")).id
            hits = memory.search(ItemQuery(question))
            assert 0 < sum(read) <= 4 * 8 + 4
            if "zebra" in question:
                assert hits[0].item.id == wanted

    def test_a_condition_finds_what_is_far_down_the_list(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memory_by_words, "_MOST_READ", 4)
        page = " ".join(f"other{at} zebra quagga" for at in range(20))
        with SQLiteMemory(None) as memory:
            memory.add(Draft("zebra quagga", session="s1"))
            memory.add_all(Draft(f"zebra quagga number{at}") for at in range(30))
            memory.add_all(Draft(f"other{at} matter{at}") for at in range(20))
            hits = memory.search(ItemQuery(page, session="s1"))
            assert [hit.item.text for hit in hits] == ["zebra quagga"]

    def test_of_equally_relevant_items_bm25_and_then_the_newest_decides(self) -> None:
        with SQLiteMemory(None) as memory:
            memory.add(Draft("lease alpha beta gamma delta epsilon"))
            memory.add(Draft("lease zeta"))
            memory.add(Draft("lease iota"))
            hits = memory.search(ItemQuery("lease"))
            assert [(hit.item.id, hit.relevance) for hit in hits] == [(3, 1.0), (2, 1.0), (1, 1.0)]


class TestMatching:
    @staticmethod
    def matches(expression: str, words: set[str]) -> bool:
        """The expression as Python: its words are names that are true where an item has them."""
        code = expression.replace(" AND ", " and ").replace(" OR ", " or ")
        for word in WORDS:
            code = code.replace(f'"{word}"', str(word in words))
        return bool(eval(code)) if code else False

    @settings(max_examples=200)
    @given(WEIGHTS, st.sets(st.sampled_from(WORDS)), st.floats(0.01, 1))
    def test_everything_with_enough_weight_matches_and_of_short_questions_nothing_else(
        self, weights: dict[str, float], words: set[str], share: float
    ) -> None:
        known = sorted(weights, key=lambda word: (-weights[word], word))
        need = share * sum(weights.values())
        matched = self.matches(sharing(known, weights, need), words)
        weight = sum(value for word, value in weights.items() if word in words)
        if weight >= need:
            assert matched
        elif len(known) <= 8 and weight < need * (1 - 1e-6):
            assert not matched

    def test_words_without_weight_say_nothing(self) -> None:
        words = [f"w{at}" for at in range(40)]
        assert sharing(words, dict.fromkeys(words, 1.0), 13.6) == ""

    @given(WEIGHTS, WEIGHTS)
    def test_what_is_at_most_relevant_is_no_less_than_what_is(
        self, asked: dict[str, float], found: dict[str, float]
    ) -> None:
        same = {word: asked.get(word, weight) for word, weight in found.items()}
        assert most_relevance(asked, frozenset(same)) >= relevance(asked, same) - 1e-9


class TestCounts:
    @settings(max_examples=30, deadline=None)
    @given(steps=st.lists(st.tuples(TEXTS, st.booleans()), max_size=15))
    def test_the_words_are_counted_through_adding_merging_and_forgetting(
        self, steps: list[tuple[str, bool]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.mktemp("m") / "memory.db"
        with SQLiteMemory(path) as memory:
            memory.prune()  # makes the file
            for text, forget in steps:
                added = memory.add(Draft(text))
                if forget and added.id is not None:
                    memory.forget([added.id])
            assert counts(path) == truth(memory)

    def test_a_word_that_was_forgotten_is_not_in_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.db"
        with SQLiteMemory(path) as memory:
            added = memory.add(Draft("the passphrase is swordfish"))
            assert added.id is not None
            memory.forget([added.id])
        assert b"swordfish" not in path.read_bytes()


class TestFormerFiles:
    def test_a_file_of_the_first_schema_is_brought_up_to_date(self, tmp_path: Path) -> None:
        """The first schema had no counts of its own."""
        path = tmp_path / "memory.db"
        with SQLiteMemory(path) as memory:
            memory.add_all([Draft("the staging port is 5433"), Draft("tea is at four")])
        database = sqlite3.connect(path)
        for statement in (
            *(f"DROP TRIGGER frequency_{one}" for one in ("in", "out", "new")),
            "DROP TABLE frequency",
            "CREATE VIRTUAL TABLE word_count USING fts5vocab ('word', 'row')",
            "PRAGMA user_version = 1",
        ):
            database.execute(statement)
        database.close()
        with SQLiteMemory(path) as memory:
            [hit] = memory.search(ItemQuery("staging port"))
            assert hit.item.text == "the staging port is 5433"
            assert counts(path) == truth(memory)
            memory.add(Draft("the testing port is 5434"))
            assert counts(path) == truth(memory)
