"""`edit_context`: find and replace by turn and anchor, for agents without a shell.

The arguments become one revision through the same door as the context file. Nothing is applied
here; wrong arguments come back as a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.context import Change, Draft, Gate, Insert, Live, Origin, Revision, Turn
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
"""The tool's schema, in the form of Chat Completions."""

_FIRST_WORDS = 60


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
    edits = arguments.get("edits")
    if not edits:
        return Outline(_outline(live))
    if not isinstance(edits, Sequence) or isinstance(edits, str):
        return Outline("`edits` must be a list of {turn, text} objects.", failed=True)
    try:
        drafts = _Drafts(live)
        for edit in edits:
            drafts.add(edit)
    except _BadEdit as error:
        return Outline(f"Nothing was changed: {error}", failed=True)
    return Revision("model", "edit_context", drafts.changes(), tuple(drafts.inserts), gate)


class _Drafts:
    """The edits of one call, gathered turn by turn."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.turns = {turn.number: turn for turn in live.editable()}
        self.texts: dict[int, str | None] = {}
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
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.turns:
            known = list(self.turns)
            span = f"{known[0]} to {known[-1]}" if known else "none yet"
            raise _BadEdit(f"turn {number!r} cannot be edited; editable turns: {span}.")
        return self.turns[number]

    def _claim(self, turn: Turn, text: str | None) -> None:
        if turn.number in self.texts:
            raise _BadEdit(f"turn {turn.number} is edited twice; make it one edit.")
        self.texts[turn.number] = text

    def _replace(self, turn: Turn, find: str, text: str) -> None:
        old = self.texts.get(turn.number, turn.content.text)
        count = old.count(find) if old is not None else 0
        if old is None or count != 1:
            raise _BadEdit(
                f"`find` stands {count} times in turn {turn.number}; quote a piece that stands "
                "there exactly once."
            )
        self.texts[turn.number] = old.replace(find, text)

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
        """One change a turn."""
        return tuple(
            Change(number, self.turns[number].digest, self._draft(self.turns[number], text))
            for number, text in self.texts.items()
        )

    def _draft(self, turn: Turn, text: str | None) -> Draft | None:
        if text is None:
            return None
        content = turn.content
        written = self.live.dialect.write(content, text, content.calls, content.parts)
        return self.live.draft(written, edited_origin(turn))


def _outline(live: Live) -> str:
    rows = []
    for turn in live.editable():
        words = " ".join(turn.content.text.split())[:_FIRST_WORDS]
        calls = "".join(f" [calls {call.name}]" for call in turn.content.calls)
        rows.append(f"turn {turn.number} {turn.role} {turn.tokens} tokens{calls}: {words}")
    return "\n".join(rows) or "There is nothing to edit yet."
