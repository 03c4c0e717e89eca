"""Commands that a person wants to be asked about: at once on a terminal, else later."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from redraft.cli.texts import shown
from redraft.errors import SettingsError
from redraft.session import Approval, Approver, Pending, Rejection, Session, ToolCall

__all__ = ["approver_for", "ask_person", "command_of", "decide_now", "pattern_of"]

_LATER = Approval()


def pattern_of(text: str) -> re.Pattern[str]:
    """The expression that tells which commands to ask about.

    Raises:
        SettingsError: it is no regular expression.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise SettingsError(
            f"--ask {text!r} is no regular expression: {error}; `|` parts alternatives, and signs such as "
            "( and [ need a backslash."
        ) from error


def approver_for(
    pattern: re.Pattern[str], person: Callable[[ToolCall], Approval | Rejection | None] | None
) -> Approver:
    """Lets a call wait whose command the pattern is found in.

    Args:
        pattern: what to look for in commands.
        person: asks at once; None where nobody can be asked.
    """

    def approver(call: ToolCall) -> Approval | Rejection | None:
        command = call.arguments.get("command")
        if not (isinstance(command, str) and pattern.search(command)):
            return None
        return _LATER if person is None else person(call)

    return approver


def ask_person(console: Console, call: ToolCall) -> Approval | Rejection | None:
    """Show a call on the terminal and ask. No answer at all means later.

    Args:
        console: standard error.
        call: what the model wants to run.
    """
    console.print(Text("The model wants to run:", "yellow"))
    console.print(Text(_indented(command_of(call))), soft_wrap=True)
    try:
        console.print(Text("Run it? [y]es, [n]o, or [l]ater: ", "yellow"), end="")
        said = sys.stdin.readline().strip().lower()
        if said in ("y", "yes"):
            return None
        if said in ("n", "no"):
            console.print(Text("Why not? (for the model; may be empty): ", "yellow"), end="")
            return Rejection(sys.stdin.readline().strip())
    except OSError:
        pass
    return _LATER


def decide_now(session: Session, console: Console) -> None:
    """Ask about every call of a session that still waits for a decision."""
    for waiting in session.pending:
        if waiting.granted:
            continue
        match ask_person(console, waiting.call):
            case None:
                session.approve(waiting.id)
            case Rejection(why=why):
                session.reject(waiting.id, why)
            case _:
                pass


def command_of(call: ToolCall | Pending) -> str:
    """A call in full, as a person must see it before they decide: no sign is hidden."""
    if isinstance(call, Pending):
        call = call.call
    command = call.arguments.get("command")
    if call.name == "bash" and isinstance(command, str):
        return shown(command)
    return shown(f"{call.name} {dict(call.arguments)}")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
