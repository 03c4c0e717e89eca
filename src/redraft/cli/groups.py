"""What the groups of commands have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from redraft.cli.exits import guarded

__all__ = ["add_guarded", "new_group"]


def new_group(**options: Any) -> typer.Typer:
    """A group that shows its help where no command is named, in plain text.

    Args:
        options: more of `typer.Typer`'s.
    """
    return typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        **options,
    )


def add_guarded(group: typer.Typer, commands: Mapping[str, Callable[..., None]]) -> None:
    """Add commands to a group by their names, each `guarded`."""
    for name, command in commands.items():
        group.command(name)(guarded(command))
