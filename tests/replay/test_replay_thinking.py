"""What becomes of earlier reasoning: found by the sizes, else by the model's name."""

from __future__ import annotations

from typing import Any

import pytest
from replay_world import SESSION, lines, pi_answer, pi_result, pi_user, read

from redraft.cost import Cause
from redraft.replay import Audit, Recording, Timeline, audit, fit, policies_named, replay
from redraft.replay.thinking import reasoning_by_model, usual_reasoning
from redraft.tokens import Meter

METER = Meter()
THOUGHT = "I wonder whether this can be so, and look for what speaks against it. " * 120
WORDS = "the quick brown fox jumps over the lazy dog " * 60
PROMPT, THINKING = 546, 1_800


@pytest.mark.parametrize(
    ("model", "way"),
    [
        ("claude-sonnet-4-5", "recent"),
        ("claude-sonnet-4-20250514", "recent"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "recent"),
        ("claude-opus-4-1", "recent"),
        ("claude-3-7-sonnet", "recent"),
        ("claude-opus-4-5-20251101", "keep"),
        ("anthropic/claude-sonnet-4.6", "keep"),
        ("claude-opus-5-5", "keep"),
        ("gpt-5", "recent"),
        ("qwen3-8b", "recent"),
        ("gemini-3-pro", "drop"),
        ("", "recent"),
    ],
)
def test_what_is_usual_for_a_model(model: str, way: str) -> None:
    assert usual_reasoning(model) == way


def session(*, kept: bool, model: str = "claude-sonnet-4-5") -> Recording:
    """Four prompts, each answered after a look with much thought: what the server reports is that
    thinking stays, or that it leaves once the user speaks again."""
    rows: list[Any] = [SESSION]
    size, read_, thinking = 4_000, 0, 0
    for at in range(4):
        rows.append(pi_user(f"{at} {WORDS}"))
        if not kept:
            size, read_ = size - thinking, read_ - thinking
        size += PROMPT
        rows.append(answer("", size, max(read_, 0), at, model, call=f"c{at}"))
        read_, size, thinking = size, size + THINKING + 30, THINKING
        rows.append(pi_result(f"c{at}", "found it"))
        rows.append(answer("done", size, read_, at + 0.5, model))
        # Without the thinking, what is left of the cache ends at the prompt before it.
        read_ = size if kept else size - 30
    return read(lines(*rows))


def answer(
    text: str, size: int, read_: int, at: float, model: str, call: str = ""
) -> dict[str, Any]:
    row = pi_answer(text, (3, 5, read_, size - read_ - 3), at * 20, [call] if call else [])
    row["message"]["model"] = model
    if call:
        row["message"]["content"].insert(0, {"type": "thinking", "thinking": THOUGHT})
    return row


def judged(found: Recording) -> Audit:
    return audit(fit(Timeline(found), METER))


def test_the_sizes_say_what_became_of_it_whatever_is_usual() -> None:
    for model in ("claude-sonnet-4-5", "claude-opus-4-5"):
        for kept in (True, False):
            timeline = Timeline(session(kept=kept, model=model))
            assert reasoning_by_model(timeline, METER) == {model: "keep" if kept else "recent"}


def test_reasoning_that_left_is_the_cause_of_its_breaks_and_the_rest_is_read() -> None:
    found = judged(session(kept=False))
    assert (found.calls, found.misses) == (8, [])
    assert found.explained[Cause.REASONING][0] == 3
    assert abs(found.error) < 0.02


def test_reasoning_that_stays_breaks_nothing() -> None:
    found = judged(session(kept=True))
    assert found.misses == []
    assert found.explained == {}


def test_a_replay_does_as_the_recording_did() -> None:
    runs = {
        kept: replay(session(kept=kept), policies_named(["append-only"]), spans=(), prices=()).runs[
            0
        ]
        for kept in (True, False)
    }
    prefix = {kept: run.caches[0].totals for kept, run in runs.items()}
    assert prefix[True].breaks == {}
    assert prefix[False].breaks[Cause.REASONING][0] == 3
    assert runs[False].prompt < runs[True].prompt


def test_without_reasoning_or_sizes_the_name_decides() -> None:
    plain = read('[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]')
    assert reasoning_by_model(Timeline(plain), METER) == {"": "recent"}
