"""`redraft memory`: what was added is found, listed, carried elsewhere and forgotten."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from cli_world import Done, redraft

PORT = "The staging database listens on port 5433."
QUESTION = "which port has the staging database today"


def memory(*arguments: str, **io: Any) -> Done:
    return redraft("memory", *arguments, **io)


def items(*arguments: str) -> list[dict[str, Any]]:
    done = memory(*arguments, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert isinstance(found, list)
    return found


def texts(*arguments: str) -> list[str]:
    return [item["text"] for item in items(*arguments)]


class TestAdd:
    def test_it_says_what_became_of_a_fact(self) -> None:
        assert memory("add", PORT).out == "kept: item 1\n"
        assert memory("add", f"Note: {PORT}", "--json").json == {
            "outcome": "merged",
            "id": 1,
            "reason": "",
        }
        assert memory("add", "Tea is at four.").out == "kept: item 2\n"

    def test_what_is_transient_is_refused_with_a_reason(self) -> None:
        done = memory("add", "DEBUG: cache miss")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("redraft: refused: it is a log, which is true for the moment")
        refused = memory("add", "DEBUG: cache miss", "--json")
        assert (refused.code, refused.err) == (2, "")
        assert (refused.json["outcome"], refused.json["id"]) == ("refused", None)
        assert items("list") == []

    def test_a_text_may_come_from_a_file_or_standard_input(self, tmp_path: Path) -> None:
        (tmp_path / "fact.txt").write_text(f"{PORT}\n", encoding="utf-8")
        assert memory("add", f"@{tmp_path / 'fact.txt'}").code == 0
        assert memory("add", "-", stdin=b"Tea is at four.\n").code == 0
        assert sorted(texts("list")) == ["Tea is at four.", PORT]

    def test_everything_that_is_said_of_it_is_kept(self) -> None:
        more = ["--task-type", "deploy", "--tag", "db", "--tag", "net", "--session", "s1"]
        memory("add", PORT, *more, "--turn", "7", "--expires", "30d")
        [item] = items("list")
        assert (item["task_type"], item["tags"]) == ("deploy", ["db", "net"])
        [source] = item["sources"]
        assert (source["session"], source["turn"], source["at"]) == ("s1", 7, item["at"])
        assert item["expires"] == item["at"] + 30 * 86_400

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["--expires", "soon"], "'soon' is no time; give a date such as"),
            (["--tag", ""], "none of them empty"),
            (["--task-type", "a\nb"], "all of them printable"),
        ],
    )
    def test_what_cannot_be_is_a_mistake_of_the_user(self, arguments: list[str], why: str) -> None:
        done = memory("add", PORT, *arguments)
        assert done.code == 2
        assert why in done.err
        assert items("list") == []


class TestFinding:
    def test_a_search_shows_relevance_source_and_time(self) -> None:
        memory("add", PORT, "--session", "s1", "--turn", "7", "--tag", "db")
        memory("add", "Tea is at four.")
        said = memory("search", QUESTION, env={"COLUMNS": "200"})
        assert said.code == 0
        [head, row] = said.out.splitlines()
        assert head.split() == ["item", "relevance", "said", "by", "for", "text"]
        words = " ".join(row.split())
        assert words.startswith("1 0.")
        for part in ("s1, turn 7", "#db", "staging"):
            assert part in words, words
        [hit] = items("search", QUESTION)
        assert 0.34 <= hit["relevance"] < 1
        assert f"{hit['relevance']:.2f}" in words

    def test_nothing_relevant_is_no_failure(self) -> None:
        memory("add", PORT)
        done = memory("search", "deploy the mobile application")
        assert (done.code, done.out) == (0, "Nothing that is kept is relevant enough.\n")
        assert items("search", "mobile database migration", "--floor", "0.9") == []
        assert texts("search", "mobile database migration", "--floor", "0.01") == [PORT]

    def test_a_list_can_be_narrowed(self) -> None:
        memory("add", "alpha one", "--task-type", "deploy", "--tag", "db", "--session", "s1")
        memory("add", "beta two", "--task-type", "review", "--tag", "db")
        memory("add", "gamma three")
        assert texts("list") == ["gamma three", "beta two", "alpha one"]
        assert texts("list", "--limit", "1") == ["gamma three"]
        assert texts("list", "--task-type", "deploy") == ["alpha one"]
        assert texts("list", "--tag", "db") == ["beta two", "alpha one"]
        assert texts("list", "--session", "s1") == ["alpha one"]
        assert texts("list", "--since", "1h") == texts("list")
        assert texts("list", "--until", "1h") == []
        assert texts("list", "--since", "2999-01-01") == []
        assert texts("list", "--until", "2999-01-01T12:00") == texts("list")

    def test_a_text_that_would_steer_a_terminal_does_not(self) -> None:
        memory("add", "red \x1b[31m alert\nsecond line \ud800")
        out = memory("list").out
        assert "\x1b" not in out
        assert "second line" in " ".join(out.split())

    def test_looking_makes_no_file(self, tmp_path: Path) -> None:
        done = memory("list")
        assert (done.code, done.out.split(";")[0]) == (0, "Nothing is remembered here")
        assert not (tmp_path / "redraft-home").exists()

    def test_a_search_for_nothing_is_a_mistake(self) -> None:
        done = memory("search", " ")
        assert done.code == 2
        assert "redraft memory list" in done.err


class TestPlace:
    def test_it_lies_in_the_home_and_is_its_owners_alone(self, tmp_path: Path) -> None:
        memory("add", PORT)
        path = tmp_path / "redraft-home" / "memory.db"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_another_file_can_be_named(self, tmp_path: Path) -> None:
        other = str(tmp_path / "other.db")
        memory("add", PORT, "--path", other)
        assert texts("list") == []
        assert texts("list", "--path", other) == [PORT]

    @pytest.mark.parametrize("command", [["list"], ["search", "x"], ["export"], ["forget", "1"]])
    def test_one_that_is_not_there_is_said(self, command: list[str], tmp_path: Path) -> None:
        done = memory(*command, "--path", str(tmp_path / "typo.db"))
        assert done.code == 2
        assert "there is no memory at" in done.err
        assert not (tmp_path / "typo.db").exists()

    def test_a_file_that_is_no_memory_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "notes.db").write_text("my notes")
        done = memory("add", PORT, "--path", str(tmp_path / "notes.db"))
        assert done.code == 4
        assert "is no memory of redraft" in done.err
        assert (tmp_path / "notes.db").read_text() == "my notes"


class TestForgetting:
    def test_it_shows_what_goes_and_asks(self) -> None:
        memory("add", PORT)
        no = memory("forget", "1", stdin=b"n\n")
        assert no.code == 1
        assert f"1: {PORT}" in no.err
        assert "Forget 1 item for good?" in no.err
        assert memory("forget", "1", stdin=b"").code == 1, "nobody there to ask"
        assert texts("list") == [PORT]
        yes = memory("forget", "1", stdin=b"y\n")
        assert yes.code == 0
        assert yes.out.endswith("forgotten: 1\n")
        assert texts("list") == []

    def test_it_does_not_ask_when_told_so(self) -> None:
        memory("add", PORT)
        memory("add", "Tea is at four.")
        assert memory("forget", "1", "2", "1", "--yes", "--json").json == {"forgotten": 2}

    def test_one_that_is_not_there_leaves_all_of_them(self) -> None:
        memory("add", PORT)
        done = memory("forget", "1", "12", "--yes")
        assert done.code == 4
        assert "keeps no item 12" in done.err
        assert texts("list") == [PORT]

    def test_what_has_expired_can_go(self) -> None:
        memory("add", PORT, "--expires", "2020-01-01")
        memory("add", "Tea is at four.")
        assert memory("forget", "--expired", "--yes").out == "forgotten: 1\n"
        assert memory("forget").code == 2


class TestExchange:
    def test_an_export_taken_in_elsewhere_holds_the_same(self, tmp_path: Path) -> None:
        memory("add", PORT, "--tag", "db")
        memory("add", "Tea is at four.")
        file, other = tmp_path / "out.jsonl", str(tmp_path / "other.db")
        assert memory("export", "-o", str(file)).out == ""
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert memory("export").out == file.read_text(encoding="utf-8")
        done = memory("import", str(file), "--path", other)
        assert done.out == "items: 2 kept, 0 merged, 0 refused; states: 0 saved, 0 passed over\n"
        assert memory("export", "--path", other).out == memory("export").out
        again = memory("import", "-", "--path", other, "--json", stdin=file.read_bytes())
        assert (again.json["kept"], again.json["merged"]) == (0, 2)

    @pytest.mark.parametrize("data", [b"{}\n", b"\xff\xfe", b"no json"])
    def test_what_is_no_export_changes_nothing(self, data: bytes, tmp_path: Path) -> None:
        file = tmp_path / "in.jsonl"
        file.write_bytes(data)
        assert memory("import", str(file)).code == 2
        assert items("list") == []

    def test_a_file_that_cannot_be_read_or_written_is_said(self, tmp_path: Path) -> None:
        assert "cannot be read" in memory("import", str(tmp_path / "none")).err
        memory("add", PORT)
        done = memory("export", "-o", str(tmp_path / "none" / "out.jsonl"))
        assert done.code == 2
        assert "cannot be written" in done.err

    def test_an_export_that_fails_leaves_the_one_that_was_there(self, tmp_path: Path) -> None:
        place = tmp_path / "out.jsonl"
        place.mkdir()
        memory("add", PORT)
        assert memory("export", "-o", str(place)).code == 2
        assert not list(tmp_path.glob("*.part"))
