"""What holds after any sequence of edits, by whoever, accepted or not (DESIGN.md section 4)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from context_world import CHAT, METER, start
from edit_scripts import Event, Run, Step, play, scripts
from hypothesis import example, given
from hypothesis import strategies as st

from redraft.context import (
    Change,
    Commit,
    Live,
    Origin,
    Refusal,
    Revision,
    Row,
    Turn,
    groups,
    invert,
    obstacles,
)
from redraft.dialects import OPENAI_CHAT, Content, check, framed
from redraft.testing.strategies import conversations, damaged_conversations, legal_conversations
from redraft.tokens import Meter, TiktokenCounter

Script = Any
limits = st.sampled_from((10**9, 400, 60))


@given(conversations(max_exchanges=2) | damaged_conversations(), scripts, limits)
def test_the_running_sum_is_the_recount(messages: Any, script: Script, limit: int) -> None:
    for event in play(start(*messages, tools=[{"x": 1}]), script, limit).events:
        assert event.after.recount() == event.after.tokens


@given(conversations(max_exchanges=1), scripts)
def test_the_running_sum_is_the_recount_in_real_tokens(messages: Any, script: Script) -> None:
    live = start(*messages, meter=Meter(TiktokenCounter()))
    assert live.recount() == live.tokens
    done = play(live, script).live
    assert done.recount() == done.tokens


@given(conversations(max_exchanges=2), scripts, limits)
def test_every_commit_conserves_and_the_ledger_balances_to_the_token(
    messages: Any, script: Script, limit: int
) -> None:
    live = start(*messages)
    row = Row(1, live.tokens)
    for event in play(live, script, limit).events:
        if isinstance(event.answer, Commit):
            deltas = event.answer.deltas
            assert deltas.before == event.before.tokens
            assert deltas.after == event.after.tokens == event.answer.receipt.after
            row = row.add(freed=deltas.freed, rewrite=deltas.replacement)
        else:
            row = row.add(intake=event.after.tokens - event.before.tokens)
    assert row.close(play(live, script, limit).live.tokens).after == row.expected


@given(legal_conversations(max_exchanges=2), scripts, limits)
def test_no_script_yields_an_illegal_list(messages: Any, script: Script, limit: int) -> None:
    for event in play(start(*messages), script, limit).events:
        assert check(_closed(event.after), OPENAI_CHAT) == []


def _closed(live: Live) -> list[Any]:
    """The list as it will be sent: the round in progress has its results."""
    waiting: list[Content] = []
    for group in groups(live.turns[live.open_at :]):
        head = group.head.content
        waiting += [CHAT.result(head.calls[at], "out") for at in group.open_calls]
    messages: list[Any] = live.append(waiting).body()["messages"]
    return messages


@given(conversations(max_exchanges=2) | damaged_conversations(), scripts)
def test_no_edit_parts_a_call_and_a_result_that_were_together(
    messages: Any, script: Script
) -> None:
    for event in play(start(*messages), script).events:
        if isinstance(event.answer, Commit) and event.undone is None:
            assert not _loose(event.after) - _loose(event.before)


def _loose(live: Live) -> Counter[tuple[int, str]]:
    loose: Counter[tuple[int, str]] = Counter()
    for group in groups(live.turns):
        if group.head.role == "tool":
            loose[group.head.number, "result"] += 1
        loose.update((group.head.number, group.head.content.calls[i].id) for i in group.open_calls)
    return loose


@given(conversations(max_exchanges=2), scripts)
def test_what_must_stay_is_the_very_same_turn_after_every_edit(
    messages: Any, script: Script
) -> None:
    for event in play(start(*messages), script).events:
        after = set(map(id, event.after.turns))
        before, answer = event.before, event.answer
        kept = [*before.turns[: before.head], *before.turns[before.open_at :]]
        kept += [turn for turn in before.turns if turn.role == "system"]
        if isinstance(answer, Commit) and answer.revision.author != "person":
            protected = before.protected()
            kept += [turn for turn in before.turns if turn.number in protected]
        assert after.issuperset(map(id, kept))
        assert event.after.turns[: before.head] == before.turns[: before.head]


@given(conversations(max_exchanges=2), scripts)
def test_a_turn_that_no_move_names_is_the_very_same_turn(messages: Any, script: Script) -> None:
    for event in play(start(*messages), script).events:
        moved = {id(turn) for move in _moves(event) for turn in (move.old, move.new)}
        before = [turn for turn in event.before.turns if id(turn) not in moved]
        after = [turn for turn in event.after.turns if id(turn) not in moved]
        assert after[: len(before)] == before
        if event.answer is not None:
            assert len(after) == len(before)


def _moves(event: Event) -> Any:
    return event.answer.moves if isinstance(event.answer, Commit) else ()


@given(conversations(max_exchanges=2), scripts)
def test_numbers_are_given_once_and_turns_stand_in_the_order_of_their_places(
    messages: Any, script: Script
) -> None:
    live = start(*messages)
    seen = {turn.number: turn.place for turn in live.turns}
    for event in play(live, script).events:
        turns = event.after.turns
        places = [turn.place for turn in turns]
        assert places == sorted(set(places))
        assert len({turn.number for turn in turns}) == len(turns)
        assert all(turn.number < event.after.next_number for turn in turns)
        for turn in turns:
            assert seen.setdefault(turn.number, turn.place) == turn.place


@given(conversations(max_exchanges=2), scripts)
def test_no_edit_gains_authority(messages: Any, script: Script) -> None:
    """No new system turn, no new words of the user, and what a tool said stays in its frame."""
    live = start(*messages)
    journal = {id(turn) for turn in live.turns}
    for event in play(live, script).events:
        if event.answer is None:
            journal |= set(map(id, event.after.turns))
        for turn in event.after.turns:
            if turn.origin is Origin.ORIGINAL or turn.role == "system":
                assert id(turn) in journal
            if turn.origin is Origin.TOOL:
                assert turn.role == "user"
                assert framed(turn.content.text) == turn.content.text


@given(conversations(max_exchanges=2), scripts)
def test_a_flattened_result_never_becomes_anything_but_tool_output(
    messages: Any, script: Script
) -> None:
    for event in play(start(*messages), script).events:
        for move in _moves(event):
            of_model = event.answer.revision.author == "model"
            if of_model and move.old and move.new and move.old.origin is Origin.TOOL:
                assert move.new.origin is Origin.TOOL


@given(conversations(max_exchanges=2), scripts, limits)
def test_no_gate_lets_a_context_grow_over_its_limit(
    messages: Any, script: Script, limit: int
) -> None:
    for event in play(start(*messages), script, limit).events:
        if isinstance(event.answer, Commit):
            assert event.after.tokens <= max(limit, event.before.tokens - 1)
        elif isinstance(event.answer, Refusal):
            assert event.after is event.before


@given(conversations(max_exchanges=2), scripts)
def test_the_same_proposal_gets_the_same_answer(messages: Any, script: Script) -> None:
    one, other = play(start(*messages), script), play(start(*messages), script)
    assert one.live.body() == other.live.body()
    assert [_told(event) for event in one.events] == [_told(event) for event in other.events]


def _told(event: Event) -> Any:
    return event.answer.receipt if event.answer else None


# -- undo -----------------------------------------------------------------------------------------


@given(conversations(max_exchanges=2) | damaged_conversations(), scripts)
def test_every_commit_can_be_taken_back_at_once_to_the_very_same_turns(
    messages: Any, script: Script
) -> None:
    for event in play(start(*messages), script).events:
        if isinstance(event.answer, Commit):
            assert obstacles(event.after, event.answer) == frozenset()
            back = _undone(Run(event.after, 10**9), event.answer)
            assert _same(back.live.turns, event.before.turns)
            assert back.live.tokens == event.before.tokens


# Without the stray result the call in front of it waits; then the result comes back behind it.
@example(
    messages=[
        {"role": "user", "content": ""},
        *[
            message
            for call, answers in (("call_1", "call_1"), ("call_2", "stray"))
            for message in (
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": call,
                            "type": "function",
                            "function": {"name": "b", "arguments": "{}"},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": answers, "content": ""},
            )
        ],
    ],
    script=[*[Step("file", 0, 0, 0, "")] * 3, Step("file", 0, 0, 98, "")],
)
@given(conversations(max_exchanges=2) | damaged_conversations(), scripts)
def test_taking_all_commits_back_newest_first_leaves_what_was_appended(
    messages: Any, script: Script
) -> None:
    live = start(*messages)
    run = play(live, script)
    wanted = list(live.turns)
    for event in run.events:
        if event.answer is None:
            wanted += event.after.turns[len(event.before.turns) :]
    for done in reversed(list(run.commits)):
        _undone(run, done)
    assert _same(run.live.turns, wanted)


@given(conversations(max_exchanges=2, interrupted=False), scripts, st.randoms())
def test_commits_that_nothing_stands_in_the_way_of_can_be_taken_back_in_any_order(
    messages: Any, script: Script, random: Any
) -> None:
    run = play(start(*messages), script)
    order = list(run.commits)
    random.shuffle(order)
    for done in order:
        blocked = obstacles(run.live, done)
        assert blocked == _changed_since(run.live, done)
        if not blocked:
            _undone(run, done)
            for move in done.moves:
                standing = [turn for turn in run.live.turns if turn is move.old]
                assert len(standing) == (1 if move.old else 0)
            places = [turn.place for turn in run.live.turns]
            assert places == sorted(places)
            assert not _loose(run.live) - _loose(run.events[-1].before)


def _changed_since(live: Live, done: Commit) -> frozenset[int]:
    """The turns of a commit that are not as it left them, told another way than the door does."""
    moved = [(move, (move.new or move.old)) for move in done.moves]
    return frozenset(
        turn.number
        for move, turn in moved
        if turn is not None
        and [t for t in live.turns if t.number == turn.number] != ([move.new] if move.new else [])
    )


def _undone(run: Run, done: Commit) -> Run:
    answer = run.propose(invert(run.live, done), done)
    assert isinstance(answer, Commit), answer.receipt
    return run


def _same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


# -- compare and swap -----------------------------------------------------------------------------


@given(conversations(max_exchanges=2), scripts)
def test_appends_do_not_move_the_base_of_a_revision(messages: Any, script: Script) -> None:
    """A queued revision rebases by the same test: it commits to the same turns, with more behind."""
    for event in play(start(*messages), script).events:
        if isinstance(event.answer, Commit) and event.before.open_at == len(event.before.turns):
            grown = event.before.append(
                CHAT.split({"messages": [{"role": "user", "content": "x"}]})[1]
            )
            later = Run(grown, 10**9).propose(event.answer.revision)
            assert isinstance(later, Commit), later.receipt
            now = [turn.digest for turn in later.live.turns[:-1]]
            assert now == [turn.digest for turn in event.after.turns]


@given(conversations(max_exchanges=2), scripts)
def test_a_revision_of_turns_that_changed_since_is_refused(messages: Any, script: Script) -> None:
    for event in play(start(*messages), script).events:
        if isinstance(event.answer, Commit) and event.answer.revision.changes:
            changed = [m for m in event.answer.moves if m.old and _digest(m.new) != m.old.digest]
            if changed:
                stale = tuple(Change(m.old.number, m.old.digest, None) for m in changed)
                answer = Run(event.after, 10**9).propose(Revision("model", "late", stale))
                assert isinstance(answer, Refusal)
                assert "has changed since it was read" in answer.receipt.rule


def _digest(turn: Turn | None) -> str:
    return turn.digest if turn else ""


def test_the_meter_of_these_tests_counts_words() -> None:
    assert METER.text("one two  three") == 3
