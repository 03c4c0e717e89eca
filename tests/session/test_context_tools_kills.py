"""kill -9 around a call of a context tool: no stub without its body, nothing twice, the model is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_tools_world import SCRIPT, TARGET, output
from killed_world import Killers, Point, digest_of, lines, opened, results_sent
from session_world import balanced, legal

from redraft import Session
from redraft.context import Origin
from redraft.dialects import OpenAIChat
from redraft.events import ContextOp
from redraft.store import Committed, SQLiteJournal, SQLiteOverflow, cited_in, inputs


@pytest.fixture(scope="module")
def killers() -> Iterator[Killers]:
    with Killers(the_end_is_right, every_cited_body_is_there, script=SCRIPT) as made:
        yield made


def every_cited_body_is_there(run: Path) -> None:
    if not (run / "journal" / "journal.db").exists():
        return
    with opened(run, write=True) as journal:  # the lock has died with the process
        entries = list(journal.entries())
    cited = cited_in(entries)
    assert set(lines(run / "cited")) <= cited
    with SQLiteOverflow(run / "journal" / "overflow.db") as store:
        assert all(store.read(name) for name in cited)
    known = {digest_of(each.body(OpenAIChat())["messages"]) for each in inputs(entries)}
    assert set(lines(run / "sent")) <= known


def the_end_is_right(run: Path) -> None:
    every_cited_body_is_there(run)
    with opened(run, write=True) as journal, Session.resume(journal, budget=90_000) as session:
        assert session.done
        assert str(session.messages[-1]["content"]).startswith("looked 10 times")
        assert balanced(session)
        assert session.ledger.total().after == session.live.tokens
        assert legal(session.messages)
        assert len(commits(journal)) > 2
        told_once(journal, session)
        session.undo_since(0)
        originals = [turn.content.text for turn in session.live.turns if turn.role == "tool"]
        assert sum(output(f"look{at}") in text for at in range(TARGET) for text in originals) >= 8
        assert balanced(session)


def commits(journal: SQLiteJournal) -> list[Committed]:
    entries = (entry for entry in journal.entries() if isinstance(entry, Committed))
    return [one for one in entries if one.commit.revision.source.startswith("context_")]


def told_once(journal: SQLiteJournal, session: Session) -> None:
    """Each revision of a tool has one event and one result that says what became of it."""
    ops = [event for event in journal.events() if isinstance(event, ContextOp)]
    changing = [op for op in ops if op.ok and op.op in ("drop", "note")]
    made = commits(journal)
    assert len(changing) == len(made)
    for op, one in zip(changing, made, strict=True):
        assert f"context_{op.op}" == one.commit.revision.source
        assert op.overflow_ids
    answers = {turn.content.answers: turn for turn in session.live.turns if turn.role == "tool"}
    for turn in session.live.turns:
        for call in turn.content.calls:
            text = answers[call.id].content.text
            if call.name.startswith("context_") and answers[call.id].origin is Origin.ORIGINAL:
                assert text.startswith("[redraft:beef] "), (call.name, text)


def test_a_run_that_nobody_kills_comes_to_its_end(killers: Killers, tmp_path: Path) -> None:
    assert killers.story(tmp_path / "run", iter([None])) == 0


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_kill_around_a_put_leaves_no_stub_without_its_body(
    killers: Killers, tmp_path: Path, number: int, when: str
) -> None:
    run = tmp_path / "run"
    assert killers.story(run, iter([("put", number, when), None])) == 1


def test_a_call_whose_revision_is_in_force_is_told_what_became_of_it(
    killers: Killers, tmp_path: Path
) -> None:
    """Killed at each step of the record in the round of the first drop and the first note."""
    whole = tmp_path / "whole"
    assert killers.story(whole, iter([None])) == 0
    with opened(whole) as journal:
        kinds = [logged.kind for logged in journal.log()]
    first = kinds.index("committed") + 1
    second = kinds.index("committed", first) + 1
    steps = [*range(first - 1, first + 5), second, second + 2]
    fates: set[str] = set()
    for step in steps:
        run = tmp_path / f"run-{step}"
        assert killers.story(run, iter([("record", step, "after"), None])) == 1
        fates |= told(run)
    assert "dropped" in fates
    assert "replaced by one note" in fates
    assert "Call it again" in fates


def told(run: Path) -> set[str]:
    ours = [text for text in results_sent(run) if text.startswith("[redraft:beef]")]
    ways = ("dropped", "replaced by one note", "Call it again", "nothing was changed")
    return {way for way in ways for text in ours if way in text}


def test_a_kill_at_a_command_keeps_what_our_own_tools_answered(
    killers: Killers, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert killers.story(run, iter([("command", "look3"), None])) == 1
    with opened(run) as journal:
        turns = [each.turns for each in inputs(journal.entries())][-1]
    texts = [turn.content.text for turn in turns if turn.role == "tool"]
    at = next(at for at, text in enumerate(texts) if "while this call ran" in text)
    pinned, _, status, unpinned = texts[at - 1 : at + 3]
    assert pinned.startswith("[redraft:beef] pinned: ")
    assert status.startswith("[redraft:beef] context: ")
    assert unpinned.startswith("[redraft:beef] unpinned: ")
    assert json.dumps(texts).count("pinned: 1 (1 of your 20 pins used)") >= 1


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_each_step_of_the_record(killers: Killers, tmp_path: Path, when: str) -> None:
    assert killers.every_step(tmp_path, when) > 60


@pytest.mark.slow
def test_a_run_that_is_killed_every_few_steps_comes_to_its_end(
    killers: Killers, tmp_path: Path
) -> None:
    steps: Iterator[Point] = iter([("record", 25, "after")] * 60)
    assert killers.story(tmp_path / "run", steps) > 5
