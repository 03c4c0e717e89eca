"""From what stands in the context file to one revision.

The reader is tolerant and total: whatever a model, a formatter or a crashed script left in the file
has one meaning (DESIGN.md section 5). A turn is recognised by its number and by what was shown of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from redraft.context.live import Live
from redraft.context.revision import Change, Gate, Insert, Revision
from redraft.context.shown import mark, same, visible, with_old_lines
from redraft.context.turn import Draft, Origin, Turn, edited_origin
from redraft.dialects.base import Call, Part

__all__ = ["Block", "CallMark", "reconcile"]

KEPT_ARGUMENTS = "arguments that are not a JSON object were kept as they were"


@dataclass(frozen=True, slots=True)
class CallMark:
    """A `[[CTX_CALL id name]]` line and the arguments under it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of the context file.

    Attributes:
        text: the body, structure unescaped, without the blank lines at its end.
        number: the turn number in its header; None for text outside any block.
        role: the role in its header, folded to lower case; "" where none was given.
        calls: the call marks in it, in order.
        parts: the 1-based numbers of the part marks in it, in order.
    """

    text: str
    number: int | None = None
    role: str = ""
    calls: tuple[CallMark, ...] = ()
    parts: tuple[int, ...] = ()

    def shows(self, turn: Turn) -> bool:
        """Whether this is `turn` as it was shown, white space aside."""
        content = turn.content
        return (
            self.parts == tuple(part.index + 1 for part in content.parts)
            and len(self.calls) == len(content.calls)
            and all(map(_same_call, self.calls, content.calls))
            and same(self.text, visible(content.text))
        )


@dataclass(slots=True)
class _Reading:
    """Which block is which turn, and what is left over, in the file's order."""

    found: dict[int, Block] = field(default_factory=dict)
    loose: list[tuple[int, Block]] = field(default_factory=list)


def reconcile(
    live: Live, window: Sequence[Turn], blocks: Sequence[Block], *, gate: Gate = Gate.FIT
) -> Revision:
    """The revision that turns what was shown into what now stands there.

    Args:
        live: the live context that was shown.
        window: the turns whose place in the file may have changed, in order; all others still
            stand where they stood, byte for byte.
        blocks: what stands in that place now.
        gate: the rule on size that the revision will have to pass.

    Returns:
        a revision by the model; empty where nothing but white space differs.
    """
    reading = _match(window, blocks, _before(live, window))
    notes: list[str] = []
    changes = []
    for turn in window:
        block = reading.found.get(turn.number)
        if block is None:
            changes.append(Change(turn.number, turn.digest, None))
        elif not block.shows(turn):
            changes.append(Change(turn.number, turn.digest, _edited(live, turn, block, notes)))
    return Revision(
        author="model",
        source="file",
        changes=tuple(changes),
        inserts=tuple(_inserts(live, reading.loose)),
        gate=gate,
        notes=tuple(dict.fromkeys(notes)),
    )


def _before(live: Live, window: Sequence[Turn]) -> int:
    """The number of the turn in front of the window; 0 at the start of the editable region."""
    turns = live.editable()
    at = turns.index(window[0]) if window else len(turns)
    return turns[at - 1].number if at else 0


def _match(window: Sequence[Turn], blocks: Sequence[Block], before: int) -> _Reading:
    """Decide for each block: (1) a turn under its own number and role; (2) of repeats, the unchanged
    one; (3) under an unknown number, a missing turn with this very body; (4) else a note."""
    turns = {turn.number: turn for turn in window}
    taken: dict[int, int] = {}
    for at, block in enumerate(blocks):
        turn = turns.get(block.number) if block.number is not None else None
        if turn is None or block.role not in ("", turn.role):
            continue
        held = taken.get(turn.number)
        if held is None or (block.shows(turn) and not blocks[held].shows(turn)):
            taken[turn.number] = at  # (1), (2)
    claimed = {at: turns[number] for number, at in taken.items()}
    missing = [turn for turn in window if turn.number not in taken]
    for at, block in enumerate(blocks):
        if at in claimed or block.number is None or block.number in turns:
            continue
        turn = next((t for t in missing if block.role in ("", t.role) and block.shows(t)), None)
        if turn is not None:
            claimed[at] = turn  # (3)
            missing.remove(turn)
    reading = _Reading()
    anchor = before
    for at, block in enumerate(blocks):
        if at in claimed:
            anchor = claimed[at].number
            reading.found[anchor] = block
        else:
            reading.loose.append((anchor, block))  # (4)
    return reading


def _inserts(live: Live, loose: Iterable[tuple[int, Block]]) -> list[Insert]:
    """Notes; neighbours of one role become one."""
    merged: list[tuple[int, str, str]] = []
    for anchor, block in loose:
        text = _flat(block)
        role = "assistant" if block.role == "assistant" else "user"
        if not text.strip():
            continue
        if merged and merged[-1][:2] == (anchor, role):
            merged[-1] = (anchor, role, f"{merged[-1][2]}\n\n{text}")
        else:
            merged.append((anchor, role, text))
    return [
        Insert(
            anchor,
            live.draft(
                live.dialect.note("assistant" if role == "assistant" else "user", text),
                Origin.NOTE,
            ),
        )
        for anchor, role, text in merged
    ]


def _flat(block: Block) -> str:
    """A block as plain text: marks that stand for nothing here are words."""
    marks = [f"[[CTX_CALL {call.id} {call.name}]]\n{call.arguments}" for call in block.calls]
    return "\n".join([block.text, *marks] if block.text else marks)


def _edited(live: Live, turn: Turn, block: Block, notes: list[str]) -> Draft:
    calls, strangers = _calls(turn.content.calls, block.calls, notes)
    text = with_old_lines(turn.content.text, _flat(replace(block, calls=strangers)))
    parts = _parts(turn.content.parts, block.parts)
    content = live.dialect.write(turn.content, text, calls, parts)
    return live.draft(content, edited_origin(turn))


def _calls(
    calls: Sequence[Call], marks: Sequence[CallMark], notes: list[str]
) -> tuple[list[Call], tuple[CallMark, ...]]:
    """The calls that still stand, in wire order, and the marks that are no call of this turn."""
    left = list(calls)
    kept: list[Call] = []
    strangers: list[CallMark] = []
    for item in marks:
        call = next((call for call in left if mark(call.id) == item.id), None)
        if call is None:
            strangers.append(item)
            continue
        left.remove(call)
        kept.append(_call(call, item, notes))
    return sorted(kept, key=lambda call: call.index), tuple(strangers)


def _call(call: Call, item: CallMark, notes: list[str]) -> Call:
    if _same_call(item, call):
        return call
    if _is_object(item.arguments) or not _is_object(call.arguments):
        return replace(call, arguments=item.arguments)
    notes.append(KEPT_ARGUMENTS)
    return call


def _same_call(item: CallMark, call: Call) -> bool:
    return item.id == mark(call.id) and same(item.arguments, visible(call.arguments))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _parts(parts: Sequence[Part], marks: Sequence[int]) -> list[Part]:
    standing = set(marks)
    return [part for part in parts if part.index + 1 in standing]
