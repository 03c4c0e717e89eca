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
from redraft.dialects.capabilities import Capabilities, capabilities_of
from redraft.dialects.gemini import Gemini
from redraft.dialects.openai_chat import OpenAIChat
from redraft.dialects.openai_responses import OpenAIResponses
from redraft.dialects.rules import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    LLAMA,
    MISTRAL,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    QWEN,
    STRICT_CHAT,
    Profile,
    Violation,
    check,
    framed,
    profile_of,
    repair,
)

__all__ = [
    "ANTHROPIC",
    "BEDROCK",
    "GEMINI",
    "LLAMA",
    "MISTRAL",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "QWEN",
    "STRICT_CHAT",
    "Anthropic",
    "Call",
    "Capabilities",
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
    "capabilities_of",
    "check",
    "framed",
    "join_carriers",
    "profile_of",
    "repair",
]
