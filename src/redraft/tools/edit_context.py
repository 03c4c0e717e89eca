"""`edit_context`: find and replace by turn and anchor, for agents without a shell.

The arguments become one revision through the same door as the context file. Nothing is applied
here; wrong arguments come back as a sentence that says what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.context import Change, Draft, Gate, Insert, Live, Origin, Revision, Turn, mark, visible
from redraft.context.turn import edited_origin

__all__ = ["EDIT_CONTEXT", "Outline", "intend"]

EDIT_CONTEXT: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "edit_context",
        "description": (
            "Rewrite your own context. Without edits: list its turns with numbers and sizes. With "
            "edits: all of them are applied at once, or none. Batch them; whatever follows the "
            "first changed turn is read again. System prompt, task, unanswered user turns and the "
            "round in progress cannot be changed."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "edits": {
                    "type": "array",
                    "description": "The changes, in any order.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "turn": {
                                "type": "integer",
                                "description": "The turn to change, or the first of several.",
                            },
                            "through": {
                                "type": "integer",
                                "description": "The last turn, to replace turn..through by one note.",
                            },
                            "find": {
                                "type": "string",
                                "description": (
                                    "A piece of the turn's text that stands there exactly once; "
                                    "only it is replaced. Leave out to replace the whole text."
                                ),
                            },
                            "text": {
                                "type": "string",
                                "description": "What stands there instead; empty to remove.",
                            },
                        },
                        "required": ["turn", "text"],
                        "additionalProperties": False,
                    },
                }
            },
            "additionalProperties": False,
        },
    },
}
"""The tool's schema, in the form of Chat Completions; `redraft.tools.declared` gives the others."""

_FIRST_WORDS = 60
_MOST_SPANS = 12
_ENDING = re.compile("(?:\r\n|\n|\r)")


@dataclass(frozen=True, slots=True)
class Outline:
    """An answer in text: a list of the turns, or what is wrong with the arguments.

    Attributes:
        text: what to show the model.
        failed: whether the arguments were wrong.
    """

    text: str
    failed: bool = False


class _BadEdit(Exception):
    """Says what is wrong with one edit."""


def intend(live: Live, arguments: Mapping[str, Any], gate: Gate = Gate.FIT) -> Revision | Outline:
    """Turn the tool's arguments into a revision.

    Args:
        live: the live context that the model sees.
        arguments: the call's arguments, parsed.
        gate: the rule on size that the revision will have to pass.

    Returns:
        the revision, or text for the model where nothing was to be edited or an edit is wrong.
    """
    strangers = sorted(set(arguments) - {"edits"})
    if strangers:
        named = ", ".join(f"`{name}`" for name in strangers)
        return Outline(
            f"Nothing was changed: there is no argument {named}; put each edit into the list `edits`.",
            failed=True,
        )
    edits = _listed(arguments.get("edits"))
    if edits is None:
        return Outline("`edits` must be a list of {turn, text} objects.", failed=True)
    if not edits:
        return Outline(_outline(live))
    try:
        drafts = _Drafts(live)
        for edit in edits:
            drafts.add(edit)
    except _BadEdit as error:
        return Outline(f"Nothing was changed: {error}", failed=True)
    return Revision("model", "edit_context", drafts.changes(), tuple(drafts.inserts), gate)


def _listed(edits: object) -> list[object] | None:
    """The edits; models write a list as text now and then."""
    if isinstance(edits, str):
        try:
            edits = json.loads(edits or "[]")
        except (ValueError, RecursionError):
            return None
    if edits is None:
        return []
    return list(edits) if isinstance(edits, (list, tuple)) else None


