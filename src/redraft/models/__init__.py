"""Clients for models, and the reading of what servers answer when something is wrong."""

from __future__ import annotations

from redraft.models.base import Model
from redraft.models.openai_client import OpenAIModel
from redraft.models.overflow import overflow_of

__all__ = ["Model", "OpenAIModel", "overflow_of"]
