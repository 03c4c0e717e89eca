"""Tools that a model edits its context with, as intents: arguments in, a revision out. Pure."""

from redraft.tools.edit_context import EDIT_CONTEXT, Outline, intend

__all__ = ["EDIT_CONTEXT", "Outline", "intend"]
