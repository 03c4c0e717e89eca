"""The command line: one thin module a command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run `redraft` with the arguments of this process, and exit with its code."""
    from redraft.cli.app import app

    app(prog_name="redraft")
