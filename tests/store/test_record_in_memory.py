"""The record in memory, and what follows from a record: every input, every version of a turn."""

from __future__ import annotations

from redraft.context import Change, Commit, Gate, Insert, Live, Origin, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.store import (
    Appended,
    Committed,
    Refused,
    Sent,
    Started,
    VolatileJournal,
    inputs,
    versions,
)
from redraft.tokens import Meter

DIALECT = OpenAIChat()


def live_of(*texts: str) -> Live:
    messages = [
        {"role": "user" if at % 2 else "assistant", "content": t} for at, t in enumerate(texts)
    ]
    frame, contents = DIALECT.split({"messages": messages, "tools": [{"type": "function"}]})
    return Live.start(DIALECT, Meter(), frame, contents, head=0)


def committed(live: Live, revision: Revision) -> Commit:
    answer = commit(live, revision, 10**6)
    assert isinstance(answer, Commit)
    return answer


def edited(live: Live, number: int, text: str) -> Revision:
    turn = next(turn for turn in live.turns if turn.number == number)
    written = DIALECT.write(turn.content, text, (), ())
    change = Change(number, turn.digest, live.draft(written, Origin.NOTE))
    return Revision("person", "test", (change,), gate=Gate.FIT)


def dropped(live: Live, *numbers: int) -> Revision:
    turns = [turn for turn in live.turns if turn.number in numbers]
    changes = tuple(Change(turn.number, turn.digest, None) for turn in turns)
    return Revision("person", "test", changes, gate=Gate.FIT)


def noted(live: Live, after: int, text: str) -> Revision:
    note = live.draft(DIALECT.note("user", text), Origin.NOTE)
    return Revision("person", "test", (), (Insert(after, note),), Gate.FIT)


def start(live: Live) -> Started:
    return Started(live.frame, live.turns, live.head)


def test_inputs_follow_from_starts_appends_and_commits_alone() -> None:
    first = live_of("a", "b", "c")
    one = committed(first, dropped(first, 2))
    grown = one.live.append(DIALECT.split({"messages": [{"role": "assistant", "content": "d"}]})[1])
    two = committed(grown, noted(grown, 1, "in between"))
    three = committed(two.live, edited(two.live, 3, "C"))
    other = live_of("x")
    entries = [
        start(first),
        Sent(1, 3, 0),
        Committed(1, one),
        Sent(2, 2, 0),
        Appended(grown.turns[-1:]),
        Committed(2, two),
        Refused("no"),
        Committed(3, three),
        Sent(3, 4, 0),
        start(other),
        Sent(4, 1, 0),
    ]
    found = list(inputs(entries))
    assert [each.turns for each in found] == [
        first.turns,
        one.live.turns,
        three.live.turns,
        other.turns,
    ]
    assert [each.sent.round for each in found] == [1, 2, 3, 4]
    assert [turn.content.text for turn in found[2].turns] == ["a", "in between", "C", "d"]
    assert all(each.frame.fields == {"tools": [{"type": "function"}]} for each in found)


def test_every_version_of_a_turn_is_kept_in_order_and_once() -> None:
    live = live_of("a", "b")
    one = committed(live, edited(live, 1, "A"))
    back = committed(
        one.live,
        Revision("person", "undo", (Change(1, one.live.turns[0].digest, live.turns[0]),)),
    )
    found = versions([start(live), Committed(1, one), Committed(2, back)])
    assert [turn.content.text for turn in found[1]] == ["a", "A"]
    assert [turn.content.text for turn in found[2]] == ["b"]


def test_a_journal_in_memory_keeps_everything_in_order() -> None:
    live = live_of("a", "b")
    one = committed(live, edited(live, 1, "A"))
    journal = VolatileJournal()
    entries = [start(live), Sent(1, 2, 9), Committed(1, one), Refused("no", data=b"\xff")]
    for entry in entries:
        journal.record(entry)
    assert journal.entries == entries
    assert [entry.number for entry in journal.commits()] == [1]
    assert journal.originals() == versions(entries)


def test_an_empty_record_has_no_inputs() -> None:
    assert list(inputs([])) == []
    assert versions([]) == {}
