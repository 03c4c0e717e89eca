"""The rules on the final list: what a server refuses, how to say so, and the smallest mend.

Run on what is sent, after every path. A mend works on a copy of the list and never in place; what is
legal already comes back as the same object. It never drops a user's words, never raises a role, and
says in plain text what it put in.

To add a provider, write a `Profile` that names its rules; to add a rule, write a `Rule` with a source.
"""

from __future__ import annotations

from redraft.dialects.frames import framed
from redraft.dialects.pairs import DISTINCT_IDS, INTERRUPTED, PAIRS, UNIQUE_IDS, boundary
from redraft.dialects.profile import Profile, Rule, Violation, check, repair
from redraft.dialects.values import ARGUMENTS, NOT_EMPTY, UTF8

__all__ = [
    "INTERRUPTED",
    "OPENAI_CHAT",
    "STRICT_CHAT",
    "Profile",
    "Rule",
    "Violation",
    "boundary",
    "check",
    "framed",
    "repair",
]

OPENAI_CHAT = Profile("openai-chat", (UTF8, ARGUMENTS, NOT_EMPTY, PAIRS, DISTINCT_IDS))
"""Chat Completions as OpenAI and OpenAI-compatible servers take it."""

STRICT_CHAT = Profile("strict-chat", (*OPENAI_CHAT.rules, UNIQUE_IDS))
"""The same for servers that pass the list on to a provider where no call id may occur twice, while
the model behind them repeats ids from turn to turn."""
