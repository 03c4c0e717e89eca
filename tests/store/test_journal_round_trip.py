"""What is recorded comes back as it was: every kind of entry, every body, the very same objects."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_world import (
    CHAT,
    METER,
    TOOLS,
    as_bytes,
    call,
    contents,
    differing,
    edited,
    every_kind,
    journal,
    live_of,
    rounds,
    started,
)

from redraft.context import Live, Turn, invert
from redraft.dialects import Dialect
from redraft.dialects.anthropic import Anthropic
from redraft.dialects.gemini import Gemini
from redraft.errors import JournalError
from redraft.store import (
    Appended,
    Committed,
    EditSpan,
    Entry,
    Journal,
    SQLiteJournal,
    Started,
    inputs,
    versions,
)
from redraft.store import edits as marked_edits
from redraft.testing.strategies import conversations, damaged_conversations


def again(directory: Path, **options: Any) -> tuple[list[Entry], Live]:
    """The entries in a journal's file, and the live context after them."""
    with journal(directory, write=False, **options) as reader:
        tail = reader.tail()
        entries = [recorded.entry for recorded in tail.new()]
        assert tail.live is not None
        return entries, tail.live


def kept(entries: list[Entry], directory: Path, **options: Any) -> tuple[list[Entry], Live]:
    with journal(directory, **options) as writer:
        for entry in entries:
            writer.record(entry)
    return again(directory, **options)


def test_a_journal_on_disk_is_a_journal(tmp_path: Path) -> None:
    with journal(tmp_path / "run") as writer:
        as_protocol: Journal = writer
        as_protocol.record(started(live_of(rounds(1))))


def test_every_kind_of_entry_comes_back_equal(tmp_path: Path) -> None:
    entries = list(every_kind())
    back, _ = kept(entries, tmp_path / "run")
    assert differing(back, entries) is None
    assert {type(entry) for entry in entries} == set(Entry.__args__)


def test_entries_carry_their_number_and_their_time(tmp_path: Path) -> None:
    clock = itertools.count(1_000.5).__next__
    with journal(tmp_path / "run", clock=clock) as writer:
        for entry in itertools.islice(every_kind(), 4):
            writer.record(entry)
        assert [(r.seq, r.at) for r in writer.tail().new()] == [
            (1, 1_000.5),
            (2, 1_001.5),
            (3, 1_002.5),
            (4, 1_003.5),
        ]


# -- bodies ------------------------------------------------------------------------------------------


