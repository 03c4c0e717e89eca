"""What must survive a change of the context, listed before it and looked for after it.

Turns that are held must stand as they stood. Exact values (addresses, identifiers, paths, digests) must
stand word for word, and a summary may hold no figure that its originals do not have: one changed digit
fails. Keywords alone prove nothing: a summary can name every topic and still lose the facts (DESIGN.md
section 9).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redraft.context import Live, Origin, Turn, group_at, unanswered
from redraft.dialects.preserve import pending_approvals

__all__ = [
    "MOST_VALUES",
    "Item",
    "Kind",
    "Preservation",
    "audit",
    "critical",
    "exact_values",
    "invented",
    "preserved",
    "said_by",
    "states_constraint",
]

Kind = Literal["constraint", "task", "request", "pin", "approval", "call", "identifier"]

MOST_VALUES = 40
"""Exact values that one summary must carry, the newest; older ones are in the journal."""

_LONGEST_VALUE = 300
_SHOWN = 80

_VALUE = re.compile(
    r"\b(?:https?|ftp|file)://[^\s<>\"'`\])}]+[^\s<>\"'`\])}.,;:!?]"  # an address
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+\.[\w.-]*\w\b"  # a mailbox
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"  # a UUID
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"  # a commit, a digest
    r"|\b[A-Z][A-Z0-9]{1,9}-\d{1,9}\b"  # a ticket
    r"|(?<![\w/.:])/(?:[\w.+-]+/)+[\w.+-]*\w"  # a path from the root
    r"|\b\d{5,}\b"  # a number that nobody remembers
)
_FIGURE = re.compile(r"(?<!\w)[^\W\d]*\d\w*(?:[.,:/-][^\W\d]*\d\w*)*")
_LISTED = re.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
_SEPARATOR = re.compile(r"[.,:/-]")
_CONSTRAINT = re.compile(
    r"\b(?:must|mustn['\u2019]t|never|always|do not|don['\u2019]?t|cannot|may not|shall not|should not"
    r"|shouldn['\u2019]t|not allowed|forbidden|prohibited|under no circumstances|in no case|make sure"
    r"|ensure|from now on|no more than|at most|at least|constraints?|requirements?)\b",
    re.IGNORECASE,
)
_CONSTRAINT_IF_SHORT = re.compile(
    r"\b(?:only|nothing but|avoid|without|prefer|stick to|exactly|instead of|leave \w+(?: \w+)? alone)\b",
    re.IGNORECASE,
)
_SHORT = 400
"""Characters up to which such a word is a person's who lays something down; a long text, which may be
pasted, has them anyway."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that must survive.

    Attributes:
        kind: what it is.
        value: the exact value, the approval's or call's id, or the digest of a turn.
        number: the turn that holds it.
        shown: a few words for a person; never used to compare.
    """

    kind: Kind
    value: str
    number: int = 0
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Preservation:
    """The preservation report.

    Attributes:
        found, missing: the items that survived, and those that did not.
        invented: figures and values of the summary that no original has.
        beyond: exact values over `MOST_VALUES`, older ones, that were not asked for.
    """

    found: tuple[Item, ...] = ()
    missing: tuple[Item, ...] = ()
    invented: tuple[str, ...] = ()
    beyond: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything survived and nothing was made up."""
        return not self.missing and not self.invented

    @property
    def recall(self) -> float:
        """The share of the items that survived; 1 where there was none."""
        total = len(self.found) + len(self.missing)
        return len(self.found) / total if total else 1.0

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "ok": self.ok,
            "recall": round(self.recall, 4),
            "found": [_row(item) for item in self.found],
            "missing": [_row(item) for item in self.missing],
            "invented": list(self.invented),
            "beyond": self.beyond,
        }


def exact_values(text: str) -> tuple[str, ...]:
    """Values of a text that nobody can guess again, each once, in order of their first place."""
    found = (match.group() for match in _VALUE.finditer(text))
    return tuple(dict.fromkeys(value for value in found if len(value) <= _LONGEST_VALUE))


def audit(originals: Sequence[str], summary: str, settled: Collection[str] = ()) -> Preservation:
    """Hold a summary against what it replaces.

    Args:
        originals: the texts, oldest first.
        summary: what is to stand in their place, with all that is carried forward.
        settled: ids of approvals that were decided meanwhile.

    Returns:
        the report: approvals that wait and the newest exact values must stand in it word for word, and
        each of its own values and figures must stand in an original.
    """
    values, beyond = _newest_values(originals)
    waiting = {one.id for text in originals for one in pending_approvals(text, settled)}
    items = [Item("approval", name) for name in sorted(waiting)]
    items += [Item("identifier", value) for value in values]
    still = {one.id for one in pending_approvals(summary)}
    found = [
        one
        for one in items
        if (one.value in still if one.kind == "approval" else _stands(one, summary))
    ]
    kept = set(found)
    missing = tuple(one for one in items if one not in kept)
    return Preservation(tuple(found), missing, invented(originals, summary), beyond)


