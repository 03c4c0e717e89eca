"""From what stands in the context file to one revision.

The reader is tolerant and total: whatever a model, a formatter or a crashed script left in the file
has one meaning (DESIGN.md section 5). A turn is recognised by its number and by what was shown of it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from redraft.context.live import Live
from redraft.context.revision import Change, Gate, Insert, Revision
from redraft.context.shown import canonical, mark, same, visible, with_old_lines
from redraft.context.turn import Draft, Origin, Turn, edited_origin
from redraft.dialects.arguments import is_json_object
from redraft.dialects.base import Call, Part

__all__ = ["Block", "CallMark", "reconcile"]

KEPT_ARGUMENTS = "arguments that are not a JSON object were kept as they were"

_Key = tuple[object, ...]


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

    @property
    def key(self) -> _Key:
        """Equal to `_turn_key` of a turn exactly where this block shows it."""
        calls = tuple((call.id, canonical(call.arguments)) for call in self.calls)
        return (self.parts, calls, canonical(self.text))


def _turn_key(turn: Turn) -> _Key:
    content = turn.content
    calls = tuple((mark(call.id), canonical(visible(call.arguments))) for call in content.calls)
    parts = tuple(part.index + 1 for part in content.parts)
    return (parts, calls, canonical(visible(content.text)))


@dataclass(slots=True)
class _Reading:
    """Which block is which turn, and what is left over, each behind which turn, in file order."""

    found: dict[int, Block] = field(default_factory=dict)
    loose: list[tuple[int, Block]] = field(default_factory=list)


def reconcile(
    live: Live, window: Sequence[Turn], blocks: Sequence[Block], *, gate: Gate = Gate.FIT
) -> Revision:
    """The revision that turns what was shown into what now stands there.

    Args:
        live: the live context now.
        window: the turns whose place in the file may have changed, as they were shown, in order;
            all others still stand where they stood, byte for byte.
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
            draft = _edited(live, turn, block, notes)
            if draft is not None:
                changes.append(Change(turn.number, turn.digest, draft))
    return Revision(
        author="model",
        source="file",
        changes=tuple(changes),
        inserts=tuple(_inserts(live, window, reading.loose)),
        gate=gate,
        notes=tuple(dict.fromkeys(notes)),
    )


def _before(live: Live, window: Sequence[Turn]) -> int:
    """The number of the turn in front of the window; 0 at the start of the editable region.

    The context may have changed since the window was shown (another tool of the same round): then
    the window's first turn is a place, not an object.
    """
    turns = live.editable()
    if not window:
        return turns[-1].number if turns else 0
    earlier = [turn.number for turn in turns if turn.place < window[0].place]
    return earlier[-1] if earlier else 0


def _match(window: Sequence[Turn], blocks: Sequence[Block], before: int) -> _Reading:
    """Decide for each block: (1) a turn under its own number and role; (2) of repeats, the unchanged
    one; (3) under an unknown number, a missing turn with this very body; (4) else a note."""
    turns = {turn.number: turn for turn in window}
    taken: dict[int, int] = {}
    strangers: list[int] = []
    for at, block in enumerate(blocks):
        turn = turns.get(block.number) if block.number is not None else None
        if turn is None:
            if block.number is not None:
                strangers.append(at)
            continue
        if block.role not in ("", turn.role):
            continue
        held = taken.get(turn.number)
        if held is None or (block.shows(turn) and not blocks[held].shows(turn)):
            taken[turn.number] = at  # (1), (2)
    claimed = {at: turns[number] for number, at in taken.items()}
    if strangers and len(taken) < len(window):
        missing = [turn for turn in window if turn.number not in taken]
        claimed |= _renumbered(missing, blocks, strangers)  # (3)
    reading = _Reading()
    anchor = before
    for at, block in enumerate(blocks):
        if at in claimed:
            anchor = claimed[at].number
            reading.found[anchor] = block
        else:
            reading.loose.append((anchor, block))  # (4)
    return reading


def _renumbered(
    missing: Sequence[Turn], blocks: Sequence[Block], strangers: Iterable[int]
) -> dict[int, Turn]:
    """Blocks under unknown numbers that are missing turns, by body; a header without a role fits
    any. By key, since a script may have renumbered the whole file."""
    waiting: dict[tuple[str, _Key], deque[Turn]] = defaultdict(deque)
    for turn in missing:
        key = _turn_key(turn)
        waiting[turn.role, key].append(turn)
        waiting["", key].append(turn)
    claimed: dict[int, Turn] = {}
    found: set[int] = set()
    for at in strangers:
        queue = waiting.get((blocks[at].role, blocks[at].key))
        while queue and queue[0].number in found:
            queue.popleft()
        if queue:
            claimed[at] = queue.popleft()
            found.add(claimed[at].number)
    return claimed


def _inserts(
    live: Live, window: Sequence[Turn], loose: Iterable[tuple[int, Block]]
) -> list[Insert]:
    """Notes; neighbours of one role and origin become one."""
    turns = {turn.number: turn for turn in window}
    merged: list[tuple[int, str, Origin, str]] = []
    for anchor, block in loose:
        text = _flat(block)
        role, origin = _standing(block, turns.get(block.number or 0))
        if not text.strip():
            continue
        if merged and merged[-1][:3] == (anchor, role, origin):
            merged[-1] = (anchor, role, origin, f"{merged[-1][3]}\n\n{text}")
        else:
            merged.append((anchor, role, origin, text))
    return [
        Insert(
            anchor,
            live.draft(
                live.dialect.note("assistant" if role == "assistant" else "user", text), origin
            ),
        )
        for anchor, role, origin, text in merged
    ]


def _standing(block: Block, known: Turn | None) -> tuple[str, Origin]:
    """Role and origin of a note. What says that it is a tool's output, or is the very text of one
    under another role, stays a tool's output: a header does not raise it."""
    of_tool = known is not None and (known.role == "tool" or known.origin is Origin.TOOL)
    if block.role == "tool" or (of_tool and known is not None and block.shows(known)):
        return "user", Origin.TOOL
    return ("assistant" if block.role == "assistant" else "user"), Origin.NOTE


def _flat(block: Block) -> str:
    """A block as plain text: marks that stand for nothing here are words."""
    marks = [f"[[CTX_CALL {call.id} {call.name}]]\n{call.arguments}" for call in block.calls]
    return "\n".join([block.text, *marks] if block.text else marks)


def _edited(live: Live, turn: Turn, block: Block, notes: list[str]) -> Draft | None:
    """The turn as the block has it; None where nothing of it may or does change."""
    old = turn.content
    calls, strangers = _calls(old.calls, block.calls, notes)
    text = with_old_lines(old.text, _flat(replace(block, calls=strangers)))
    parts = _parts(old.parts, block.parts)
    if (text, tuple(calls), tuple(parts)) == (old.text, old.calls, old.parts):
        return None
    content = live.dialect.write(old, text, calls, parts)
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
    if call.free or is_json_object(item.arguments):
        return replace(call, arguments=item.arguments)
    notes.append(KEPT_ARGUMENTS)
    return call


def _same_call(item: CallMark, call: Call) -> bool:
    return item.id == mark(call.id) and same(item.arguments, visible(call.arguments))


def _parts(parts: Sequence[Part], marks: Sequence[int]) -> list[Part]:
    standing = set(marks)
    return [part for part in parts if part.index + 1 in standing]