@settings(suppress_health_check=list(HealthCheck), max_examples=60)
@given(messages=conversations() | damaged_conversations(), more=conversations())
def test_any_conversation_comes_back_byte_for_byte(
    messages: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    live = live_of(messages, tools=TOOLS)
    after = live.append(contents(*more))
    entries: list[Entry] = [started(live), Appended(after.turns[len(live.turns) :])]
    with tempfile.TemporaryDirectory() as place:
        back, rebuilt = kept(entries, Path(place, "run"))
    assert as_bytes(rebuilt) == as_bytes(after)
    assert differing([rebuilt], [after]) is None
    assert differing(back, entries) is None


ODD: dict[str, Any] = {
    "lone surrogates": {"role": "user", "content": "\ud83d and \udfff"},
    "two halves of a pair": {"role": "user", "content": "\ud83d\ude80 is not 🚀"},
    "a surrogate in a key": {"role": "user", "content": "x", "x_\udc80": {"\ud800": 1}},
    "keys that are no strings": {
        "role": "user",
        "content": "x",
        "x_odd": {1: "a", None: 2, 1.5: 3},
    },
    "numbers": {"role": "user", "content": "x", "x_n": [1.0, -0.0, 1e300, 2**70, float("inf")]},
    "tuples": {
        "role": "user",
        "content": ({"type": "text", "text": "a"}, {"type": "text", "text": "b"}),
    },
    "nothing": {"role": "assistant", "content": None},
    "NULs": {"role": "user", "content": "\x00" * 5},
    "five megabytes": {"role": "user", "content": "0123456789 line\n" * 330_000},
    "five megabytes of chance": {
        "role": "user",
        "content": "".join(map(chr, range(33, 40_000))) * 60,
    },
}


@pytest.mark.parametrize("message", ODD.values(), ids=list(ODD))
def test_an_odd_body_comes_back_byte_for_byte(message: dict[str, Any], tmp_path: Path) -> None:
    live = live_of([{"role": "system", "content": "s"}, message, message])
    _, rebuilt = kept([started(live)], tmp_path / "run")
    assert as_bytes(rebuilt) == as_bytes(live)
    assert [turn.digest for turn in rebuilt.turns] == [turn.digest for turn in live.turns]


def test_text_that_repeats_takes_room_once(tmp_path: Path) -> None:
    long = {"role": "user", "content": "".join(map(chr, range(33, 40_000)))}
    live = live_of([{"role": "system", "content": "s"}, {"role": "user", "content": "t"}, long])
    with journal(tmp_path / "one") as writer:
        writer.record(started(live))
    size = (tmp_path / "one" / "journal.db").stat().st_size
    with journal(tmp_path / "many") as writer:
        writer.record(started(live))
        for _ in range(20):
            live = live.append(contents(long))
            writer.record(Appended(live.turns[-1:]))
    assert (tmp_path / "many" / "journal.db").stat().st_size < size + 3 * 4096


def test_what_is_long_and_regular_is_packed(tmp_path: Path) -> None:
    live = live_of([{"role": "system", "content": "0123456789 line\n" * 100_000}])
    with journal(tmp_path / "run") as writer:
        writer.record(started(live))
    assert (tmp_path / "run" / "journal.db").stat().st_size < 100_000


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes"])
def test_what_json_cannot_hold_is_refused_and_nothing_of_it_is_kept(
    value: object, tmp_path: Path
) -> None:
    live = live_of(
        [{"role": "system", "content": "s"}, {"role": "user", "content": "x", "x_it": value}]
    )
    with journal(tmp_path / "run") as writer:
        with pytest.raises(
            JournalError, match="give messages, tools and parameters as plain values"
        ):
            writer.record(started(live))
        assert writer.blank
        writer.record(started(live_of(rounds(1))))
    assert as_bytes(again(tmp_path / "run")[1]) == as_bytes(live_of(rounds(1)))


# -- the very same objects ---------------------------------------------------------------------------


def test_a_turn_that_is_named_twice_is_one_object_again(tmp_path: Path) -> None:
    live = live_of(rounds(3))
    done = edited(live, 5, "noted")
    back, _ = kept([started(live), Committed(1, done)], tmp_path / "run")
    start, committed = back
    assert isinstance(start, Started)
    assert isinstance(committed, Committed)
    by_number = {turn.number: turn for turn in start.turns}
    moves = committed.commit.moves
    assert [by_number[move.old.number] is move.old for move in moves if move.old] == [True, True]
    made = [move.new for move in moves if move.new]
    assert [turn in committed.commit.live.turns for turn in made] == [True]


def test_a_commit_that_comes_back_can_be_taken_back(tmp_path: Path) -> None:
    live = live_of(rounds(3))
    done = edited(live, 5, "noted")
    back, rebuilt = kept([started(live), Committed(1, done)], tmp_path / "run")
    committed = back[1]
    assert isinstance(committed, Committed)
    revision = invert(rebuilt, committed.commit)
    returned = [insert.new for insert in revision.inserts]
    assert [turn.number for turn in returned if isinstance(turn, Turn)] == [5, 6]


def test_carriers_that_are_equal_stay_two_and_the_same_one_stays_one(tmp_path: Path) -> None:
    message = {"role": "user", "content": "again"}
    live = live_of([message, message])
    shared = live.turns[0].content
    twice = live.append([shared])
    entries: list[Entry] = [started(live), Appended(twice.turns[2:])]
    _, rebuilt = kept(entries, tmp_path / "run")
    one, other, third = (turn.content.carriers[0] for turn in rebuilt.turns)
    assert one == other
    assert one is not other
    assert one is third


RESULTS = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "first"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "second"}],
        },
        {"type": "text", "text": "and words"},
    ],
}
CALLS = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "b", "name": "bash", "input": {"command": "pwd"}},
    ],
}
PARTS = [
    {"role": "user", "parts": [{"text": "Do it."}]},
    {
        "role": "model",
        "parts": [
            {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "ls", "args": {"at": 1}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "ls", "response": {"output": "a"}}},
            {"functionResponse": {"name": "ls", "response": {"output": "b"}}},
        ],
    },
]


