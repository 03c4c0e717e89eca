"""The agent's one tool, and how its calls are read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["BASH", "LONGEST", "Command", "read_command"]

LONGEST = 600.0
"""Seconds that the model may ask for; more where the setting `command_timeout` is more."""

BASH: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command in bash and read what it prints.",
        "parameters": {
            "type": "object",
            "properties": {
                "command": {
                    "type": "string",
                    "description": "The command; several lines are fine.",
                },
                "timeout": {
                    "type": "number",
                    "description": "Seconds it may take, where the default will not do.",
                },
            },
            "required": ["command"],
        },
    },
}
"""The tool's schema, as it is sent."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run.

    Attributes:
        text: the command.
        seconds: how long it may take.
    """

    text: str
    seconds: float


def read_command(arguments: Mapping[str, Any], default: float) -> Command | str:
    """The command that a call of `bash` asks for, or what is wrong with its arguments.

    Args:
        arguments: the call's arguments, parsed.
        default: seconds for a command that names no `timeout`.

    Returns:
        the command; or a clause on what cannot be used, for the model. A `timeout` beyond the longest
        allowed is cut to that; one that is no positive number is refused, since a guess could kill
        work in progress.
    """
    text = arguments.get("command")
    if not isinstance(text, str):
        return "`command` must be text" if "command" in arguments else "`command` is missing"
    asked = _number(arguments.get("timeout"), default)
    if asked is None or not asked > 0:
        return "`timeout` must be a number of seconds above 0"
    return Command(text, min(asked, max(LONGEST, default)))


def _number(value: object, default: float) -> float | None:
    """A number, also where a model wrote it as text; None for anything else."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
