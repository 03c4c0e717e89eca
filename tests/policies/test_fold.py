"""A branch becomes its result: what goes, what stays, what is carried."""

from __future__ import annotations

import json
from typing import Any

from summary_world import CHAT, Words

from redraft.context import Commit, Gate, Live, Origin, commit
from redraft.dialects.stubs import INCOGNITO, stubs_in
from redraft.policies import critical, preserved
from redraft.policies.fold import Folding, branch_groups, folding, open_branches
from redraft.store import spills_of
from redraft.tokens import Meter

BRANCH = 3
"""The number of the turn that begins the branch."""


def round_of(at: int, output: str, name: str = "bash", **arguments: Any) -> list[Any]:
    call = {"name": name, "arguments": json.dumps(arguments or {"command": f"cat {at}"})}
    asked = [{"id": f"c{at}", "type": "function", "function": call}]
    return [
        {"role": "assistant", "content": f"step {at}", "tool_calls": asked},
        {"role": "tool", "tool_call_id": f"c{at}", "content": output},
    ]


def begun(*messages: Any, open_return: bool = True) -> Live:
    """A task, a step, a branch with these messages, and a call that returns."""
    start = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "I begin."},
        *round_of(0, "Branch begun", "branch", description="look", goal="find"),
    ]
    end = round_of(99, "", "return_from_branch", result="found")[:1] if open_return else []
    frame, contents = CHAT.split({"messages": [*start, *messages, *end]})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def fold(live: Live, result: str = "It is in b.", **options: Any) -> Folding:
    return folding(live, BRANCH, "look", result, 10_000, **{"least": 100, **options})


def applied(live: Live, done: Folding) -> Live:
    assert done.revision is not None
    answer = commit(live, done.revision, 10_000)
    assert isinstance(answer, Commit), answer.receipt
    assert preserved(critical(live, done.turns), answer.live).ok
    assert answer.live.recount() == answer.live.tokens
    return answer.live


def three() -> list[Any]:
    return [
        *round_of(1, f"commit 3f2a91c07be1 {'w ' * 100}"),
        *round_of(2, f"nothing {'w ' * 200}"),
        *round_of(3, f"/srv/conf/b.toml {'w ' * 300}"),
    ]


def test_the_branchs_turns_become_one_note_and_everything_around_stays() -> None:
    live = begun(*three())
    after = applied(live, fold(live))
    assert after.turns[:4] == live.turns[:4]
    assert after.turns[-1] is live.turns[-1]
    note = after.turns[4]
    assert (note.role, note.origin, len(after.turns)) == ("assistant", Origin.NOTE, 6)
    assert note.content.text.startswith(
        "[my result of the branch `look`, in place of 6 turns]\nIt is in b."
    )


def test_exact_values_that_the_result_leaves_out_are_carried() -> None:
    live = begun(*three())
    text = applied(live, fold(live, "It is in /srv/conf/b.toml.")).turns[4].content.text
    assert text.count("/srv/conf/b.toml") == 1
    assert "- 3f2a91c07be1" in text


def test_the_largest_bodies_stay_readable() -> None:
    live = begun(*three())
    done = fold(live, bodies=2)
    bodies = [turn.content.text for turn in live.turns if turn.number in (8, 10)]
    assert [spill.body for spill in spills_of(done.revision, live)] == bodies  # type: ignore[arg-type]
    text = applied(live, done).turns[4].content.text
    assert stubs_in(text) == done.stubs
    assert [stub.tool for stub in done.stubs] == ["bash", "bash"]


def test_no_stub_names_what_is_kept_nowhere() -> None:
    live = begun(*three())
    assert fold(live, bodies=0).stubs == ()
    assert fold(live, storage=INCOGNITO).stubs == ()
    assert fold(live, least=1_000).stubs == ()


def test_stubs_that_would_eat_what_is_freed_are_left_out() -> None:
    live = begun(*round_of(1, "w " * 110))
    done = [fold(live, "w " * count) for count in range(1, 99)]
    with_stubs = [at for at, one in enumerate(done) if one.revision and one.stubs]
    without = [at for at, one in enumerate(done) if one.revision and not one.stubs]
    assert with_stubs
    assert without
    assert max(with_stubs) < min(without)
    assert done[-1].why == "small"


def test_words_of_the_user_and_pins_stay_word_for_word() -> None:
    asked = {"role": "user", "content": "Also look at c."}
    live = begun(*three()[:2], asked, *three()[2:]).pin([9])
    after = applied(live, fold(live))
    assert [turn.content.text for turn in after.turns if turn.role == "user"] == [
        "task",
        "Also look at c.",
    ]
    # A pinned result keeps its call: the group is atomic.
    assert {8, 9} <= {turn.number for turn in after.turns}


def test_a_rule_that_was_laid_down_in_the_branch_outlives_it() -> None:
    rule = {"role": "user", "content": "You must never delete anything."}
    answer = {"role": "assistant", "content": "Understood."}
    live = begun(rule, answer, *three())
    after = applied(live, fold(live))
    assert "You must never delete anything." in [turn.content.text for turn in after.turns]


def test_an_approval_that_waits_keeps_its_round() -> None:
    live = begun(*round_of(1, f"[approval pending id=ap_1: push] {'w ' * 50}\n"), *three()[2:])
    waiting = round_of(1, f"[approval pending id=ap_1: push]\n{'w ' * 50}")
    live = begun(*waiting, *three()[2:])
    after = applied(live, fold(live))
    assert any("ap_1" in turn.content.text and turn.role == "tool" for turn in after.turns)


def test_the_round_that_returns_is_never_in_the_branch() -> None:
    live = begun(*three())
    inside = [turn.number for group in branch_groups(live, BRANCH) for turn in group.turns]
    assert inside == [5, 6, 7, 8, 9, 10]
    assert live.turns[-1].number == 11


def test_an_empty_branch_and_a_small_one_are_left_as_they_are() -> None:
    assert fold(begun()).why == "empty"
    done = fold(begun(*round_of(1, "short")))
    assert (done.why, done.revision, done.turns) == ("small", None, (5, 6))


def test_a_branch_is_open_as_long_as_its_beginning_stands() -> None:
    live = begun(*three())
    assert open_branches(live, [BRANCH, 77]) == (BRANCH,)


def test_the_receipt_says_what_is_still_open() -> None:
    live = begun(*three())
    for depth, said in ((0, "branch ended, none open"), (2, "branch ended, 2 open")):
        revision = fold(live, depth=depth).revision
        assert revision is not None
        assert revision.notes == (said,)
        assert (revision.author, revision.source) == ("model", "return_from_branch")
        assert revision.gate is Gate.SHRINK


def test_a_branch_within_is_folded_with_the_one_around_it() -> None:
    inner = round_of(20, "Branch begun", "branch", description="deeper", goal="more")
    live = begun(*three()[:2], *inner, *three()[2:])
    after = applied(live, fold(live))
    assert [turn.number for turn in after.turns[:4]] == [1, 2, 3, 4]
    assert len(after.turns) == 6
