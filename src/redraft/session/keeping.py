"""What a session leaves in a memory, and under which name: its state after each rotation, so that another
session can go on from what this one knew.

Structured, in the layers of `seeds/003_*`: goals, facts, pending actions, constraints. Whole texts of the
context as it stands, no summary of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from redraft.context import Live, unanswered
from redraft.policies import Item, Preservation, Rotation
from redraft.store import Journal, SQLiteJournal

__all__ = ["session_name", "state_of"]

_LONGEST = 4_000
"""Characters of one turn that a state holds; the journal has the rest."""

_PENDING = ("approval", "call")


def session_name(journal: Journal, tag: str) -> str:
    """What a memory calls a session: its run's name, where it has one.

    Args:
        journal: the session's journal.
        tag: the session's tag.
    """
    return journal.directory.name if isinstance(journal, SQLiteJournal) else tag


def state_of(live: Live, rotation: Rotation, report: Preservation) -> dict[str, Any]:
    """The state of a session after a rotation, as plain JSON values.

    Args:
        live: the context after it.
        rotation: what was done.
        report: all that had to survive it.

    Returns:
        `goals` (the task, and what the user asked since), `facts` (exact values), `pending` (approvals and
        calls that wait), `constraints` (turns that state one), `missing` (what did not survive, by kind),
        and `rotation`.
    """
    texts = {turn.number: turn.content.text[:_LONGEST] for turn in live.turns}
    task = [turn.number for turn in live.turns[: live.head] if turn.role == "user"][-1:]
    waiting = unanswered(live.turns, live.answered)
    asked = [turn.number for turn in live.turns if turn.number in waiting]
    return {
        "goals": [texts[number] for number in dict.fromkeys([*task, *asked]) if texts[number]],
        "facts": _values(report.found, "identifier"),
        "pending": [item.shown or item.value for item in report.found if item.kind in _PENDING],
        "constraints": [
            texts[item.number]
            for item in report.found
            if item.kind == "constraint" and texts.get(item.number)
        ],
        "missing": [
            {"kind": item.kind, "what": item.shown or item.value} for item in report.missing
        ],
        "rotation": rotation.as_dict(),
    }


def _values(items: Iterable[Item], kind: str) -> list[str]:
    return list(dict.fromkeys(item.value for item in items if item.kind == kind))
