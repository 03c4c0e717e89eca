"""The memory: what is kept, what is found, what is refused, and that nothing exact is lost."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.errors import (
    MemoryConflictError,
    MemoryFormatError,
    MemoryMissingError,
    MemoryStoreError,
)
from redraft.policies.base import Retrieve
from redraft.store.memory import SQLiteMemory, answer
from redraft.store.memory_base import Draft, ItemQuery, ItemSource
from redraft.store.memory_exchange import export_lines, import_lines
from redraft.store.memory_rules import transient
from redraft.store.memory_words import bands, relevance, says_all_of, terms, values

PORT = "The staging database listens on port 5433."


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Letters:
    """An embedder that counts letters, so that an anagram is a neighbour."""

    name = "letters-1"
    floor = 0.95

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.lower().count(chr(97 + at))) for at in range(26)] for text in texts]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[SQLiteMemory]:
    with SQLiteMemory(tmp_path / "m" / "memory.db", clock=clock) as store:
        yield store


def found(memory: SQLiteMemory, query: ItemQuery) -> list[str]:
    return [hit.item.text for hit in memory.search(query)]


class TestSearch:
    def test_what_supports_the_task_comes_back_and_the_rest_does_not(
        self, memory: SQLiteMemory
    ) -> None:
        memory.add_all(
            [Draft(PORT), Draft("Invoices are rounded half to even."), Draft("Tea is at four.")]
        )
        assert found(memory, ItemQuery("connect to the staging databases")) == [PORT]
        assert found(memory, ItemQuery("how do I deploy the mobile application")) == []

    def test_one_word_of_many_is_below_the_floor_unless_it_is_lowered(
        self, memory: SQLiteMemory
    ) -> None:
        memory.add(Draft(PORT))
        query = "rotate every credential of staging before Friday evening"
        assert found(memory, ItemQuery(query)) == []
        assert found(memory, ItemQuery(query, floor=0.01)) == [PORT]

    def test_a_long_question_finds_a_short_item(self, memory: SQLiteMemory) -> None:
        memory.add(Draft(PORT))
        page = " ".join(f"topic{at} matter{at}" for at in range(100))
        assert found(memory, ItemQuery(f"{page} staging database port {page}")) == [PORT]

    def test_items_are_found_by_type_time_tag_and_session(
        self, memory: SQLiteMemory, clock: Clock
    ) -> None:
        memory.add(Draft("alpha one", "deploy", ("db", "prod"), "s1", 3, at=10))
        memory.add(Draft("beta two", "review", ("db",), "s2", 4, at=20))
        memory.add(Draft("gamma three", "deploy", (), "s2", 5, at=30))
        assert found(memory, ItemQuery()) == ["gamma three", "beta two", "alpha one"]
        assert found(memory, ItemQuery(task_type="deploy")) == ["gamma three", "alpha one"]
        assert found(memory, ItemQuery(since=10, until=30)) == ["beta two", "alpha one"]
        assert found(memory, ItemQuery(tags=("db",))) == ["beta two", "alpha one"]
        assert found(memory, ItemQuery(tags=("db", "prod"))) == ["alpha one"]
        assert found(memory, ItemQuery(session="s2", limit=1)) == ["gamma three"]
        assert found(memory, ItemQuery("beta two", task_type="deploy")) == []

    @settings(max_examples=40)
    @given(st.text(max_size=80), st.text(max_size=80))
    def test_any_text_can_be_asked_and_any_that_is_kept_is_found_by_itself(
        self, text: str, query: str
    ) -> None:
        with SQLiteMemory(None) as memory:
            added = memory.add(Draft(text))
            memory.search(ItemQuery(query))
            if added.id is not None:
                assert memory.item(added.id).text == text
                if terms(text):
                    assert found(memory, ItemQuery(text)) == [text]

    def test_a_retrieve_of_a_policy_is_answered_with_where_it_was_said(
        self, memory: SQLiteMemory
    ) -> None:
        memory.add(Draft(PORT, session="s1", turn=7))
        said = answer(memory, Retrieve("k", "staging database"))
        assert said == f"[memory 1, session s1, turn 7] {PORT}"
        assert answer(memory, Retrieve("k", "mobile application")) == ""
        assert answer(memory, Retrieve("k", " ")) == ""


class TestMerging:
    def test_a_near_duplicate_is_merged_and_both_sources_are_kept(
        self, memory: SQLiteMemory, clock: Clock
    ) -> None:
        first = memory.add(Draft(PORT, "deploy", ("db",), "s1", 3, at=10, expires=5_000))
        second = memory.add(Draft(f"Note: {PORT}", "deploy", ("net",), "s2", 9, at=20))
        assert (first.outcome, second.outcome, second.id) == ("kept", "merged", first.id)
        item = memory.item(1)
        assert item.text == f"Note: {PORT}"
        assert item.tags == ("db", "net")
        assert item.sources == (ItemSource("s1", 3, 10), ItemSource("s2", 9, 20))
        assert (item.at, item.expires) == (20, None)

    @pytest.mark.parametrize(
        "other",
        [
            "The staging database listens on port 5432.",
            "The staging database never listens on port 5433.",
            "The testing database listens on port 5433.",
            "Port 5433 listens on the staging database server of another team and much more.",
        ],
    )
    def test_what_says_something_else_is_kept_beside_it(
        self, memory: SQLiteMemory, other: str
    ) -> None:
        memory.add(Draft(PORT))
        assert memory.add(Draft(other)).outcome == "kept"

    def test_the_same_words_in_another_order_are_another_fact(self) -> None:
        assert not says_all_of("the parser calls the lexer", "the lexer calls the parser")

    @pytest.mark.parametrize(
        ("text", "other"),
        [
            ("x > 5 is valid", "x < 5 is valid"),
            ("no \N{CRAB} allowed", "no \N{SNAKE} allowed"),
            ("The port is open.", "Is the port open?"),
            ("C++ builds are slow", "C# builds are slow"),
        ],
    )
    def test_another_sign_makes_another_fact(self, text: str, other: str) -> None:
        assert not says_all_of(text, other)
        assert not says_all_of(other, text)
        assert says_all_of(text, f"{text}!")

    @settings(max_examples=60)
    @given(
        st.lists(
            st.lists(
                st.sampled_from(["port", "5433", "/etc/app.conf", "not", "uses", "v1.2.3", "host"]),
                min_size=1,
                max_size=8,
            ).map(" ".join),
            max_size=8,
        )
    )
    def test_every_exact_value_that_was_taken_in_is_in_the_item_that_it_is_in(
        self, texts: list[str]
    ) -> None:
        with SQLiteMemory(None) as memory:
            ids = {text: memory.add(Draft(text, turn=at)).id for at, text in enumerate(texts)}
            for text, number in ids.items():
                assert number is not None
                item = memory.item(number)
                assert values(text) <= values(item.text)
                assert set(terms(text)) <= set(terms(item.text))
            said = [source.turn for item in memory.items() for source in item.sources]
            assert sorted(said, key=str) == sorted(range(len(texts)), key=str)

    @given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12))
    @settings(max_examples=30)
    def test_texts_of_the_same_words_share_their_bands(self, words: list[str]) -> None:
        assert bands(" ".join(words)) == bands(" ".join(reversed(words)))

    def test_relevance_is_a_share(self) -> None:
        assert relevance({}, {}) == relevance({"a": 1.0}, {"b": 1.0}) == 0
        asked = {"a": 1.0, "b": 3.0, "c": 4.0}
        assert relevance(asked, {"b": 3.0}) == 3 / 8, "one word of a question"
        assert relevance(asked, {"b": 3.0, "d": 9.0}) == 3 / 8
        assert relevance(asked, {"a": 1.0, "b": 3.0, "d": 1.0}) == 4 / 5, "most of an item"


class TestTransient:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "nothing in it"),
            ("DEBUG: cache miss", "a log"),
            ("2026-01-01 10:00:00 INFO up\n2026-01-01 10:00:01 INFO go\n10:00:02 WARN x", "a log"),
            ("HTTP/1.1 200 OK\nContent-Type: text/plain", "a raw API response"),
            (json.dumps({"choices": [], "usage": {}}), "a raw API response"),
            (
                json.dumps([{"id": at, "name": f"user {at}"} for at in range(60)]),
                "a raw API response",
            ),
            ("<!DOCTYPE html><p>x", "a page of markup"),
            ('Traceback (most recent call last):\n  File "a.py", line 1', "a stack trace"),
            ("A" * 500, "encoded data"),
            ("10%|#\n20%|##\n30%|###", "a progress display"),
            ("word " * 4_000, "20,000 characters"),
            ("2026-01-01T10:00:00Z [TRACE] cache miss", "a log"),
            ('{"level": "info", "msg": "started", "ts": 1}', "a log"),
            ('10.0.0.1 - - [10/Oct/2026:13:55:36 -0700] "GET / HTTP/1.0" 200 2326', "a log"),
            ("Nov 30 10:00:00 db2 sshd[9]: a\n" * 3, "a log"),
            ('level=info msg="a"\n' * 3, "a log"),
            ('data: {"delta": "a"}\n\ndata: {"delta": "b"}\n\ndata: [DONE]', "a raw API response"),
            ("TypeError: x\n    at Object.<anonymous> (/app/index.js:3:7)", "a stack trace"),
            ("panic: index out of range\n\ngoroutine 1 [running]:\nmain.main()", "a stack trace"),
            ("data:image/png;base64,iVBORw0KGgo=", "encoded data"),
            ("Downloading: 45%|####      | 45/100 [00:03<00:02]", "a progress display"),
        ],
    )
    def test_it_is_refused_with_a_reason(self, memory: SQLiteMemory, text: str, why: str) -> None:
        added = memory.add(Draft(text))
        assert (added.outcome, added.id) == ("refused", None)
        assert why in added.reason
        assert list(memory.items()) == []

    @pytest.mark.parametrize(
        "text",
        [
            PORT,
            "Debug builds need clang 17.",
            '{"host": "db1", "port": 5433}',
            "Coverage is at 80% now.",
            "DEBUG must be off in production, because the log fills the disk.",
            "TRACE is what the verbose mode of the importer is called.",
            "The log says 'DEBUG: cache miss' when the cache is cold; this is harmless.",
            "2026-11-30 10:00 we moved the database to db2.",
            "Deploys to all hosts:\n    at the data center (room 3:15)",
            '{"level": 3, "boss": "dragon"}',
        ],
    )
    def test_facts_are_taken(self, text: str) -> None:
        assert transient(text) == ""


class TestBounds:
    def test_what_has_expired_is_not_found_and_a_prune_removes_it(
        self, memory: SQLiteMemory, clock: Clock
    ) -> None:
        memory.add(Draft(PORT, expires=2_000))
        assert found(memory, ItemQuery("staging database")) == [PORT]
        clock.now = 2_000
        assert found(memory, ItemQuery("staging database")) == found(memory, ItemQuery()) == []
        assert list(memory.items()) == []
        assert memory.add(Draft(PORT)).outcome == "kept", "what has expired is not revived"
        assert memory.prune() == 1

    def test_past_the_bound_the_oldest_go(self, tmp_path: Path) -> None:
        with SQLiteMemory(tmp_path / "m.db", most_items=3) as memory:
            memory.add_all(Draft(f"item{at} fact{at}", at=at) for at in range(5))
            assert [item.at for item in memory.items()] == [2, 3, 4]

    def test_a_forgotten_item_is_gone_and_its_number_is_not_given_again(
        self, memory: SQLiteMemory
    ) -> None:
        memory.add(Draft(PORT))
        assert memory.forget([1, 1, 99]) == 1
        assert found(memory, ItemQuery("staging database")) == []
        with pytest.raises(MemoryMissingError, match="take the number from"):
            memory.item(1)
        assert memory.add(Draft(PORT)).id == 2

    @pytest.mark.parametrize(
        "draft",
        [Draft("x", task_type="a\nb"), Draft("x", tags=("",)), Draft("x", at=float("nan"))],
    )
    def test_a_field_that_no_item_can_have_is_an_error(
        self, memory: SQLiteMemory, draft: Draft
    ) -> None:
        with pytest.raises(MemoryFormatError):
            memory.add_all([Draft(PORT), draft])
        assert list(memory.items()) == []

    def test_a_query_that_can_find_nothing_is_an_error(self, memory: SQLiteMemory) -> None:
        for query in (ItemQuery(limit=0), ItemQuery(floor=2)):
            with pytest.raises(MemoryFormatError):
                memory.search(query)


class TestStates:
    def test_versions_are_kept_and_each_can_be_read(
        self, memory: SQLiteMemory, clock: Clock
    ) -> None:
        assert (memory.state("s").version, memory.state("s").state) == (0, {})
        memory.save_state("s", {"goal": "a"}, base=0, task_type="deploy")
        clock.now = 2_000
        memory.save_state("s", {"goal": "b", "port": 5433}, base=1, task_type="deploy")
        assert memory.state("s").state == {"goal": "b", "port": 5433}
        assert memory.state("s", 1).state == {"goal": "a"}
        assert [one.version for one in memory.states(task_type="deploy", since=1_500)] == [2]
        assert [one.version for one in memory.states(session="s", until=1_500)] == [1]
        with pytest.raises(MemoryMissingError):
            memory.state("s", 3)

    def test_a_state_made_from_an_older_version_is_refused(self, memory: SQLiteMemory) -> None:
        memory.save_state("s", {"a": 1}, base=0)
        with pytest.raises(MemoryConflictError, match="at version 1"):
            memory.save_state("s", {"a": 2}, base=0)
        assert memory.state("s").state == {"a": 1}

    def test_old_versions_go(self, tmp_path: Path) -> None:
        with SQLiteMemory(tmp_path / "m.db", most_versions=2) as memory:
            for base in range(4):
                memory.save_state("s", {"n": base}, base=base)
            assert [one.version for one in memory.states()] == [3, 4]

    @pytest.mark.parametrize(
        "state", [{"a": float("nan")}, {"a": {1}}, {"a": (1,)}, {"a": "x" * 10**6}]
    )
    def test_what_is_no_plain_json_is_refused(
        self, memory: SQLiteMemory, state: dict[str, object]
    ) -> None:
        with pytest.raises(MemoryFormatError):
            memory.save_state("s", state, base=0)

    @settings(max_examples=40)
    @given(
        st.dictionaries(
            st.text(),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            ),
        )
    )
    def test_a_state_comes_back_as_it_was(self, state: dict[str, object]) -> None:
        with SQLiteMemory(None) as memory:
            memory.save_state("s", state, base=0)
            assert memory.state("s").state == state


class TestExchange:
    def test_an_export_taken_in_elsewhere_holds_the_same_and_taken_in_twice_too(
        self, memory: SQLiteMemory
    ) -> None:
        memory.add(Draft(PORT, "deploy", ("db",), "s1", 3, at=10))
        memory.add(Draft(PORT, "deploy", (), "s2", 4, at=20))
        memory.add(Draft("Tea \ud800 is at four.", expires=9e9))
        memory.save_state("s", {"a": 1}, base=0)
        memory.save_state("s", {"a": 2}, base=1)
        lines = list(export_lines(memory))
        with SQLiteMemory(None) as other:
            first = import_lines(other, lines)
            assert (first.kept, first.states, first.skipped) == (2, 2, 0)
            again = import_lines(other, lines)
            assert (again.kept, again.merged, again.states, again.skipped) == (0, 2, 0, 2)
            assert list(other.items()) == list(memory.items())
            assert other.state("s").state == {"a": 2}

    @pytest.mark.parametrize("line", ["{", "[]", '{"kind": "x"}', '{"kind": "item"}', "3"])
    def test_a_line_that_is_none_names_its_number_and_changes_nothing(
        self, memory: SQLiteMemory, line: str
    ) -> None:
        memory.add(Draft(PORT))
        lines = [*export_lines(memory), "", line]
        with SQLiteMemory(None) as other:
            with pytest.raises(MemoryFormatError, match="line 4"):
                import_lines(other, lines)
            assert list(other.items()) == []
            with pytest.raises(MemoryFormatError, match="line 1"):
                import_lines(other, [line])


class TestVectors:
    def test_what_is_said_in_other_words_is_found_by_its_vector(self, tmp_path: Path) -> None:
        with SQLiteMemory(tmp_path / "m.db", embedder=Letters()) as memory:
            memory.add_all([Draft("listen"), Draft("zebra crossing")])
            assert found(memory, ItemQuery("silent")) == ["listen"]
            assert found(memory, ItemQuery("12345")) == []

    def test_items_without_a_vector_get_one_later(self, tmp_path: Path) -> None:
        with SQLiteMemory(tmp_path / "m.db") as memory:
            memory.add_all(Draft(f"listen{'n' * at}") for at in range(3))
            assert memory.embed_missing() == 0
        with SQLiteMemory(tmp_path / "m.db", embedder=Letters()) as memory:
            assert memory.embed_missing() == 3
            assert memory.embed_missing() == 0
            assert "listen" in found(memory, ItemQuery("silent"))

    def test_a_vector_that_is_no_number_keeps_nothing(self, tmp_path: Path) -> None:
        class Broken(Letters):
            def embed(self, texts: Sequence[str]) -> list[list[float]]:
                return [[float("nan")] for _ in texts]

        with SQLiteMemory(tmp_path / "m.db", embedder=Broken()) as memory:
            with pytest.raises(MemoryFormatError, match="no number"):
                memory.add(Draft(PORT))
            assert list(memory.items()) == []


class TestFile:
    def test_the_files_are_their_owners_alone(self, memory: SQLiteMemory, tmp_path: Path) -> None:
        memory.add(Draft(PORT))
        for path in (tmp_path / "m").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path

    @pytest.mark.parametrize("data", [b"short", b"x" * 4_096])
    def test_another_file_is_left_alone(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "m.db"
        path.write_bytes(data)
        with (
            pytest.raises(MemoryStoreError, match="no memory of redraft"),
            SQLiteMemory(path) as memory,
        ):
            memory.add(Draft(PORT))
        assert path.read_bytes() == data

    def test_another_database_and_a_newer_one_are_left_alone(self, tmp_path: Path) -> None:
        foreign, newer = tmp_path / "f.db", tmp_path / "n.db"
        database = sqlite3.connect(foreign)
        database.execute("CREATE TABLE t (x)")
        database.close()
        with SQLiteMemory(newer) as memory:
            memory.prune()
        database = sqlite3.connect(newer)
        database.execute("PRAGMA user_version = 99")
        database.close()
        with pytest.raises(MemoryStoreError, match="no memory of redraft"):
            SQLiteMemory(foreign).prune()
        with pytest.raises(MemoryStoreError, match="install a newer"):
            SQLiteMemory(newer).prune()

    def test_another_process_that_writes_for_long_is_named_as_the_reason(
        self, memory: SQLiteMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory.add(Draft(PORT))
        memory.close()
        monkeypatch.setattr("redraft.store.memory_file._WAIT", 0.05)
        other = sqlite3.connect(tmp_path / "m" / "memory.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MemoryStoreError, match="another process is writing to it; try again"):
            memory.add(Draft("Tea is at four."))
        other.close()
        assert memory.add(Draft("Tea is at four.")).outcome == "kept"

    def test_a_place_that_cannot_be_is_an_error_that_says_what_to_do(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(MemoryStoreError, match="check the place"):
            SQLiteMemory(tmp_path / "file" / "m.db").prune()

    def test_what_was_said_to_be_kept_survives_a_kill(self, tmp_path: Path) -> None:
        script = (
            "import sys; from pathlib import Path\n"
            "from redraft.store.memory import SQLiteMemory; from redraft.store.memory_base import Draft\n"
            "memory = SQLiteMemory(Path(sys.argv[1]))\n"
            "for at in range(10**6):\n"
            "    memory.add(Draft(f'fact{at} value{at}')); print(at, flush=True)\n"
        )
        path = tmp_path / "m.db"
        with subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(20)]
            os.kill(process.pid, signal.SIGKILL)
            said += [int(line) for line in process.stdout if line.endswith("\n")]
        with SQLiteMemory(path) as memory:
            kept = {item.text for item in memory.items()}
            assert {f"fact{at} value{at}" for at in said} <= kept
            assert found(memory, ItemQuery("fact3 value3")) == ["fact3 value3"]
