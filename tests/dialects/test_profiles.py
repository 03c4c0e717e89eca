"""Which profile a request gets, and that what providers took checks clean under it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import shared
from redraft.dialects import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    LLAMA,
    MISTRAL,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    QWEN,
    STRICT_CHAT,
    Anthropic,
    Dialect,
    Frame,
    Gemini,
    OpenAIChat,
    OpenAIResponses,
    Profile,
    check,
    profile_of,
    repair,
)
from redraft.dialects.fenced import Fenced
from redraft.dialects.rules import FENCED_CHAT, GPT_CHAT, PROFILES
from redraft.replay.loaders import exchanges
from redraft.replay.source import Source

CHAT, RESPONSES, CLAUDE, GOOGLE = OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini()
DIALECTS: dict[str, Dialect] = {"anthropic": CLAUDE, "chat": CHAT, "responses": RESPONSES}


@pytest.mark.parametrize(
    ("dialect", "model", "profile"),
    [
        (CHAT, "", OPENAI_CHAT),
        (CHAT, "deepseek-v4", OPENAI_CHAT),
        (CHAT, "gpt-5.1", GPT_CHAT),
        (CHAT, "openai/gpt-oss-120b", OPENAI_CHAT),
        (CHAT, "anthropic/claude-sonnet-4.5", STRICT_CHAT),
        *((CHAT, m, MISTRAL) for m in ("mistral-large-latest", "devstral-2", "Mixtral-8x7B")),
        (CHAT, "magistral-small", MISTRAL),
        (CHAT, "Qwen/Qwen3.6-27B", QWEN),
        *((CHAT, m, LLAMA) for m in ("meta-llama/Llama-3.1-8B-Instruct", "llama3.2")),
        (RESPONSES, "gpt-6.2-sol", OPENAI_RESPONSES),
        (CLAUDE, "", ANTHROPIC),
        (CLAUDE, "eu.anthropic.claude-opus-4-6-v1", BEDROCK),
        (GOOGLE, "", GEMINI),
    ],
)
def test_a_format_and_a_models_name_give_a_profile(
    dialect: Dialect, model: str, profile: Profile
) -> None:
    assert profile_of(dialect, model) == profile


@pytest.mark.parametrize(
    ("model", "profile"), [("", FENCED_CHAT), ("mistral-large", MISTRAL), ("qwen3", QWEN)]
)
def test_where_calls_are_text_the_list_keeps_the_rules_of_chat_under_its_own_name(
    model: str, profile: Profile
) -> None:
    found = profile_of(Fenced(), model)
    assert (found.name, found.rules) == (profile.name, profile.rules)
    assert found.dialect == Fenced().name
    assert FENCED_CHAT.rules == OPENAI_CHAT.rules


def names(profile: Profile) -> set[str]:
    return {rule.name for rule in profile.rules}


def test_a_model_that_takes_more_has_fewer_rules() -> None:
    assert "user-last" in names(profile_of(CLAUDE, "claude-opus-4-6"))
    assert "user-last" not in names(profile_of(CLAUDE, "claude-sonnet-4-5"))
    assert "signatures" in names(profile_of(GOOGLE, "gemini-3.1-pro"))
    assert "signatures" not in names(profile_of(GOOGLE, "gemini-2.5-pro"))


def test_the_marks_beside_the_messages_count() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    frame = Frame({"tools": [{"name": "a", **mark}], "system": [{"text": "x", **mark}], **mark})
    blocks = [{"type": "text", "text": str(at), **mark} for at in range(3)]
    messages = [{"role": "user", "content": blocks}]
    assert check(messages, profile_of(CLAUDE)) == []
    (done,) = repair(messages, profile_of(CLAUDE, frame=frame))
    assert [at for at, block in enumerate(done["content"]) if "cache_control" in block] == [2]


def test_outputs_may_answer_calls_that_the_server_keeps() -> None:
    items: list[Any] = [
        {"type": "function_call_output", "call_id": "on_server", "output": "out"},
        {"role": "user", "content": "and?"},
    ]
    frame = Frame({"previous_response_id": "resp_1"})
    assert [v.rule for v in check(items, profile_of(RESPONSES))] == ["outputs"]
    assert check(items, profile_of(RESPONSES, frame=frame)) == []
    later = [*items, {"role": "assistant", "content": "x"}, items[0]]
    assert [v.at for v in check(later, profile_of(RESPONSES, frame=frame))] == [3]


def test_every_rule_has_a_source_and_no_profile_has_a_rule_twice() -> None:
    for profile in PROFILES:
        assert all(len(rule.source) > 20 for rule in profile.rules)
        assert len(names(profile)) == len(profile.rules)


# -- what providers took ---------------------------------------------------------------------------

CASSETTES = Path(shared.SHARED) / "data" / "trajectories" / "http"


def recorded() -> list[Any]:
    found = sorted(CASSETTES.glob("*.yaml")) if CASSETTES.is_dir() else []
    return found or [None]


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem[-40:] if path else "none")
def test_a_recorded_request_is_legal_as_it_is(path: Path | None) -> None:
    if path is None:
        pytest.skip(f"no recordings in {CASSETTES}; set REDRAFTSHARED to the directory with them")
    pytest.importorskip("yaml")
    checked = 0
    for exchange in exchanges(Source.read(path)):
        if not exchange.api or exchange.status != 200:
            continue
        dialect, body = DIALECTS[exchange.api], exchange.request
        in_url = re.search(r"/model/([^/]+)/", exchange.url)
        frame, contents = dialect.split(body)
        messages = dialect.join(frame, contents)[dialect.turns_field]
        if isinstance(messages, str):
            continue
        profile = profile_of(dialect, body.get("model") or (in_url[1] if in_url else ""), frame)
        assert check(messages, profile) == []
        assert repair(messages, profile) is messages
        checked += 1
    assert checked
