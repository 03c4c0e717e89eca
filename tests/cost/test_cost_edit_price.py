"""What an edit costs now, when it pays back, and the door check that asks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_world import PLAN, chat
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import (
    Change,
    Commit,
    Gate,
    Insert,
    Live,
    Origin,
    Refusal,
    Revision,
    commit,
)
from redraft.cost import RELATIVE, EditPrice, max_payback, price_commit, price_edit
from redraft.dialects import OpenAIChat


def context(*sizes: int) -> Live:
    """A system prompt, a task, and results of so many tokens, framing included."""
    texts = [("user", "w " * (size - 4)) for size in sizes]
    live = chat(("system", "s"), ("user", "task"), *texts, ("assistant", "noted"))
    assert [turn.tokens for turn in live.turns[2:-1]] == list(sizes)
    return live


def cut(live: Live, number: int, size: int, author: str = "model") -> Revision:
    """Rewrite one turn to so many tokens."""
    turn = live.turns[number - 1]
    text = "n " * (size - 4)
    draft = live.draft(live.dialect.write(turn.content, text, (), ()), Origin.NOTE)
    change = Change(number, turn.digest, draft)
    return Revision(author, "test", (change,), gate=Gate.FIT)  # type: ignore[arg-type]


def edited(live: Live, revision: Revision) -> Commit:
    done = commit(live, revision, 10**9)
    assert isinstance(done, Commit), done
    return done


def test_an_early_edit_costs_its_tail_and_pays_back_slowly() -> None:
    live = context(500, 10_000)
    done = edited(live, cut(live, 3, 100))
    price = price_edit(live, done.live)
    assert (price.freed, price.tail, price.reread) == (400, 10_005, 10_105)
    assert price.now == pytest.approx(10_105 * (1.25 - 0.1) - 400 * 0.1)
    assert price.later == pytest.approx(40)
    assert price.payback == 290


def test_a_late_edit_of_the_same_size_is_cheap() -> None:
    live = context(10_000, 500)
    price = price_edit(live, edited(live, cut(live, 4, 100)).live)
    assert (price.freed, price.tail) == (400, 5)
    assert price.payback == 3


def test_what_frees_much_of_a_short_tail_pays_at_once() -> None:
    live = context(10_000)
    price = price_edit(live, edited(live, cut(live, 3, 10)).live)
    assert price.payback == 0
    assert "pays at once" in price.line()


def test_an_edit_that_grows_never_pays_back() -> None:
    live = context(500, 1_000)
    price = price_edit(live, edited(live, cut(live, 3, 600)).live)
    assert price.payback is None
    assert price.line() == "1,005 unchanged tokens re-read, never pays back"


def test_the_payback_is_the_first_call_at_which_the_savings_cover_the_cost() -> None:
    price = EditPrice(before=20_000, after=15_000, reread=10_000, tail=9_000)
    calls = price.payback
    assert calls is not None
    assert calls * price.later >= price.now > (calls - 1) * price.later


@given(
    st.integers(1, 100_000), st.integers(0, 100_000), st.integers(0, 50_000), st.integers(0, 50_000)
)
def test_more_tail_never_pays_back_sooner(before: int, freed: int, tail: int, more: int) -> None:
    before += freed
    prices = [
        EditPrice(before, before - freed, 10 + size, size).payback for size in (tail, tail + more)
    ]
    short, long = prices
    assert long is None or (short is not None and short <= long)


def test_a_commit_has_the_price_of_the_edit_that_it_made() -> None:
    live = context(500, 2_000)
    done = edited(live, cut(live, 3, 100))
    assert price_commit(done) == price_edit(live, done.live)


def test_other_prices_give_another_payback() -> None:
    live = context(500, 2_000)
    after = edited(live, cut(live, 3, 100)).live
    free = replace(RELATIVE, write=1.0)
    cheap, usual = price_edit(live, after, rates=free), price_edit(live, after)
    assert cheap.now < usual.now
    assert (cheap.payback or 0) < (usual.payback or 0)


def thinking() -> Live:
    messages = [
        {"role": "user", "content": "task"},
        {"role": "user", "content": "w " * 96},
        {"role": "assistant", "content": "so", "reasoning_content": "t " * 50},
    ]
    frame, contents = OpenAIChat().split({"messages": messages})
    return Live.start(OpenAIChat(), PLAN, frame, contents)


def test_bound_reasoning_behind_the_edit_is_lost_and_priced_as_output() -> None:
    live = thinking()
    after = edited(live, cut(live, 2, 60)).live
    kept, lost = price_edit(live, after), price_edit(live, after, binding=True)
    assert (kept.reasoning, lost.reasoning) == (0, 50)
    assert lost.after == kept.after - 50
    assert lost.reread == kept.reread - 50
    assert "50 of reasoning lost" in lost.line()
    reads = lost.reread * 1.15
    assert lost.now == pytest.approx(reads + 50 * RELATIVE.output - lost.later)


def test_the_price_as_plain_values() -> None:
    price = EditPrice(before=1_000, after=900, reread=300, tail=200)
    assert price.as_dict() == {
        "before": 1_000,
        "after": 900,
        "freed": 100,
        "reread": 300,
        "tail": 200,
        "reasoning": 0,
        "now": pytest.approx(335.0),
        "later": pytest.approx(10.0),
        "payback_calls": 34,
    }


def test_the_line_fits_a_receipt() -> None:
    from redraft.tokens import Meter

    line = EditPrice(1_000_000, 900_000, 888_888, 777_777, 55_555).line()
    assert Meter().text(line) <= 32


def test_the_check_refuses_an_edit_that_pays_back_too_late_and_says_what_to_do() -> None:
    live = context(500, 10_000)
    refused = commit(live, cut(live, 3, 100), 10**9, [max_payback(289)])
    assert isinstance(refused, Refusal)
    assert refused.receipt.rule == (
        "edit price: 10,005 unchanged tokens re-read, pays back after 290 calls; at most 289 allowed: "
        "edit nearer to the end, or free more at once"
    )
    assert isinstance(commit(live, cut(live, 3, 100), 10**9, [max_payback(290)]), Commit)


def test_the_check_refuses_growth_over_a_tail_and_lets_a_note_at_the_end_pass() -> None:
    live = context(500, 1_000)
    assert isinstance(commit(live, cut(live, 3, 600), 10**9, [max_payback(10)]), Refusal)
    note = live.draft(live.dialect.note("user", "remember this"), Origin.NOTE)
    at_end = Revision("model", "test", (), (Insert(live.turns[-1].number, note),))
    assert isinstance(commit(live, at_end, 10**9, [max_payback(0)]), Commit)


def test_near_the_limit_every_edit_passes() -> None:
    live = context(500, 10_000)
    check = max_payback(1, limit=live.tokens + 100)
    assert isinstance(commit(live, cut(live, 3, 100), 10**9, [check]), Commit)
    far = max_payback(1, limit=live.tokens * 2)
    assert isinstance(commit(live, cut(live, 3, 100), 10**9, [far]), Refusal)


@pytest.mark.parametrize(
    ("author", "passes"), [("model", False), ("policy", False), ("person", True)]
)
def test_a_person_may_edit_at_any_price(author: str, passes: bool) -> None:
    live = context(500, 10_000)
    done = commit(live, cut(live, 3, 100, author), 10**9, [max_payback(1)])
    assert isinstance(done, Commit) is passes


def test_rollbacks_are_not_held_to_it() -> None:
    live = context(500, 10_000)
    assert isinstance(commit(live, cut(live, 3, 100, "harness"), 10**9, [max_payback(1)]), Commit)


@pytest.mark.parametrize(("calls", "near"), [(-1, 0.9), (1, 1.5), (1, -0.1)])
def test_numbers_that_cannot_be_are_refused(calls: int, near: float) -> None:
    with pytest.raises(ValueError, match="give 0 or more calls"):
        max_payback(calls, near=near)
