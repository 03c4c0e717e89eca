"""The wire formats that a journal may hold, by name."""

from __future__ import annotations

from redraft.dialects import Dialect, OpenAIChat
from redraft.dialects.anthropic import Anthropic
from redraft.dialects.gemini import Gemini
from redraft.errors import JournalError

__all__ = ["dialect_named"]

_FORMATS: dict[str, type[OpenAIChat | Anthropic | Gemini]] = {
    kind.name: kind for kind in (OpenAIChat, Anthropic, Gemini)
}


def dialect_named(name: str | None) -> Dialect:
    """The dialect of that name, OpenAI's chat format for None; raises `JournalError`."""
    if name is None:
        return OpenAIChat()
    if name not in _FORMATS:
        raise JournalError(
            f"this run speaks {name}, which this redraft does not know by name; pass its dialect."
        )
    return _FORMATS[name]()
