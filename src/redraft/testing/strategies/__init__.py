"""Hypothesis strategies: conversations of every wire format as agents have them, and damaged ones.

Needs `hypothesis`, which redraft itself does not (`pip install hypothesis`): import this package by its
own name, `from redraft.testing.strategies import conversations`.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401 - only to say what to install
except ImportError as error:
    raise ImportError(
        "redraft.testing.strategies needs hypothesis; `pip install hypothesis`. Servers, players and "
        "faults in redraft.testing work without it."
    ) from error

from redraft.testing.strategies.anthropic import anthropic_body, anthropic_image
from redraft.testing.strategies.damage_chat import damaged_conversations
from redraft.testing.strategies.edit_scripts import edit_scripts
from redraft.testing.strategies.gemini import gemini_body, gemini_image
from redraft.testing.strategies.plans import Exchange, Plan, Round, plans
from redraft.testing.strategies.requests import (
    broken_lists,
    conversations,
    legal_conversations,
    requests,
)
from redraft.testing.strategies.texts import arguments, bodies, images, png

__all__ = [
    "Exchange",
    "Plan",
    "Round",
    "anthropic_body",
    "anthropic_image",
    "arguments",
    "bodies",
    "broken_lists",
    "conversations",
    "damaged_conversations",
    "edit_scripts",
    "gemini_body",
    "gemini_image",
    "images",
    "legal_conversations",
    "plans",
    "png",
    "requests",
]