def invented(originals: Sequence[str], summary: str) -> tuple[str, ...]:
    """Values and figures of a summary that stand nowhere in the originals.

    Args:
        originals: the texts.
        summary: what is to stand in their place.
    """
    whole = "\n".join(originals)
    known = set(_figures(whole))
    known |= {piece for figure in known for piece in _SEPARATOR.split(figure)}
    wrong = [one for one in _figures(_LISTED.sub("", summary)) if one not in known]
    values = (value for value in exact_values(summary) if value not in whole)
    return tuple(dict.fromkeys((*values, *wrong)))


def states_constraint(turn: Turn) -> bool:
    """Whether a turn is the user's own words and lays something down for all that follows."""
    if turn.role != "user" or turn.origin is not Origin.ORIGINAL:
        return False
    text = turn.content.text
    short = len(text) <= _SHORT and _CONSTRAINT_IF_SHORT.search(text)
    return bool(short) or _CONSTRAINT.search(text) is not None


def critical(live: Live, leaving: Collection[int] = ()) -> tuple[Item, ...]:
    """Everything of a context that a change must not lose.

    Args:
        live: the context before the change.
        leaving: numbers of the turns that are to go; their exact values are listed.
    """
    items: list[Item] = []
    asked = unanswered(live.turns, live.answered)
    for at, turn in enumerate(live.turns):
        kind = _held_as(live, at, asked)
        if kind is not None:
            items.append(Item(kind, turn.digest, turn.number, _short(turn.content.text)))
        items += [
            Item("approval", one.id, turn.number, one.asked)
            for one in pending_approvals(turn.content.text, live.settled)
        ]
    items += _waiting_calls(live)
    gone = [said_by(turn) for turn in live.turns if turn.number in leaving]
    return (*items, *(Item("identifier", value) for value in _newest_values(gone)[0]))


def preserved(items: Iterable[Item], after: Live) -> Preservation:
    """Look for each item in a context.

    Args:
        items: what `critical` listed before the change.
        after: the context after it.
    """
    digests = {turn.number: turn.digest for turn in after.turns}
    text = "\n".join(said_by(turn) for turn in after.turns)
    waiting = {one.id for turn in after.turns for one in pending_approvals(turn.content.text)}
    calls = {call.id for turn in after.turns for call in turn.content.calls}
    found: list[Item] = []
    missing: list[Item] = []
    for item in items:
        if item.kind == "identifier":
            stays = _stands(item, text)
        elif item.kind in ("approval", "call"):
            stays = item.value in (waiting if item.kind == "approval" else calls)
        else:
            stays = digests.get(item.number) == item.value
        (found if stays else missing).append(item)
    return Preservation(tuple(found), tuple(missing))


def said_by(turn: Turn) -> str:
    """A turn's words and what its calls asked for."""
    calls = (f"[called {call.name}: {call.arguments}]" for call in turn.content.calls)
    return "\n".join((turn.content.text, *calls))


def _held_as(live: Live, at: int, asked: Collection[int]) -> Kind | None:
    turn = live.turns[at]
    if turn.role == "system" or (at >= live.head and states_constraint(turn)):
        return "constraint"
    if at < live.head:
        return "task"
    if turn.number in asked:
        return "request"
    return "pin" if turn.number in live.pins else None


def _waiting_calls(live: Live) -> list[Item]:
    if live.open_at >= len(live.turns):
        return []
    group = group_at(live.turns, live.open_at)
    calls = group.head.content.calls
    return [Item("call", calls[at].id, group.head.number) for at in group.open_calls]


def _newest_values(texts: Sequence[str]) -> tuple[list[str], int]:
    """The newest values, in order, and how many older ones there are."""
    newest: dict[str, None] = {}
    for text in reversed(texts):
        newest.update(dict.fromkeys(reversed(exact_values(text))))
    kept = list(newest)[:MOST_VALUES]
    return kept[::-1], len(newest) - len(kept)


def _stands(item: Item, text: str) -> bool:
    """Whether a value stands in a text as a whole, not as a piece of a longer one."""
    value = item.value
    if not value or value not in text:
        return False
    whole = rf"(?<!\w)(?<!\w[./-]){re.escape(value)}(?!\w|[./-]\w)"
    return re.search(whole, text) is not None


def _figures(text: str) -> Iterable[str]:
    return (match.group() for match in _FIGURE.finditer(text))


def _short(text: str) -> str:
    words = " ".join(text[: _SHOWN * 2].split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"


def _row(item: Item) -> dict[str, Any]:
    # The digest of a turn tells a reader nothing.
    value = item.shown if item.kind in ("constraint", "task", "request", "pin") else item.value
    return {"kind": item.kind, "turn": item.number, "value": value}
