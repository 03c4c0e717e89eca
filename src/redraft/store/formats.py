"""The wire formats that a journal may hold, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redraft.dialects import Anthropic, Dialect, Gemini, OpenAIChat, OpenAIResponses
from redraft.dialects.fenced import Fenced
from redraft.errors import JournalError

__all__ = ["dialect_named"]

_KINDS: tuple[Callable[[], Dialect], ...] = (
    *(Anthropic, Fenced, Gemini, OpenAIChat, OpenAIResponses),
)
_FORMATS: Mapping[str, Callable[[], Dialect]] = {kind().name: kind for kind in _KINDS}


def dialect_named(name: str | None) -> Dialect:
    """The dialect of that name, OpenAI's chat format for None; raises `JournalError`."""
    if name is None:
        return OpenAIChat()
    if name not in _FORMATS:
        raise JournalError(
            f"this run speaks {name}, which this redraft does not know by name; pass its dialect."
        )
    return _FORMATS[name]()
