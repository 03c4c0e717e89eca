"""The real recordings, where they are at hand: all are read, and their cache reads are predicted."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_world import TRAJECTORIES, need, recordings

from redraft.cost import Cause
from redraft.replay import Audit, Timeline, audit, fit, load, replay
from redraft.replay.loaders.cassette import exchanges
from redraft.replay.source import Source
from redraft.tokens import Meter

METER = Meter()


def audited(path: Path) -> Audit:
    return audit(fit(Timeline(load(path)), METER))


def test_every_recording_at_hand_is_read_and_has_calls() -> None:
    paths = recordings()
    if not paths:
        pytest.skip(f"no recordings in {TRAJECTORIES}; set REDRAFT_SHARED")
    pytest.importorskip("yaml")
    read = {path.name: load(path) for path in paths}
    assert [name for name, found in read.items() if not list(found.calls())] == []
    formats = {found.format for found in read.values()}
    assert {"pi", "claude-code", "swe-agent", "openhands", "tau-bench", "cassette"} <= formats


def test_every_recording_at_hand_can_be_replayed() -> None:
    paths = [path for path in recordings() if path.stat().st_size < 300_000]
    if not paths:
        pytest.skip(f"no recordings in {TRAJECTORIES}; set REDRAFT_SHARED")
    pytest.importorskip("yaml")
    for path in paths:
        found = replay(load(path), meter=METER, spans=(1,), prices=())
        for run in found.runs:
            assert run.prompt > 0, path
            for cache in run.caches:
                assert cache.totals.read <= cache.totals.prompt == run.prompt


def test_pis_long_session() -> None:
    """439 calls. Within five minutes, 29 of them found nothing although the transcript only grew:
    pi had been restarted (its system prompt holds the time), which is not recorded."""
    found = audited(need("sessions/*large-session.jsonl"))
    assert (found.calls, found.close) == (439, 410)
    assert found.explained[Cause.LIFETIME][0] == 4
    assert {miss.reported for miss in found.misses} == {0}
    missed = sum(miss.predicted for miss in found.misses)
    rest = abs(found.predicted - missed - found.reported)
    assert rest < 0.001 * found.reported, "but for these, the sum is right to a thousandth"


def test_claude_codes_session_with_sub_agents() -> None:
    found = audited(need("sessions/*5c0375b4*.jsonl"))
    assert (found.calls, found.close) == (20, 19)
    assert abs(found.error) < 0.005
    (miss,) = found.misses
    assert "an estimate" in miss.why


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("agents/*OpenHands__basic.json", 4),
        ("http/*openai_responses_prompt_cache_e2e.yaml", 1),
        ("http/*inline_system_prompt_cache_prefix_is_reused.yaml", 2),
        ("http/*mistral_history_uses_prompt_cache.yaml", 16),
        ("http/*anthropic_compaction_usage_with_cache.yaml", 0),
    ],
)
def test_short_recordings_are_predicted_within_a_block(name: str, off: int) -> None:
    path = need(name)
    pytest.importorskip("yaml")
    found = audited(path)
    assert found.misses == []
    assert found.off <= off


def test_what_was_cached_before_a_recording_began_cannot_be_predicted_and_is_listed() -> None:
    path = need("http/*anthropic_cache_bedrock_real_api.yaml")
    pytest.importorskip("yaml")
    (miss,) = audited(path).misses
    assert (miss.number, miss.predicted, miss.reported) == (1, 0, 9_511)
    assert "before the recording" in miss.why


def test_the_prices_agree_with_what_pi_reckoned() -> None:
    pytest.importorskip("genai_prices")
    path = need("sessions/*large-session.jsonl")
    plain = replay(load(path), policies=[], meter=METER).as_dict()
    assert plain["reported_usage"]["usd"] == pytest.approx(plain["recorded_usd"], rel=0.001)


def test_raw_exchanges_are_there_for_wire_tests() -> None:
    path = need("http/*anthropic_cache_real_api.yaml")
    pytest.importorskip("yaml")
    first, second = exchanges(Source.read(path))
    assert first.api == second.api == "anthropic"
    assert second.request["messages"][0] == first.request["messages"][0]
    assert first.response["usage"]["cache_read_input_tokens"] == 1_111
