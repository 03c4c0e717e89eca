"""The context file: the live context's editable region as a file that a model edits with any tool."""

from redraft.contextfile.format import (
    END,
    Parsed,
    Unreadable,
    Window,
    difference,
    parse,
    render,
    render_turn,
)
from redraft.contextfile.mirror import Edited, Mirror, Reading, Refused, Untouched

__all__ = [
    "END",
    "Edited",
    "Mirror",
    "Parsed",
    "Reading",
    "Refused",
    "Unreadable",
    "Untouched",
    "Window",
    "difference",
    "parse",
    "render",
    "render_turn",
]
