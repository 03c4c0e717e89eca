"""Transcripts through policies and cache models: figures that follow the input, and their report."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from replay_world import lines, read

from redraft.context import Change, Draft, Gate, Origin, Revision
from redraft.cost import Geometry, LiteLLMPrices, NoPrice
from redraft.errors import BudgetError, SettingsError
from redraft.policies import Need, Retrieve, Summarize, View
from redraft.replay import (
    CAVEAT,
    PolicyResult,
    Replay,
    RollBack,
    known_policies,
    policies_named,
    replay,
    summary,
)
from redraft.replay.choices import stand_in
from redraft.tokens import Meter

METER = Meter()
SHAPE = Geometry("one", token=1.0, attention=0.0, full=1)
PRICES = [
    LiteLLMPrices(
        {"gpt-5": {"input_cost_per_token": 1e-06, "output_cost_per_token": 0.0}}, "mine", "7"
    )
]
LINE = "a line of tool output with a number 1234 in it\n"


def transcript(steps: int = 12, size: int = 60) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Find it."},
    ]
    for step in range(steps):
        function = {"name": "bash", "arguments": json.dumps({"command": f"look {step}"})}
        call = {"id": f"c{step}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": f"step {step}", "tool_calls": [call]})
        output = f"{step}\n" + LINE * size
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": output})
    return [*messages, {"role": "assistant", "content": "Found."}]


def run(
    messages: list[dict[str, Any]] | None = None, model: str = "gpt-5", **options: Any
) -> Replay:
    recording = read(json.dumps({"messages": messages or transcript(), "model": model}))
    settings: dict[str, Any] = {"meter": METER, "geometry": SHAPE, "prices": PRICES, "spans": (1,)}
    return replay(recording, **{**settings, **options})


def of(found: Replay, policy: str) -> PolicyResult:
    return next(one for one in found.runs if one.policy == policy)


def test_append_only_sends_everything_and_breaks_nothing() -> None:
    found = of(run(), "append-only")
    assert (found.calls, found.applied, found.refused, found.over) == (13, 0, 0, 0)
    prefix = found.caches[0]
    assert prefix.totals.breaks == {}
    assert prefix.totals.prompt == found.prompt == prefix.totals.read + prefix.totals.written
    assert prefix.totals.written == found.peak, "every token is computed once"


def test_the_figures_are_those_of_the_requests() -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    found = of(run(messages), "append-only")
    assert found.prompt == found.peak == 3 + 4 + METER.text("hello")
    assert found.output == 4 + METER.text("hi")
    assert found.caches[0].flops == found.prompt + found.output, "one FLOP a token in this shape"


def test_a_mask_that_acts_sends_less_and_its_breaks_are_the_policys() -> None:
    found = run(budget=14_000, window=1_000_000)
    plain, masked = of(found, "append-only"), of(found, "observation-mask")
    assert found.limit == 14_000 - 2_048
    assert masked.applied > 0
    assert masked.prompt < plain.prompt
    assert set(map(str, masked.caches[0].totals.breaks)) == {"policy"}


def test_requests_over_the_limit_are_counted() -> None:
    found = run(budget=6_000, window=1_000_000, policies=policies_named(["append-only"]))
    (plain,) = found.runs
    assert 0 < plain.over < plain.calls
    assert plain.peak > found.limit


def test_a_rollback_keeps_under_the_limit_and_is_its_own_cause() -> None:
    found = run(budget=6_000, window=1_000_000, policies=[RollBack()])
    (rolled,) = found.runs
    assert (rolled.policy, rolled.over) == ("rollback", 0)
    assert set(map(str, rolled.caches[0].totals.breaks)) == {"rollback"}


def test_a_changed_input_changes_every_figure() -> None:
    one, two = of(run(), "append-only"), of(run(transcript(12, 61)), "append-only")
    assert one.prompt != two.prompt
    assert one.caches[0].flops != two.caches[0].flops
    billed = [
        next(cache.money for cache in found.caches if cache.money is not None)
        for found in (one, two)
    ]
    assert billed[0] != billed[1]


def test_money_is_that_of_the_providers_cache_and_names_its_list() -> None:
    found = of(run(), "append-only")
    priced = {cache.name: cache.money for cache in found.caches}
    assert [name for name, money in priced.items() if money is not None] == ["openai"]
    money = next(cache.as_dict()["money"] for cache in found.caches if cache.name == "openai")
    assert money["usd"] == pytest.approx(found.prompt * 1e-06)
    assert (money["source"], money["version"], money["model"]) == ("mine", "7", "gpt-5")


def test_a_model_without_a_price_costs_nothing_known_and_never_zero() -> None:
    found = of(run(model="some-model"), "append-only")
    radix = next(cache for cache in found.caches if cache.name == "radix")
    assert isinstance(radix.money, NoPrice)
    plain = radix.as_dict()
    assert plain["money"] is None
    assert "mine has no entry 'some-model'" in plain["no_money"]


def test_without_a_named_model_there_is_no_price_either() -> None:
    recording = read(json.dumps(transcript()))
    found = replay(recording, meter=METER, geometry=SHAPE, prices=PRICES, spans=())
    assert "names no model" in str(found.as_dict())


def test_prices_are_those_of_the_day_of_the_recording() -> None:
    pytest.importorskip("genai_prices")
    rows = [
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": "b",
            "model": "o3",
            "timestamp": datetime(2024, 6, 1, tzinfo=UTC).isoformat(),
            "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0},
        },
    ]
    then = replay(read(lines(*rows)), meter=METER, spans=(), window=10_000_000)
    rows[1]["timestamp"] = "2026-06-01T00:00:00Z"
    now = replay(read(lines(*rows)), meter=METER, spans=(), window=10_000_000)
    assert then.as_dict()["reported_usage"]["usd"] > now.as_dict()["reported_usage"]["usd"] > 0


def test_flops_of_a_model_that_is_not_known_are_those_of_the_reference_and_say_so() -> None:
    found = run(geometry=None)
    assert (found.geometry, found.stand_in) == ("Qwen3.6-27B", True)
    known = run(geometry=None, model="Qwen/Qwen3-8B")
    assert (known.geometry, known.stand_in) == ("Qwen3-8B", False)


def test_moved_spans_save_compute_after_a_mask() -> None:
    found = of(run(budget=14_000, window=1_000_000, spans=(64,)), "observation-mask")
    by_name = {cache.name: cache for cache in found.caches}
    assert by_name["suffix-64"].flops < by_name["longest-prefix"].flops


def test_reasoning_that_the_template_strips_is_a_cause() -> None:
    messages: list[dict[str, Any]] = []
    for at in range(3):
        messages.append({"role": "user", "content": f"question {at}"})
        messages.append(
            {"role": "assistant", "content": f"answer {at}", "reasoning_content": "thinking " * 50}
        )
    stripped = of(run(messages, reasoning="recent"), "append-only")
    kept = of(run(messages, reasoning="keep"), "append-only")
    assert kept.caches[0].totals.breaks == {}
    assert stripped.prompt < kept.prompt
    # The last reasoning is sent only where nothing of the user's stands behind it: never here.
    assert stripped.caches[0].totals.breaks == {}


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(BudgetError, match="raise `budget`"):
        run(budget=1_000)


def test_progress_goes_from_one_to_all() -> None:
    seen: list[tuple[int, int, str]] = []
    run(progress=lambda done, total, what: seen.append((done, total, what)))
    assert [done for done, _, _ in seen] == list(range(1, 3 * 13 + 1))
    assert {total for _, total, _ in seen} == {3 * 13}
    assert {what for _, _, what in seen} == {"append-only", "observation-mask", "cache reads"}


def test_a_recording_without_any_answer_has_no_calls_and_says_so() -> None:
    found = run([{"role": "user", "content": "hello"}])
    assert found.calls == 0
    assert "no call to price" in found.notes[0]
    assert found.audit is None


def test_the_same_recording_gives_the_same_report() -> None:
    assert run().as_dict() == run().as_dict()


def test_the_report_can_be_written_as_json_and_says_what_it_cannot_claim() -> None:
    plain = json.loads(json.dumps(run().as_dict()))
    assert plain["caveat"] == CAVEAT
    assert [one["policy"] for one in plain["policies"]] == ["append-only", "observation-mask"]


def test_the_summary_names_each_policy_and_the_caveat() -> None:
    text = summary(run())
    assert text[0].startswith("recording: messages, gpt-5, 13 calls in 1 thread")
    assert sum(line.startswith(("append-only:", "observation-mask:")) for line in text) == 2
    assert text[-1] == CAVEAT


# -- policies by name, and what they ask for -----------------------------------------------------------


def test_policies_are_known_by_name() -> None:
    assert {"append-only", "observation-mask", "rollback"} <= set(known_policies())
    assert all(make().name == name for name, make in known_policies().items())


def test_an_unknown_policy_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(SettingsError, match=r"'forget-all'; use one of append-only, .*"):
        policies_named(["append-only", "forget-all"])


class Summarizes:
    """Replaces the first tool result by a summary once the context is half full."""

    name = "summarizes"

    def __init__(self) -> None:
        self.done = False

    def decide(self, view: View) -> Revision | Need | None:
        if self.done or view.live.tokens < view.limit / 2:
            return None
        turn = next(turn for turn in view.live.turns if turn.role == "tool")
        if "sum" not in view.given:
            return Summarize("sum", turn.content.text, 100)
        self.done = True
        content = view.live.dialect.write(turn.content, view.given["sum"], (), ())
        draft: Draft = view.live.draft(content, Origin.SUMMARY)
        change = Change(turn.number, turn.digest, draft)
        return Revision("policy", self.name, (change,), gate=Gate.CONSERVE)


def test_a_policy_that_wants_a_summary_gets_a_stand_in_and_its_spend_is_told() -> None:
    found = run(policies=[Summarizes()], budget=12_000, window=1_000_000)
    (only,) = found.runs
    assert (only.applied, only.summaries) == (1, 1)
    assert only.summary_prompt > 500
    assert 0 < only.summary_output <= 100  # repeated lines are picked once
    assert any("by stand-ins" in line for line in summary(found))


class Insists:
    """Wants something for ever."""

    name = "insists"

    def decide(self, view: View) -> Need:
        return Retrieve(f"key {len(view.given)}", "anything")


def test_a_policy_that_never_decides_is_left_alone() -> None:
    (only,) = run(policies=[Insists()]).runs
    assert (only.calls, only.applied) == (13, 0)


class Refused:
    """Proposes to change the pinned task."""

    name = "refused"

    def decide(self, view: View) -> Revision:
        turn = view.live.turns[0]
        return Revision("policy", self.name, (Change(turn.number, turn.digest, None),))


def test_what_the_door_refuses_changes_nothing_and_is_counted() -> None:
    (only,) = run(policies=[Refused()]).runs
    assert (only.applied, only.refused) == (0, 13)
    assert only.prompt == of(run(), "append-only").prompt


@pytest.mark.parametrize("most", [0, 1, 10, 100, 100_000])
def test_a_stand_in_is_no_longer_than_it_may_be(most: int) -> None:
    text = stand_in(Summarize("k", LINE * 500, most), METER)
    assert METER.text(text) <= most
    if most >= 10:
        assert text
    assert stand_in(Retrieve("k", "q"), METER) == ""
