"""The limit, the windows that are known, and the error before a run that can only fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.budget import DEFAULT_WINDOW, MARGIN, check_room, limit, window_of
from redraft.errors import BudgetError

tokens = st.integers(0, 10_000_000)


def test_the_margin_is_2048_tokens() -> None:
    assert MARGIN == 2048


@pytest.mark.parametrize(
    ("budget", "window", "reserve", "expected"),
    [
        (32_000, 128_000, 16_384, 29_952),  # the budget binds
        (128_000, 128_000, 16_384, 109_568),  # the window binds, less what the answer needs
        (111_616, 128_000, 16_384, 109_568),  # both at once
        (2_048, 128_000, 0, 0),
        (128_000, 8_000, 16_384, -10_432),
    ],
)
def test_the_limit_is_the_smaller_of_budget_and_window_less_reserve_less_the_margin(
    budget: int, window: int, reserve: int, expected: int
) -> None:
    assert limit(budget, window, reserve) == expected


@given(tokens, tokens, tokens)
def test_a_prompt_at_the_limit_leaves_margin_and_answer_room(
    budget: int, window: int, reserve: int
) -> None:
    value = limit(budget, window, reserve)
    assert value + MARGIN <= budget
    assert value + MARGIN + reserve <= window


def test_another_margin_can_be_set() -> None:
    assert limit(32_000, 128_000, 0, margin=1) == 31_999


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-5-mini", 272_000),
        ("gpt-5.2", 272_000),
        ("gpt-5.4", 922_000),
        ("gpt-5.4-mini", 272_000),
        ("gpt-6-astra", 922_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-4o-2024-08-06", 128_000),
        ("gpt-oss-120b", 128_000),
        ("o3", 200_000),
        ("o4-mini", 200_000),
        ("claude-3-7-sonnet-20250219", 200_000),
        ("claude-sonnet-4-20250514", 200_000),
        ("claude-opus-4-5", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-opus-5-5", 1_000_000),
        ("gemini-2.5-pro", 1_048_576),
        ("qwen3-8b", 32_768),
        ("Qwen3-Coder-30B-A3B-Instruct", 262_144),
        ("qwen3-235b-a22b-instruct-2507", 262_144),
        ("Qwen3.6-27B", 262_144),
        ("llama3.1:8b", 128_000),
        ("Llama-3.3-70B-Instruct", 128_000),
        ("llama-3-8b-instruct", 8_192),
        ("deepseek-chat", 128_000),
        ("deepseek-v4-pro", 1_000_000),
        ("mistral-large-latest", 128_000),
        ("mistral-7b-instruct", 32_768),
    ],
)
def test_the_window_of_a_known_family_is_known(model: str, window: int) -> None:
    assert window_of(model) == window


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-5-mini",
        "azure/gpt-5-mini",
        "openrouter/openai/gpt-5-mini:free",
        "GPT-5-mini-2025-08-07",
        "ft:gpt-5-mini:acme::abc",
        "global.openai.gpt-5-mini",
        " gpt-5-mini ",
    ],
)
def test_prefixes_suffixes_and_case_do_not_matter(model: str) -> None:
    assert window_of(model) == 272_000


def test_a_bedrock_name_is_understood() -> None:
    assert window_of("us.anthropic.claude-3-7-sonnet-20250219-v1:0") == 200_000
    assert window_of("bedrock/meta.llama3-1-8b-instruct-v1:0") == 128_000


@pytest.mark.parametrize(
    "model",
    ["", "azure/my-deployment", "my-gpt-5", "gemini-3-pro-image-preview", "proto3", "gpt-3.5"],
)
def test_an_unknown_model_has_no_window(model: str) -> None:
    assert window_of(model) is None


def test_the_default_window_is_no_larger_than_that_of_any_current_general_model() -> None:
    current = ("gpt-4o", "gpt-5", "claude", "gemini-3-pro", "deepseek-chat", "mistral-large")
    assert min(window_of(model) or 0 for model in current) >= DEFAULT_WINDOW


@given(st.text())
def test_any_name_gets_an_answer(model: str) -> None:
    window = window_of(model)
    assert window is None or window > 0


def test_parts_that_just_fit_are_let_through() -> None:
    check_room(100, {"pinned": 60, "unanswered": 30, "tools": 10})
    check_room(100, {})


def test_parts_that_do_not_fit_are_named_with_their_sizes() -> None:
    with pytest.raises(BudgetError) as caught:
        check_room(29_952, {"pinned": 20_000, "unanswered": 9_000, "tools": 1_500})
    message = str(caught.value)
    assert "30,500 tokens (pinned 20,000, unanswered 9,000, tools 1,500)" in message
    assert "limit is 29,952" in message
    assert "raise `budget` by at least 548" in message


@pytest.mark.parametrize("value", [0, -1, -10_432])
def test_a_limit_without_any_room_says_which_settings_to_change(value: int) -> None:
    with pytest.raises(BudgetError, match=r"raise `budget`.*lower `output_reserve`"):
        check_room(value, {})
