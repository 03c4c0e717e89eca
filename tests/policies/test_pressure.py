"""The pressure pass: what is spilled, what stays, and when history folds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.context import Change, Commit, Live, Origin, Revision, commit
from redraft.dialects import OPENAI_CHAT, OpenAIChat, check
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import Piece, results_message
from redraft.dialects.preserve import PRESERVED, Approval, approval_line
from redraft.dialects.stubs import OverflowStub, body_id
from redraft.policies import Pressure, Summarize, View, critical, preserved
from redraft.prompts import CARRIED, FELL_BACK, SPILLED
from redraft.settings import Settings
from redraft.store import spills_of
from redraft.tokens import Meter

CHAT = OpenAIChat()
PASS = Pressure(ceiling=0.8, keep=1, oversized=4_000, summary=40)


class Letters:
    """A token for four characters."""

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


def start(*messages: Any, dialect: OpenAIChat = CHAT) -> Live:
    frame, contents = dialect.split({"messages": list(messages)})
    return Live.start(dialect, Meter(Letters()), frame, contents)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def said(text: str | None, *ids: str) -> Any:
    function = {"name": "bash", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function} for name in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def result(name: str, text: str) -> Any:
    return {"role": "tool", "tool_call_id": name, "content": text}


def rounds(*sizes: int, tail: bool = True) -> Live:
    """A round of one result for each size in characters, then an answer and a new task."""
    messages: list[Any] = [user("task")]
    for at, size in enumerate(sizes):
        messages += [said(None, f"c{at}"), result(f"c{at}", chr(97 + at % 26) * size)]
    return start(*messages, *([said("done"), user("more"), said("well")] if tail else []))


def spilled(live: Live, limit: int, policy: Pressure = PASS) -> list[str]:
    """The calls whose results become stubs."""
    revision = policy.decide(View(live, limit))
    assert revision is None or isinstance(revision, Revision), revision
    numbers = {change.number for change in revision.changes} if revision else set()
    return [turn.content.answers or "" for turn in live.turns if turn.number in numbers]


def full(live: Live) -> int:
    """A limit of which the context fills nine tenths."""
    return live.tokens * 10 // 9


def folded(live: Live, answer: str) -> Revision:
    """What the pass does with this answer to its question."""
    need = PASS.decide(View(live, full(live)))
    assert isinstance(need, Summarize)
    revision = PASS.decide(View(live, full(live), {need.key: answer}))
    assert isinstance(revision, Revision)
    return revision


class TestSpill:
    def test_nothing_happens_below_the_soft_ceiling(self) -> None:
        live = rounds(2_000, 2_000, 2_000)
        assert spilled(live, live.tokens * 10 // 7) == []
        assert spilled(live, full(live)) == ["c0", "c1"]

    def test_results_outside_the_newest_rounds_go(self) -> None:
        live = rounds(2_000, 2_000, 2_000, 2_000)
        policy = Pressure(ceiling=0.8, keep=2, oversized=9_000, summary=10_000)
        assert spilled(live, full(live), policy) == ["c0", "c1"]

    def test_an_oversized_result_goes_however_new_it_is(self) -> None:
        live = rounds(2_000, 5_000)
        assert spilled(live, full(live)) == ["c0", "c1"]

    def test_results_under_600_characters_stay(self) -> None:
        live = rounds(599, 600, 3_000, 2_000)
        assert spilled(live, full(live)) == ["c1", "c2"]

    def test_pinned_results_stay(self) -> None:
        live = rounds(2_000, 2_000, 2_000).pin([3])
        assert spilled(live, full(live), Pressure(0.8, 1, 4_000, 10_000)) == ["c1"]

    def test_what_the_model_has_not_read_yet_stays_unless_it_does_not_fit(self) -> None:
        live = rounds(2_000, 2_000, 9_000, tail=False)
        assert spilled(live, full(live), Pressure(0.8, 1, 4_000, 10_000)) == ["c0", "c1"]
        assert spilled(live, live.tokens - 1) == ["c0", "c1", "c2"]

    def test_a_result_that_waits_for_an_approval_stays(self) -> None:
        text = f"{'x' * 2_000}\n{approval_line(Approval('ap_1', 'push'))}"
        live = start(
            user("task"),
            *(said(None, "a", "b"), result("a", text), result("b", "y" * 2_000)),
            *(said(None, "c"), result("c", "z" * 900), said("done")),
        )
        assert spilled(live, full(live)) == ["b"]

    def test_a_stub_and_the_models_own_note_are_left_alone(self) -> None:
        live, policy = rounds(2_000, 2_000, 2_000), Pressure(0.8, 1, 4_000, 10_000)
        first = policy.decide(View(live, full(live)))
        assert isinstance(first, Revision)
        answer = commit(live, first, 10**9)
        assert isinstance(answer, Commit)
        assert spilled(answer.live, full(answer.live), policy) == []
        turn = live.turns[2]
        note = live.draft(CHAT.write(turn.content, "n" * 1_000, (), ()), Origin.EDITED)
        noted = commit(
            live, Revision("model", "context_note", (Change(3, turn.digest, note),)), 10**9
        )
        assert isinstance(noted, Commit)
        assert spilled(noted.live, full(noted.live), policy) == ["c1"]

    def test_each_body_is_named_for_the_store(self) -> None:
        live = rounds(2_000, 2_000, 900)
        revision = PASS.decide(View(live, full(live)))
        assert isinstance(revision, Revision)
        assert [spill.body for spill in spills_of(revision, live)] == ["a" * 2_000, "b" * 2_000]
        answer = commit(live, revision, full(live))
        assert isinstance(answer, Commit)
        stub = OverflowStub.parse(answer.live.turns[2].content.text)
        assert stub == OverflowStub(body_id("a" * 2_000), "bash", 2_000, "c0")

    def test_on_a_fenced_route_a_pin_keeps_the_whole_rounds_message(self) -> None:
        fence = call_fence("bash", "{}")
        messages: list[Any] = [user("task")]
        for number in (1, 2, 3):
            pieces = [Piece(f"r{number}.{at}", "bash", f"{at}" * 1_500) for at in (1, 2)]
            messages.append({"role": "assistant", "content": f"look\n\n{fence}\n\n{fence}"})
            messages.append(results_message(number, pieces))
        live = start(*messages, said("done"), dialect=Fenced())
        policy = Pressure(0.8, 1, 4_000, 10_000)
        assert spilled(live, full(live), policy) == ["r1.1", "r1.2", "r2.1", "r2.2"]
        held = live.pin([3])
        assert spilled(held, full(held), policy) == ["r2.1", "r2.2"]


class TestFold:
    def words(self) -> Live:
        messages = [user("task")]
        for at in range(8):
            messages += [said(f"thinking {at} {'w ' * 300}"), user(f"go on {at}")]
        messages += [said(None, "c"), result("c", "see https://example.org/x ok"), said("done")]
        return start(*messages, said("well"))

    def test_where_spilling_is_not_enough_it_asks_for_a_summary(self) -> None:
        live = self.words()
        need = PASS.decide(View(live, full(live)))
        assert isinstance(need, Summarize)
        assert need.max_tokens == 40
        assert "assistant: thinking 0" in need.text
        assert "task" not in need.text

    def test_old_history_becomes_the_summary_and_the_newest_rounds_stay(self) -> None:
        live = self.words()
        need = PASS.decide(View(live, full(live)))
        assert isinstance(need, Summarize)
        revision = PASS.decide(View(live, full(live), {need.key: "all was well"}))
        assert isinstance(revision, Revision)
        answer = commit(live, revision, full(live))
        assert isinstance(answer, Commit), answer.receipt
        texts = [turn.content.text for turn in answer.live.turns]
        assert texts[:2] == ["task", "all was well"]
        assert texts[2:] == ["", "see https://example.org/x ok", "done", "well"]
        assert answer.live.turns[1].origin is Origin.SUMMARY
        assert answer.live.tokens < live.tokens // 2

    def test_what_must_outlive_is_carried_in_the_summary(self) -> None:
        text = f"see https://example.org/x, user_id: 42, row 8812934\n{'w ' * 99}"
        live = start(
            user("task"),
            *(said(None, "a"), result("a", text), said(f"so {'w ' * 900}"), user("go on")),
            *(said(None, "b"), result("b", "ok"), said("done")),
        )
        (insert,) = folded(live, "so far").inserts
        assert insert.new.content.text == (
            f"so far\n\n{PRESERVED}\nsources: https://example.org/x\nidentifiers: user_id: 42"
            f"\n\n{CARRIED}\n- 8812934"
        )

    def test_what_waits_for_an_approval_and_what_the_user_laid_down_stay_in_their_places(
        self,
    ) -> None:
        waits = f"{approval_line(Approval('ap_1', 'push'))}\n{'w ' * 2_000}"
        live = start(
            user("task"),
            *(said(None, "a"), result("a", waits), said(f"so {'w ' * 900}")),
            *(user("Never touch the main branch."), said(f"no {'w ' * 900}"), user("go on")),
            *(said(None, "b"), result("b", "ok"), said("done")),
        )
        before = critical(live)
        assert {item.kind for item in before} == {"task", "approval", "constraint"}
        revision = folded(live, "so far")
        assert {change.number for change in revision.changes} == {4, 6, 7}
        answer = commit(live, revision, full(live))
        assert isinstance(answer, Commit), answer.receipt
        assert preserved(before, answer.live).ok

    @pytest.mark.parametrize(
        "answer", ["", " \n", "w " * 200, "row 8812935 failed", "it took 17.5 s"]
    )
    def test_a_summary_that_fails_the_audit_folds_nothing_and_the_receipt_says_so(
        self, answer: str
    ) -> None:
        spills = start(
            user("task"),
            *(said(None, "a"), result("a", "row 8812934 " * 75), said("w " * 5_000), user("go on")),
            *(said(None, "b"), result("b", "ok"), said("done")),
        )
        revision = folded(spills, answer)
        assert [change.number for change in revision.changes] == [3]
        assert (revision.inserts, revision.notes) == ((), (SPILLED,))
        talk = self.words()
        revision = folded(talk, answer)
        assert revision.changes[0] == Change(2, talk.turns[1].digest, None)
        assert all(change.new is None for change in revision.changes)
        assert (revision.inserts, revision.notes) == ((), (FELL_BACK,))
        done = commit(talk, revision, full(talk))
        assert isinstance(done, Commit), done.receipt
        assert done.live.tokens < 0.8 * full(talk)

    def test_where_no_summary_can_be_had_it_spills_what_there_is(self) -> None:
        live = start(
            user("task"),
            *(said(None, "a"), result("a", "x" * 900), said("w " * 5_000), user("go on")),
            *(said(None, "b"), result("b", "ok"), said("done")),
        )
        need = PASS.decide(View(live, full(live)))
        assert isinstance(need, Summarize)
        revision = PASS.decide(View(live, full(live), {need.key: ""}))
        assert isinstance(revision, Revision)
        assert [change.number for change in revision.changes] == [3]
        assert revision.inserts == ()

    def test_pins_and_unanswered_words_are_not_folded(self) -> None:
        live = self.words().pin([2])
        need = PASS.decide(View(live, full(live)))
        assert isinstance(need, Summarize)
        assert "thinking 0" not in need.text
        revision = PASS.decide(View(live, full(live), {need.key: "so far"}))
        assert isinstance(revision, Revision)
        assert 2 not in {change.number for change in revision.changes}

    def test_with_nothing_left_to_do_it_does_nothing(self) -> None:
        live = start(user("task " * 500), said("done"))
        assert PASS.decide(View(live, full(live))) is None


@pytest.mark.parametrize(
    ("window", "ceiling", "keep", "oversized"),
    [
        (8_000, 0.7, 2, 4_000),
        (64_000, 0.8, 4, 12_800),
        (128_000, 0.8, 8, 25_600),
        (10**6, 0.8, 12, 40_000),
    ],
)
def test_defaults_scale_with_the_window(
    window: int, ceiling: float, keep: int, oversized: int
) -> None:
    policy = Pressure.of(Settings(), window)
    assert (policy.ceiling, policy.keep, policy.oversized) == (ceiling, keep, oversized)


def test_settings_are_stronger_than_the_window() -> None:
    chosen = Settings(
        agent_midturn_compact_pct=0.5,
        agent_midturn_keep_tool_rounds=0,
        agent_midturn_spill_chars=700,
    )
    policy = Pressure.of(chosen, 128_000)
    assert (policy.ceiling, policy.keep, policy.oversized) == (0.5, 0, 700)
    live = rounds(650, 2_000)
    assert spilled(live, full(live), policy) == ["c0", "c1"]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 9_000), st.integers(1, 3)), min_size=1, max_size=8),
    st.sets(st.integers(1, 30), max_size=4),
    st.integers(0, 3),
    st.sampled_from((0.5, 0.9, 1.1)),
    st.sampled_from(("", "a summary")),
)
def test_whatever_it_does_passes_the_door_and_frees_more_than_it_costs(
    sizes: list[tuple[int, int]], pins: set[int], keep: int, fullness: float, summary: str
) -> None:
    messages: list[Any] = [user("task")]
    for at, (size, count) in enumerate(sizes):
        names = [f"c{at}_{one}" for one in range(count)]
        messages.append(said("thinking " * (size % 200), *names))
        messages += [result(name, "x" * (size // count)) for name in names]
    live = start(*messages, said("done")).pin(pins)
    limit = int(live.tokens / fullness)
    policy = Pressure(keep=keep, oversized=4_000, summary=40)
    view = View(live, limit)
    answer = policy.decide(view)
    if isinstance(answer, Summarize):
        answer = policy.decide(View(live, limit, {answer.key: summary}))
    assert not isinstance(answer, Summarize)
    if answer is None:
        return
    assert live.tokens >= policy.ceiling * limit - 1
    done = commit(live, answer, max(limit, live.tokens))
    assert isinstance(done, Commit), done.receipt
    assert done.deltas.net > 0
    assert check(done.live.body()["messages"], OPENAI_CHAT) == []
    held = {turn.number: turn for turn in live.turns if turn.number in live.protected()}
    assert all(turn is held[turn.number] for turn in done.live.turns if turn.number in held)
    assert held.keys() <= {turn.number for turn in done.live.turns}