@pytest.mark.parametrize(
    ("dialect", "messages"),
    [
        (Anthropic(), [{"role": "user", "content": "Do it."}, CALLS, RESULTS]),
        (Gemini(), PARTS),
    ],
    ids=["anthropic", "gemini"],
)
def test_turns_that_share_a_carrier_share_it_again(
    dialect: Dialect, messages: list[dict[str, Any]], tmp_path: Path
) -> None:
    live = live_of(messages, dialect, model="m")
    assert len(live.turns) > len(messages)
    loose = dialect.result(live.turns[1].content.calls[0], "a result of our own")
    after = live.append([loose])
    entries: list[Entry] = [started(live), Appended(after.turns[-1:])]
    _, rebuilt = kept(entries, tmp_path / "run", dialect=dialect)
    assert differing([rebuilt], [after]) is None
    shared = [turn.content for turn in rebuilt.turns[2:4]]
    assert shared[0].carriers[0] is shared[1].carriers[0]
    assert as_bytes(rebuilt) == as_bytes(after)
    # By its name the file finds its dialect itself.
    assert differing([again(tmp_path / "run")[1]], [after]) is None


def test_a_journal_says_so_where_it_is_opened_with_another_dialect(tmp_path: Path) -> None:
    kept(list(every_kind()), tmp_path / "run")
    with pytest.raises(JournalError, match="speaks openai-chat, not anthropic"):
        journal(tmp_path / "run", dialect=Anthropic())


# -- what follows from the record --------------------------------------------------------------------


def test_inputs_and_versions_are_the_same_from_the_file(tmp_path: Path) -> None:
    entries = list(every_kind())
    back, _ = kept(entries, tmp_path / "run")
    before, after = list(inputs(entries)), list(inputs(back))
    assert differing((each.turns for each in after), (each.turns for each in before)) is None
    one, other = versions(entries), versions(back)
    assert list(one) == list(other)
    assert differing(other.values(), one.values()) is None


def test_a_request_that_was_mended_is_given_as_it_was_sent(tmp_path: Path) -> None:
    entries = list(every_kind())
    back, _ = kept(entries, tmp_path / "run")
    first, second, third = (each.body(CHAT) for each in inputs(back))
    plain_one, mended = first["messages"], second["messages"]
    assert third["thinking"] == {"type": "enabled"}
    assert len(mended) == len(plain_one) + 1
    assert mended[1] == {"role": "user", "content": "[mended]"}
    assert mended[2] == plain_one[0]
    assert json.dumps(mended[3:]) == json.dumps(plain_one[2:])


def test_an_edit_is_found_with_the_characters_of_its_command(tmp_path: Path) -> None:
    live = live_of(rounds(2))
    command = call("sed -i d $REDRAFT_CONTEXT_FILE", 7)
    asked = live.append(contents({"role": "assistant", "content": "tidy", "tool_calls": [command]}))
    start = len('{"command": "')
    end = len(command["function"]["arguments"]) - len('"}')
    commit = edited(asked, 3, "noted")
    entries: list[Entry] = [
        started(live),
        Appended(asked.turns[-1:]),
        Committed(1, commit, (0,), (EditSpan(0, start, end),)),
    ]
    (edit,) = marked_edits(kept(entries, tmp_path / "run")[0])
    assert edit.texts() == ("sed -i d $REDRAFT_CONTEXT_FILE",)
    assert edit.turn.number == asked.turns[-1].number
    assert edit.committed.number == 1


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_reader_that_stops_anywhere_goes_on_from_there(data: st.DataObject) -> None:
    entries = list(every_kind())
    stop = data.draw(st.integers(0, len(entries)))
    with tempfile.TemporaryDirectory() as place, journal(Path(place, "run")) as writer:
        tail = writer.tail()
        for entry in entries[:stop]:
            writer.record(entry)
        first = [recorded.entry for recorded in tail.new()]
        for entry in entries[stop:]:
            writer.record(entry)
        rest = [recorded.entry for recorded in tail.new()]
    assert len(first) == stop
    assert differing(first + rest, entries) is None


def test_a_reader_without_a_meter_counts_as_everybody_does(tmp_path: Path) -> None:
    with SQLiteJournal(tmp_path / "run", meter=METER) as writer:
        writer.record(started(live_of(rounds(1))))
    with SQLiteJournal(tmp_path / "run", write=False) as reader:
        assert len(list(reader.entries())) == 1
        assert reader.meter.text("hello world") == 2
