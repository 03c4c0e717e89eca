"""A summary that the model wrote: what it may replace, and what it is held against."""

from __future__ import annotations

from typing import Any

import pytest
from summary_world import CHAT, Words

from redraft.context import Commit, Gate, Live, Origin, commit
from redraft.policies.self_compact import Compaction, compaction
from redraft.tokens import Meter

ROWS = [f"881293{at}" for at in range(10)]


def start(*messages: Any) -> Live:
    frame, contents = CHAT.split({"messages": list(messages)})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def talk(task: str = "task") -> Live:
    """A task, ten answers with an exact value each, and a question."""
    said = [
        {"role": "assistant", "content": f"answer {at} on row {row} {'w ' * 100}"}
        for at, row in enumerate(ROWS)
    ]
    return start({"role": "user", "content": task}, *said, {"role": "user", "content": "and now?"})


def plan(live: Live, summary: str, keep: int = 0, **options: Any) -> Compaction:
    return compaction(live, summary, keep, 10_000, **options)


def good(count: int = 10) -> str:
    """A summary of the talk with its exact values."""
    return f"All looked at: {' '.join(ROWS[:count])}. Nothing is wrong."


def applied(live: Live, done: Compaction) -> Live:
    assert done.revision is not None
    answer = commit(live, done.revision, 10_000)
    assert isinstance(answer, Commit), answer.receipt
    return answer.live


def test_a_summary_with_its_exact_values_stands_for_the_older_turns() -> None:
    live = talk()
    done = plan(live, good(7), keep=4)
    after = applied(live, done)
    texts = [turn.content.text for turn in after.turns]
    assert texts[0] == "task"
    assert texts[1].startswith("[my summary of 7 turns that stood here]\nAll looked at:")
    assert texts[2:] == [turn.content.text for turn in live.turns[8:]]
    assert done.turns == tuple(range(2, 9))
    assert done.before - done.after == live.tokens - after.tokens


def test_the_note_is_the_models_own_and_no_users_words() -> None:
    live = talk()
    note = applied(live, plan(live, good())).turns[1]
    assert (note.role, note.origin) == ("assistant", Origin.NOTE)


def test_an_exact_value_that_it_lacks_is_named() -> None:
    done = plan(talk(), good(8))
    assert done.revision is None
    assert (done.why, done.missing, done.invented) == ("audit", tuple(ROWS[8:]), ())


def test_one_changed_digit_fails() -> None:
    done = plan(talk(), good().replace("8812934", "8812944"))
    assert (done.why, done.missing) == ("audit", ("8812934",))
    assert done.invented == ("8812944",)


def test_a_figure_of_the_task_is_not_made_up() -> None:
    live = talk()
    assert plan(live, f"{good()} It took 17 tries.").invented == ("17",)
    assert plan(talk("Try 17 times."), f"{good()} It took 17 tries.").why == ""


def test_the_reply_that_holds_the_summary_is_no_witness_for_it() -> None:
    live = talk()
    summary = f"{good()} It took 17 tries."
    call = {"name": "compact_context", "arguments": f'{{"summary": "{summary}"}}'}
    asked: Any = [{"id": "c", "type": "function", "function": call}]
    reply = {"role": "assistant", "content": "17", "tool_calls": asked}
    live = live.append(CHAT.split({"messages": [reply]})[1])
    assert plan(live, summary).invented == ("17",)


def test_on_demand_what_it_lacks_is_carried_below_it() -> None:
    live = talk()
    done = plan(live, "All is well.", carry=True)
    text = applied(live, done).turns[1].content.text
    assert "Carried forward, word for word:" in text
    assert all(value in text for value in ROWS)
    assert plan(live, "All is well, it took 17 tries.", carry=True).invented == ("17",)


def test_sources_and_identifiers_stand_below_it_in_any_case() -> None:
    live = talk()
    question = {"role": "user", "content": "and?"}
    words = {
        "role": "assistant",
        "content": f"See https://ci.example/run/8 {'w ' * 40}ticket OPS-12",
    }
    live = live.append(CHAT.split({"messages": [question, words]})[1])
    text = applied(live, plan(live, good())).turns[1].content.text
    assert "Preserved (compaction-safe):" in text
    assert "https://ci.example/run/8" in text
    assert "OPS-12" in text


@pytest.mark.parametrize(("keep", "why"), [(99, "nothing"), (11, "nothing"), (8, ""), (0, "")])
def test_with_too_much_to_keep_there_is_nothing_to_replace(keep: int, why: str) -> None:
    # The user's last words are the newest group.
    assert plan(talk(), good(), keep=keep).why == why


def test_a_summary_that_is_no_shorter_is_refused_with_both_sizes() -> None:
    done = plan(talk(), f"{good()} {'words ' * 2_000}")
    assert (done.why, done.revision) == ("longer", None)
    assert done.after > done.before > 0


def test_what_is_held_stays_where_it_is() -> None:
    live = talk().pin([4])
    rule = {"role": "user", "content": "You must never touch /srv/data."}
    answer = {"role": "assistant", "content": f"I will not. {'w ' * 100}"}
    live = live.append(CHAT.split({"messages": [rule, answer]})[1])
    after = applied(live, plan(live, " ".join((good(), "/srv/data"))))
    kept = [turn for turn in live.turns if turn.number in (1, 4, 13)]
    assert all(turn in after.turns for turn in kept)


def test_a_mended_summary_is_held_against_the_same_turns() -> None:
    live = talk()
    first = plan(live, "x", keep=4)
    more = {"role": "assistant", "content": "answer 10 on commit 8812940"}
    live = live.append(CHAT.split({"messages": [more]})[1])
    assert plan(live, good(7), keep=4).missing == ("8812937",)
    assert plan(live, good(7), keep=4, until=first.turns[-1]).why == ""


@pytest.mark.parametrize(
    ("gate", "wanted"),
    [(Gate.FIT, Gate.SHRINK), (Gate.SHRINK, Gate.SHRINK), (Gate.CONSERVE, Gate.CONSERVE)],
)
def test_what_does_not_shrink_is_no_compaction_whatever_the_gate(gate: Gate, wanted: Gate) -> None:
    done = plan(talk(), good(), gate=gate)
    assert done.revision is not None
    assert done.revision.gate is wanted
