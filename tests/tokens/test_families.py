from __future__ import annotations

import pytest
from token_texts import recordings

from redraft.tokens import QuicktokCounter, TiktokenCounter, family_factor


@pytest.mark.parametrize(
    "model",
    [
        "claude-2.1",
        "claude-instant-1.2",
        "anthropic.claude-v2:1",
        "anthropic.claude-instant-v1",
        "claude-3-opus-20240229",
        "claude-3-5-sonnet-latest",
        "claude-3-5-sonnet@20240620",
        "anthropic.claude-3-haiku-20240307-v1:0",
        "claude-3.7-sonnet:thinking",
        "claude-opus-4-20250514",
        "claude-sonnet-4",
        "anthropic/claude-4.5-sonnet",
        "anthropic/claude-sonnet-4-5-20250929",
        "openrouter/anthropic/claude-haiku-4.5",
        "us.anthropic.claude-opus-4-1-20250805-v1:0",
        "us.anthropic.claude-opus-4-6-v1:0",
        "bedrock/converse/global.anthropic.claude-sonnet-4-6-v1:0",
        "Claude-Opus-4-6[1m]",
        "databricks-claude-sonnet-4-6",
    ],
)
def test_claude_up_to_the_4_6_generation_costs_1_34(model: str) -> None:
    assert family_factor(model) == 1.34


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-7",
        "anthropic/claude-opus-4.8",
        "claude-opus-4-10",
        "claude-sonnet-5",
        "claude-opus-5-5",
        "claude-fable-5-20261001",
        "us.anthropic.claude-opus-4-7-v1:0",
    ],
)
def test_later_claude_costs_1_64(model: str) -> None:
    assert family_factor(model) == 1.64


@pytest.mark.parametrize(
    "model",
    [
        "claude",
        "claude-opus-latest",
        "claude-mythos-preview",
        "us.anthropic.claude-mythos-preview-v1:0",
        "claude-mythos-2026-03-01",
        "claude-mythos-20260301",
    ],
)
def test_claude_of_unknown_version_costs_the_careful_1_64(model: str) -> None:
    assert family_factor(model) == 1.64


@pytest.mark.parametrize("model", ["Qwen/Qwen3.6-27B", "qwen2.5-coder:7b", "dashscope/qwq-32b"])
def test_qwen_costs_1_15(model: str) -> None:
    assert family_factor(model) == 1.15


@pytest.mark.parametrize(
    "model",
    [
        "",
        "gpt-5.1-codex",
        "openai/gpt-4o-mini-2024-07-18",
        "gpt-oss-120b",
        "o3",
        "gemini-3.8-flash",
        "meta-llama/Llama-3.3-70B-Instruct",
        "mistral-large-latest",
        "deepseek/deepseek-chat",
        "my-own-model",
    ],
)
def test_every_other_model_counts_as_o200k(model: str) -> None:
    assert family_factor(model) == 1.0


@pytest.mark.skipif(QuicktokCounter.find() is None, reason="quicktok-v1 is not installed")
def test_the_qwen_factor_covers_every_recording() -> None:
    import quicktok

    qwen, o200k = quicktok.get_encoding("qwen3"), TiktokenCounter()
    for path in recordings():
        if path.name != "MANIFEST.json":  # a list of hashes, not a conversation
            text = path.read_text(encoding="utf-8", errors="replace")
            assert qwen.count(text) <= family_factor("qwen3") * o200k.count(text), path.name