class _Drafts:
    """The edits of one call, gathered turn by turn."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.turns = {turn.number: turn for turn in live.editable()}
        self.texts: dict[int, str | None] = {}
        self.whole: set[int] = set()
        self.inserts: list[Insert] = []

    def add(self, edit: object) -> None:
        """Take in one edit; raises `_BadEdit`."""
        if not isinstance(edit, Mapping):
            raise _BadEdit("each edit must be an object with `turn` and `text`.")
        turn, text, find = self._turn(edit.get("turn")), edit.get("text"), edit.get("find")
        if not isinstance(text, str):
            raise _BadEdit(
                f"the edit of turn {turn.number} has no `text`; use an empty one to remove."
            )
        if edit.get("through") is not None:
            self._range(turn, self._turn(edit["through"]), text)
        elif find is None or find == "":
            self._claim(turn, text or None)
        else:
            self._replace(turn, str(find), text)

    def _turn(self, number: object) -> Turn:
        turn = self.turns.get(_whole(number))
        if turn is None:
            known = _spans(list(self.turns)) or "none yet"
            raise _BadEdit(f"turn {number!r} cannot be edited; editable turns: {known}.")
        return turn

    def _claim(self, turn: Turn, text: str | None) -> None:
        if turn.number in self.texts:
            raise _BadEdit(f"turn {turn.number} is edited twice; make it one edit.")
        self.texts[turn.number] = text
        self.whole.add(turn.number)

    def _replace(self, turn: Turn, find: str, text: str) -> None:
        if turn.number in self.whole:
            raise _BadEdit(f"turn {turn.number} is edited twice; make it one edit.")
        old = self.texts.get(turn.number) or turn.content.text
        spots = _spots(old, find)
        if len(spots) != 1:
            often = "more than once" if spots else "nowhere"
            raise _BadEdit(
                f"`find` stands {often} in turn {turn.number}; quote a piece that stands there "
                "exactly once."
            )
        start, end = spots[0]
        self.texts[turn.number] = old[:start] + text + old[end:]

    def _range(self, first: Turn, last: Turn, text: str) -> None:
        turns = list(self.turns.values())
        start, end = turns.index(first), turns.index(last)
        if end < start:
            raise _BadEdit(f"turn {last.number} stands before turn {first.number}; swap them.")
        for turn in turns[start : end + 1]:
            self._claim(turn, None)
        if text:
            note = self.live.dialect.note("assistant", text)
            after = turns[start - 1].number if start else 0
            self.inserts.append(Insert(after, self.live.draft(note, Origin.NOTE)))

    def changes(self) -> tuple[Change, ...]:
        """One change a turn; none where the words stay the same."""
        edited = ((self.turns[number], text) for number, text in self.texts.items())
        return tuple(
            Change(turn.number, turn.digest, self._draft(turn, text))
            for turn, text in edited
            if text != turn.content.text
        )

    def _draft(self, turn: Turn, text: str | None) -> Draft | None:
        if text is None:
            return None
        content = turn.content
        written = self.live.dialect.write(content, text, content.calls, content.parts)
        return self.live.draft(written, edited_origin(turn))


def _whole(number: object) -> int:
    """A turn's number, as a number or as text; 0, which no turn has, for anything else."""
    if isinstance(number, str) and len(number) < 20 and number.strip().isdecimal():
        return int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) else 0


def _spots(text: str, find: str) -> list[tuple[int, int]]:
    """The first two places where `find` stands, whatever the ends of its lines.

    A model sees U+FFFD where the text holds a lone surrogate: one character for one.
    """
    lines = (re.escape(line) for line in _ENDING.split(find))
    pattern = re.compile(_ENDING.pattern.join(lines))
    shown = visible(text)
    spots: list[tuple[int, int]] = []
    found = pattern.search(shown)
    while found and len(spots) < 2:
        spots.append(found.span())
        found = pattern.search(shown, found.start() + 1)
    return spots


def _outline(live: Live) -> str:
    rows = []
    kept = live.protected()
    for turn in live.editable():
        words = visible(" ".join(turn.content.text.split())[:_FIRST_WORDS])
        calls = "".join(f" [calls {mark(call.name)}]" for call in turn.content.calls)
        fixed = " [kept as it is]" if turn.number in kept else ""
        rows.append(f"turn {turn.number} {turn.role} {turn.tokens} tokens{calls}{fixed}: {words}")
    return "\n".join(rows) or "There is nothing to edit yet."


def _spans(numbers: Sequence[int]) -> str:
    """Numbers in their order, runs in short: `8, 5-7`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans]
    return ", ".join(shown if len(shown) <= _MOST_SPANS else [*shown[:_MOST_SPANS], "..."])
