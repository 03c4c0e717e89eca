"""An intent of a context tool, applied to the live context: a revision for the door, or other pins.

Pure. A call acts on what it may act on and says for each of the rest why not; what a handle names is
looked up here, so the second of two calls in one round sees what the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from redraft.context import Change, Gate, Live, Origin, Revision, Turn
from redraft.context.turn import edited_origin
from redraft.dialects.preserve import pending_approvals, preserved_block
from redraft.dialects.stubs import DISK, OverflowStub
from redraft.tools.handles import Item, Names, is_stub, pointer_line
from redraft.tools.intents import DropIntent, NoteIntent, PinIntent, UnpinIntent
from redraft.tools.pins import MAX_MODEL_PINS, PinBoard

__all__ = ["Declined", "Planned", "note_text", "revision_of"]

_OPS = {DropIntent: "drop", NoteIntent: "note", PinIntent: "pin", UnpinIntent: "unpin"}


@dataclass(frozen=True, slots=True)
class Declined:
    """Something that a call asked for and did not get.

    Attributes:
        handle: what it named.
        why: the reason, and what to do.
    """

    handle: str
    why: str


@dataclass(frozen=True, slots=True)
class Planned:
    """What a call comes to. Nothing of it has happened yet.

    Attributes:
        op: `pin`, `unpin`, `drop` or `note`.
        handles: what it acts on.
        declined: what it does not act on, and why.
        revision: for the door; None where the context stays as it is.
        pins: the new board; None where the pins stay as they are.
        stubs: the stubs of the bodies that must be in the overflow store before the revision goes to
            the door.
        items: the results behind `handles`, as they are before it.
    """

    op: str
    handles: tuple[str, ...] = ()
    declined: tuple[Declined, ...] = ()
    revision: Revision | None = None
    pins: PinBoard | None = None
    stubs: tuple[OverflowStub, ...] = ()
    items: tuple[Item, ...] = ()


def revision_of(
    intent: PinIntent | UnpinIntent | DropIntent | NoteIntent,
    live: Live,
    board: PinBoard,
    *,
    storage: str = DISK,
    gate: Gate = Gate.FIT,
    max_pins: int = MAX_MODEL_PINS,
) -> Planned:
    """What an intent comes to in a live context.

    Args:
        intent: from `intent_of`.
        live: the context as it is when the call is applied.
        board: the pins with their owners. A turn that `live.pins` holds counts as pinned too.
        storage: where the overflow store keeps bodies, as its stubs say it.
        gate: the rule on size that the revision will have to pass.
        max_pins: pins that the model may hold.
    """
    calls = _Call(live, board, storage, gate, max_pins)
    match intent:
        case DropIntent():
            return calls.drop(intent)
        case NoteIntent():
            return calls.note(intent)
        case PinIntent():
            return calls.pin(intent)
        case UnpinIntent():
            return calls.unpin(intent)


class _Call:
    """One call, with the context that it is applied to."""

    def __init__(
        self, live: Live, board: PinBoard, storage: str, gate: Gate, max_pins: int
    ) -> None:
        self.live = live
        self.board = board
        self.names = Names(live)
        self._storage = storage
        self._gate = gate
        self._max_pins = max_pins
        self._declined: list[Declined] = []

    # -- drop and note ---------------------------------------------------------------------------

    def drop(self, intent: DropIntent) -> Planned:
        """Each result becomes its stub."""
        items = self._results(intent.handles, self._why_not_drop)
        stubs = [self._stub_of(item) for item in items]
        changes = [
            self._change(item.turns[0], stub.line, Origin.HARNESS)
            for item, stub in zip(items, stubs, strict=True)
        ]
        return self._revised("drop", items, changes, stubs)

    def note(self, intent: NoteIntent) -> Planned:
        """The first result becomes the note, the others point at it."""
        items = self._results(intent.handles, self._why_not_move)
        if not items:
            return Planned("note", declined=tuple(self._declined))
        stubs = [self._stub_of(item) for item in items]
        first, pointer = items[0].turns[0], pointer_line(items[0].handle)
        words = note_text(intent.note, items, stubs, self.live.settled)
        changes = [self._change(first, words, edited_origin(first))]
        changes += [self._change(item.turns[0], pointer, Origin.HARNESS) for item in items[1:]]
        return self._revised("note", items, changes, stubs)

    def _revised(
        self, op: str, items: Sequence[Item], changes: list[Change], stubs: list[OverflowStub]
    ) -> Planned:
        revision = None
        if changes:
            revision = Revision("model", f"context_{op}", tuple(changes), gate=self._gate)
        handles = tuple(item.handle for item in items)
        declined = tuple(self._declined)
        return Planned(op, handles, declined, revision, None, tuple(stubs), tuple(items))

    def _stub_of(self, item: Item) -> OverflowStub:
        body = item.turns[0].content.text
        return OverflowStub.of(body, item.tool, item.handle, self._storage)

    def _change(self, turn: Turn, text: str, origin: Origin) -> Change:
        # What is no text cannot go to the store, so it stays where it is.
        content = self.live.dialect.write(turn.content, text, (), turn.content.parts)
        return Change(turn.number, turn.digest, self.live.draft(content, origin))

    def _results(self, handles: Iterable[str], why_not: Callable[[Turn], str]) -> Sequence[Item]:
        """The results that these handles name and that may be moved, each once."""
        found: dict[int, Item] = {}
        for handle in handles:
            items = self.names.find(handle)
            if not items:
                self._decline(handle, self._unknown(handle))
            for item in items:
                reason = why_not(item.turns[0])
                if reason:
                    self._decline(item.handle, reason)
                else:
                    found.setdefault(item.turns[0].number, item)
        return list(found.values())

    def _why_not_drop(self, turn: Turn) -> str:
        reason = self._why_not_move(turn)
        text, settled = turn.content.text, self.live.settled
        waiting = pending_approvals(text, settled) if not reason else ()
        if waiting:
            return (
                f"it carries the pending approval {waiting[0].id}; use context_note, which keeps it"
            )
        return reason

    def _why_not_move(self, turn: Turn) -> str:
        """The numbered refusals: (1) a stub, (2) pinned, (3) part of the prefix."""
        if is_stub(turn):
            return "it is a stub already; read_overflow shows its body"
        pinned = self.live.pins | self.board.numbers
        if any(other.number in pinned for other in self.names.message(turn)):
            return "it is pinned; unpin it first, if the pin is yours"
        if self.names.position(turn) < self.live.head:
            return "it belongs to the pinned beginning, which stays as it is"
        return ""

    def _unknown(self, handle: str) -> str:
        same = self.names.repeated(handle)
        if same:
            return f"several results have this call id; say which: {', '.join(same[:8])}"
        return (
            "no result that you have read has this handle; results of this round have none yet, and "
            "context_status shows the others"
        )

    def _decline(self, handle: str, why: str) -> None:
        declined = Declined(handle, why)
        if declined not in self._declined:
            self._declined.append(declined)

    # -- pins ------------------------------------------------------------------------------------

    def pin(self, intent: PinIntent) -> Planned:
        """One pin for each message that is named."""
        present = {turn.number for turn in self.live.turns}
        board, done = self.board.present(present), []
        for item in self._messages(intent.handles, intent.snippet):
            numbers = [turn.number for turn in item.turns]
            if board.covers("model", numbers):
                self._decline(item.handle, "it is pinned already")
            elif len(board.of("model")) >= self._max_pins:
                self._decline(item.handle, f"you hold {self._max_pins} pins, the most; unpin some")
            else:
                board = board.add("model", numbers, item.turns[0].content.text)
                done.append(item)
        return self._pinned("pin", done, board)

    def unpin(self, intent: UnpinIntent) -> Planned:
        """The model's own pins go; those of others stay."""
        if intent.everything:
            mine = self.board.of("model")
            handles = tuple(self._called(pin.turns) for pin in mine)
            return Planned("unpin", handles, pins=self.board.clear("model") if mine else None)
        board, done = self.board, []
        for item in self._messages(intent.handles, intent.snippet):
            numbers = [turn.number for turn in item.turns]
            after = board.remove("model", numbers)
            if after != board:
                board = after
                done.append(item)
            elif board.numbers.union(self.live.pins).isdisjoint(numbers):
                self._decline(item.handle, "it is not pinned")
            else:
                self._decline(item.handle, "the pin is not yours, so it stays")
        return self._pinned("unpin", done, board)

    def _pinned(self, op: str, done: Sequence[Item], board: PinBoard) -> Planned:
        handles = tuple(item.handle for item in done)
        changed = board if done else None
        return Planned(op, handles, tuple(self._declined), None, changed, items=tuple(done))

    def _messages(self, handles: Iterable[str], snippet: str) -> Sequence[Item]:
        """The messages that are named, each once: on a fenced route a result stands for its round."""
        found: dict[tuple[int, ...], Item] = {}
        for handle in handles:
            items = self.names.find(handle)
            if not items:
                self._decline(handle, self._unknown(handle))
            for item in items:
                turns = self.names.message(item.turns[0])
                called = self.names.called(item.turns[0])
                found.setdefault(tuple(turn.number for turn in turns), Item(called, turns))
        if snippet:
            quoting = self.names.quoting(snippet)
            if len(quoting) == 1:
                item = quoting[0]
                found.setdefault(tuple(turn.number for turn in item.turns), item)
            else:
                often = f"in {len(quoting)} messages" if quoting else "in no message"
                self._decline(
                    "snippet", f"it stands {often}; quote a piece that stands in exactly one"
                )
        return list(found.values())

    def _called(self, turns: Sequence[int]) -> str:
        first = next((turn for turn in self.live.turns if turn.number in turns), None)
        return f"turn {turns[0]}" if first is None else self.names.called(first)


def note_text(
    note: str,
    items: Sequence[Item],
    stubs: Sequence[OverflowStub],
    settled: Collection[str] = (),
) -> str:
    """The note as it stands in the first result's place: the model's words, one stub line for each
    original, and what must outlive these.

    Args:
        note: the model's words.
        items: the results that it stands for.
        stubs: their stubs, in the same order.
        settled: ids of approvals that wait no more.
    """
    handles = ", ".join(item.handle for item in items)
    head = f"[note in place of {len(items)} result{'s' if len(items) > 1 else ''}: {handles}]"
    lines = [head, note.strip(), "", *(stub.line for stub in stubs)]
    texts = [turn.content.text for item in items for turn in item.turns]
    block = preserved_block(texts, settled)
    return "\n".join([*lines, "", block] if block else lines)
