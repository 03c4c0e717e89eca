"""What the property tests over all wire formats share."""

from __future__ import annotations

import json
from typing import Any

from redraft.context import Live
from redraft.dialects import (
    Anthropic,
    Dialect,
    Gemini,
    OpenAIChat,
    OpenAIResponses,
    Profile,
    profile_of,
)
from redraft.tokens import Meter

Json = dict[str, Any]

DIALECTS = ("anthropic", "gemini", "openai-chat", "openai-responses")
MODELS = {
    "anthropic": "claude-fable-5-1",
    "gemini": "gemini-3-pro",
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
}
_MAKERS = {
    "anthropic": Anthropic,
    "gemini": Gemini,
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
}


class Letters:
    """A counter that is fast and never wrong: one token a character."""

    def count(self, text: str) -> int:
        return len(text)


def dialect_of(name: str) -> Dialect:
    return _MAKERS[name]()


def profile(name: str) -> Profile:
    return profile_of(dialect_of(name), MODELS[name])


def list_of(name: str, body: Json) -> list[Any]:
    messages: list[Any] = body[dialect_of(name).turns_field]
    return messages


def live_of(name: str, body: Json, **options: Any) -> Live:
    dialect = dialect_of(name)
    frame, contents = dialect.split(body)
    return Live.start(dialect, Meter(Letters()), frame, contents, **options)


def wire(value: object) -> str:
    return json.dumps(value)
