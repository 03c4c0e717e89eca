"""Wire formats: how a provider's request splits into turns and joins again, byte-identical."""

from redraft.dialects.anthropic import Anthropic
from redraft.dialects.base import (
    Call,
    Content,
    Dialect,
    Frame,
    Native,
    Part,
    Reply,
    Role,
    Usage,
    join_carriers,
)
from redraft.dialects.gemini import Gemini
from redraft.dialects.openai_chat import OpenAIChat
from redraft.dialects.openai_responses import OpenAIResponses
from redraft.dialects.rules import (
    OPENAI_CHAT,
    STRICT_CHAT,
    Profile,
    Violation,
    check,
    framed,
    repair,
)

__all__ = [
    "OPENAI_CHAT",
    "STRICT_CHAT",
    "Anthropic",
    "Call",
    "Content",
    "Dialect",
    "Frame",
    "Gemini",
    "Native",
    "OpenAIChat",
    "OpenAIResponses",
    "Part",
    "Profile",
    "Reply",
    "Role",
    "Usage",
    "Violation",
    "check",
    "framed",
    "join_carriers",
    "repair",
]
