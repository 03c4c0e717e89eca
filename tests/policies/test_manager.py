"""The scheduled manager: the checklist of the seed, line by line, on values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from redraft.context import Commit, Insert, Live, Origin, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.errors import SettingsError
from redraft.policies import Manager, Rotation, Rule, SlidingWindow, Tuning, View
from redraft.policies.manager import dry_run
from redraft.policies.tuning import adjusted
from redraft.tokens import Meter

CHAT = OpenAIChat()


class Words:
    """One token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def said(text: str) -> Any:
    return {"role": "assistant", "content": text}


def start(*messages: Any) -> Live:
    frame, contents = CHAT.split({"messages": list(messages)})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def chat(count: int = 10) -> Live:
    messages = [{"role": "system", "content": "Be kind."}, user("task")]
    for at in range(count):
        messages += [said(f"answer {at} {'w ' * 100}"), user(f"question {at}")]
    return start(*messages, said("done"))


def called(count: int, words: int) -> Live:
    messages: list[Any] = [user("task")]
    for at in range(count):
        function = {"name": "bash", "arguments": "{}"}
        call = {"id": f"c{at}", "type": "function", "function": function}
        messages.append(
            {"role": "assistant", "content": "w " * (300 - words), "tool_calls": [call]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": "w " * words})
    return start(*messages, said("done"))


def test_below_seventy_percent_everything_passes_through() -> None:
    live = chat()
    assert Manager().decide(View(live, live.tokens * 100 // 69)) is None
    assert Manager().decide(View(live, live.tokens * 100 // 71)) is not None


@pytest.mark.parametrize(
    ("live", "rotations", "strategy"),
    [
        (called(8, 280), 0, "offload"),
        (called(8, 20), 0, "hierarchical-summary"),
        (chat(), 0, "sliding-window"),
        (chat(), 1, "threshold-summary"),
    ],
)
def test_the_rules_choose_by_what_fills_the_context(
    live: Live, rotations: int, strategy: str
) -> None:
    log = (Rotation(0, "sliding-window", "", 100, 50),) * rotations
    rule = Manager(rotations=log).choose(live, live.tokens)
    assert rule is not None
    assert rule.strategy == strategy


def test_the_rules_can_be_replaced() -> None:
    mine = (Rule("sliding-window", "because", lambda _: True),)
    assert Manager(rules=mine).choose(called(8, 280), 100) is mine[0]


def test_a_manager_does_not_manage_itself_and_a_rule_names_what_exists() -> None:
    with pytest.raises(SettingsError, match="manage itself"):
        Manager(strategies={"manager": Manager(), "sliding-window": SlidingWindow()})
    with pytest.raises(SettingsError, match="use one of"):
        Manager(rules=(Rule("wishful", "", lambda _: True),))


def test_a_rotation_is_logged_with_time_method_and_savings_and_reported_in_five_parts() -> None:
    live, manager = chat(), Manager()
    revision = manager.decide(View(live, live.tokens))
    assert isinstance(revision, Revision)
    assert dry_run(live, revision, live.tokens) is not None
    done = commit(live, revision, live.tokens)
    assert isinstance(done, Commit)
    assert dry_run(live, revision, live.tokens) == done.live.tokens
    after = manager.rotated(live, done.live, 1800.0, revision.notes[0])
    (rotation,) = after.rotations
    assert (rotation.at, rotation.method) == (1800.0, "sliding-window")
    assert rotation.saved == live.tokens - done.live.tokens > 0
    report = after.report(done.live, live.tokens, 0.0, 3600.0)
    assert report.saved_per_hour == rotation.saved
    assert report.preservation.ok
    assert {item.kind for item in report.preservation.found} >= {"constraint", "task"}
    told = json.loads(json.dumps(report.as_dict()))
    assert list(told)[:5] == ["status", "strategy", "preservation", "memory", "efficiency"]
    assert told["strategy"]["name"] == "sliding-window"


def noted(live: Live, *texts: str, origin: Origin = Origin.HARNESS) -> Live:
    at = live.turns[3].number
    inserts = tuple(Insert(at, live.draft(CHAT.note("user", text), origin)) for text in texts)
    done = commit(live, Revision("harness", "x", (), inserts), 10**9)
    assert isinstance(done, Commit)
    return done.live


def test_stale_notes_go_with_a_rotation_and_pinned_ones_never() -> None:
    texts = [
        "[note: 10 tokens are left]",
        "[note: 20 tokens are left]",
        "[note: 30 tokens are left]",
    ]
    live = noted(chat(), *texts)
    first = next(turn for turn in live.turns if turn.content.text == texts[0])
    live = live.pin([first.number])
    # Offloading moves nothing else: there is no tool output, so the window slides past the notes.
    revision = Manager().decide(View(live, live.tokens))
    assert isinstance(revision, Revision)
    done = commit(live, revision, live.tokens)
    assert isinstance(done, Commit)
    left = [turn.content.text for turn in done.live.turns]
    assert texts[0] in left
    assert texts[1] not in left


class TestTuning:
    def rotation(self, saved: int) -> Rotation:
        return Rotation(5.0, "sliding-window", "", 1_000, 1_000 - saved)

    @pytest.mark.parametrize(("saved", "trigger"), [(50, 0.72), (300, 0.70), (700, 0.68)])
    def test_the_trigger_moves_by_what_a_rotation_saved(self, saved: int, trigger: float) -> None:
        tuning, step = adjusted(Tuning(), [self.rotation(saved)])
        assert tuning.trigger == trigger
        assert (step is None) == (saved == 300)

    @pytest.mark.parametrize(("saved", "bound"), [(0, 0.85), (900, 0.60)])
    def test_it_stays_within_its_bounds(self, saved: int, bound: float) -> None:
        tuning, steps = Tuning(), 0
        for _ in range(50):
            tuning, step = adjusted(tuning, [self.rotation(saved)])
            steps += step is not None
        assert tuning.trigger == bound
        assert steps < 10

    def test_what_a_summary_cost_counts_against_it(self) -> None:
        dear = replace(self.rotation(700), spent=6_000)
        assert adjusted(Tuning(), [dear])[0].trigger == 0.72

    def test_it_can_be_switched_off(self) -> None:
        off = Tuning(on=False)
        assert adjusted(off, [self.rotation(900)]) == (off, None)
