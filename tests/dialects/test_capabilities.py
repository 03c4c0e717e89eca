"""What a model does with a list: known rows, careful ones for the rest."""

from __future__ import annotations

import pytest

from redraft.dialects import Capabilities, capabilities_of
from redraft.errors import DialectError


@pytest.mark.parametrize(
    ("model", "dialect", "reasoning", "control"),
    [
        ("claude-opus-5-5", "anthropic", "bound", True),
        ("us.anthropic.claude-sonnet-5-5-20261001-v1:0", "anthropic", "bound", True),
        ("claude-opus-5", "anthropic", "free", False),
        ("claude-opus-4-5-20251101", "anthropic", "free", False),
        ("claude-opus-4-20250514", "anthropic", "free", False),
        ("gpt-6.2-sol", "openai-responses", "dropped", False),
        ("gpt-5.6-sol", "openai-responses", "free", False),
        ("gemini-2.5-flash", "gemini", "free", False),
        ("models/gemini-3.1-pro-preview", "gemini", "signed", False),
        ("Qwen/Qwen3.6-27B", "openai-chat", "free", False),
        ("google/gemini-4", "openai-chat", "signed", False),
    ],
)
def test_a_known_model_has_its_row(model: str, dialect: str, reasoning: str, control: bool) -> None:
    can = capabilities_of(model, dialect)
    assert (can.reasoning, can.binding_control) == (reasoning, control)


@pytest.mark.parametrize(
    ("dialect", "reasoning"),
    [
        ("anthropic", "bound"),
        ("openai-responses", "dropped"),
        ("gemini", "signed"),
        ("openai-chat", "free"),
        ("fenced-chat", "free"),
    ],
)
def test_an_unknown_model_is_held_for_the_careful_one(dialect: str, reasoning: str) -> None:
    for model in ("", "nobody-knows-it"):
        can = capabilities_of(model, dialect)
        assert (can.row, can.reasoning, can.binding_control) == ("", reasoning, False)


@pytest.mark.parametrize(
    ("model", "dialect", "row"),
    [
        ("claude-opus-4-9", "anthropic", "claude*"),
        ("claude-opus-5-7", "anthropic", "claude*"),
        ("gpt-6.3", "openai-responses", ""),
        ("gpt-4-32k", "openai-chat", "gpt-4"),
        ("claude-opus-51", "anthropic", "claude*"),
        ("notclaude-opus-5", "anthropic", ""),
    ],
)
def test_a_minor_version_that_no_row_names_is_another_model(
    model: str, dialect: str, row: str
) -> None:
    assert capabilities_of(model, dialect).row == row


def test_the_control_is_a_field_of_the_messages_api_alone() -> None:
    assert not capabilities_of("anthropic/claude-opus-5.5", "openai-chat").binding_control


def test_a_prefill_and_a_system_message_midway_follow_the_model() -> None:
    def can(model: str) -> Capabilities:
        return capabilities_of(model, "anthropic")

    assert (can("claude-sonnet-4-5").prefill, can("claude-sonnet-4-6").prefill) == (True, False)
    assert (can("claude-opus-4-8").system_midway, can("claude-opus-4-7").system_midway) == (
        True,
        False,
    )


def test_a_dialect_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(
        DialectError, match=r"'telegraph'; name one of anthropic, fenced-chat, gemini"
    ):
        capabilities_of("m", "telegraph")
