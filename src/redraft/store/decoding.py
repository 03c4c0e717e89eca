"""Entries back from their values, and with them the live context as it was after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from redraft.context import (
    Change,
    Commit,
    Deltas,
    Draft,
    Gate,
    Insert,
    Live,
    Move,
    Origin,
    Reach,
    Receipt,
    Refusal,
    Revision,
    Row,
    Status,
    Turn,
    with_appended,
    with_moves,
)
from redraft.dialects import Frame, Usage
from redraft.errors import RewriteBudgetViolation
from redraft.events import event_from_dict
from redraft.store.base import (
    Account,
    Answered,
    Appended,
    Asked,
    Committed,
    Decided,
    EditSpan,
    Entry,
    Handed,
    Held,
    Mended,
    Opened,
    Output,
    Pinned,
    Refused,
    Rehomed,
    Released,
    Seen,
    Sent,
    Started,
    Stated,
    Told,
)
from redraft.store.encoding import References, Values, known
from redraft.tools import PinBoard

__all__ = ["Decoder", "receipt_of"]


class Decoder:
    """Entries out of their values, in the order in which they were written.

    A commit holds the live context that it made, so the decoder keeps the live context as it goes.

    Args:
        refs: where turns and bodies are kept.
        empty: a live context without turns, for a frame and its tokens: it brings dialect and meter.

    Attributes:
        live: the live context after the entries so far; None before the first `Started`.
    """

    def __init__(self, refs: References, empty: Callable[[Frame, int], Live]) -> None:
        self._refs = refs
        self._empty = empty
        self.live: Live | None = None
        self._read: Mapping[str, Callable[[Values], Entry]] = {
            "account": lambda values: Account(_made(Row, values)),
            "answered": _answered,
            "appended": self._appended,
            "asked": self._asked,
            "committed": self._committed,
            "decided": self._decided,
            "handed": lambda values: _made(Handed, values, text=refs.load_value(values["text"])),
            "held": self._held,
            "opened": lambda values: Opened(refs.load_value(values["values"])),
            "output": lambda values: _made(Output, values, text=refs.load_value(values["text"])),
            "pinned": self._pinned,
            "refused": self._refused,
            "rehomed": self._rehomed,
            "released": self._released,
            "seen": _seen,
            "sent": self._sent,
            "started": self._started,
            "stated": lambda values: _made(Stated, _frozen(values)),
            "told": self._told,
        }

    def knows(self, kind: str) -> bool:
        """Whether entries of that kind can be read."""
        return kind in self._read

    def decode(self, kind: str, values: Values) -> Entry:
        """One entry; raises `LookupError`, `TypeError` or `ValueError` on values that `encode` never
        made, `JournalError` on a damaged body."""
        return self._read[kind](values)

    # -- what changes the live context -----------------------------------------------------------

    def _need(self) -> Live:
        if self.live is None:
            raise ValueError("the log does not begin with a start")
        return self.live

    def _turns(self, values: Values) -> tuple[Turn, ...]:
        return tuple(self._refs.load_turn(key) for key in values["turns"])

    def _frame(self, values: Values) -> Frame:
        load = self._refs.load_value
        counted = tuple(map(load, values["counted"]))
        return Frame(load(values["fields"]), counted, values["frame_place"])

    def _started(self, values: Values) -> Started:
        frame, tokens = self._frame(values), values["frame_tokens"]
        turns, head = self._turns(values), values["head"]
        empty = self._empty(frame, tokens)
        if self.live is not None:  # numbers only grow, whatever became of their turns
            known = self.live.next_number, self.live.settled
            empty = replace(empty, next_number=known[0], settled=known[1])
        made = _marks(values)
        self.live = replace(with_appended(empty, turns, made), head=head)
        return Started(frame, turns, head, tokens, made)

    def _appended(self, values: Values) -> Appended:
        turns, head, made = self._turns(values), values["head"], _marks(values)
        paused = values.get("paused", False)
        live = with_appended(self._need(), turns, made, paused=paused)
        self.live = live if head is None else replace(live, head=head)
        return Appended(turns, values["measured"], values["plan"], head, made, paused)

    def _released(self, _: Values) -> Released:
        self.live = replace(self._need(), older=None)
        return Released()

    def _pinned(self, values: Values) -> Pinned:
        numbers, pins = frozenset(values["numbers"]), values.get("board")
        self.live = replace(self._need(), pins=numbers)
        return Pinned(numbers, None if pins is None else PinBoard.from_values(pins))

    def _decided(self, values: Values) -> Decided:
        decided = _made(Decided, values, text=self._refs.load_value(values["text"]))
        if decided.settles and self.live is not None:
            self.live = self.live.settle(decided.id)
        return decided

    def _rehomed(self, values: Values) -> Rehomed:
        live, new = self._need(), self._turns(values)
        old = {turn.number: turn for turn in live.turns}
        moves = [Move(old[turn.number], turn) for turn in new]
        live = with_moves(live, moves, live.plans) if moves else live
        frame, tokens = None, 0
        if "fields" in values:
            frame, tokens = self._frame(values), values["frame_tokens"]
            live = live.framed(frame, tokens)
        self.live = live
        return Rehomed(new, values["path"], frame, tokens)

    def _committed(self, values: Values) -> Committed:
        moves = tuple(self._move(*move) for move in values["moves"])
        queued = values.get("queued", False)
        live = with_moves(self._need(), moves, frozenset(values["plans"]), queued=queued)
        self.live = live
        receipt, revision = receipt_of(values["receipt"]), self._revision(values["revision"])
        deltas, reach = _made(Deltas, values["deltas"]), _made(Reach, values["reach"])
        commit = Commit(live, receipt, revision, moves, deltas, reach)
        spans = tuple(EditSpan(*span) for span in values["edit_spans"])
        return Committed(values["number"], commit, tuple(values["edit_calls"]), spans, queued)

    def _move(self, old: int | None, new: int | None, anchor: int) -> Move:
        load = self._refs.load_turn
        return Move(None if old is None else load(old), None if new is None else load(new), anchor)

    # -- what only says something ----------------------------------------------------------------

    def _revision(self, values: Values) -> Revision:
        changes = (Change(number, at, self._new(new)) for number, at, new in values["changes"])
        inserts = (Insert(after, self._must(new), plan) for after, new, plan in values["inserts"])
        return Revision(
            values["author"],
            values["source"],
            tuple(changes),
            tuple(inserts),
            Gate(values["gate"]),
            values["plan_tokens"],
            values["marginal"],
            tuple(values["notes"]),
        )

    def _new(self, new: Any) -> Draft | Turn | None:
        if not isinstance(new, list):
            return None if new is None else self._refs.load_turn(new)
        content, origin, tokens, reasoning = new
        return Draft(self._refs.load_content(content), Origin(origin), tokens, reasoning)

    def _must(self, new: Any) -> Draft | Turn:
        made = self._new(new)
        if made is None:
            raise ValueError("an insert of nothing")
        return made

    def _refused(self, values: Values) -> Refused:
        refusal, key = values["refusal"], values["data"]
        data = b"" if key is None else self._refs.load_value(key).encode("latin-1")
        return Refused(values["rule"], self._refusal(refusal) if refusal else None, data)

    def _refusal(self, values: Values) -> Refusal:
        why = values["violation"]
        violation = None if why is None else RewriteBudgetViolation(why)
        return Refusal(receipt_of(values["receipt"]), self._revision(values["revision"]), violation)

    def _asked(self, values: Values) -> Asked:
        load = self._refs.load_value
        return _made(Asked, values, arguments=load(values["arguments"]), text=load(values["text"]))

    def _held(self, values: Values) -> Held:
        return Held(tuple(self._refs.load_content(key) for key in values["contents"]))

    def _sent(self, values: Values) -> Sent:
        mended = values["mended"]
        if mended is not None:
            start, end, *natives = mended
            mended = Mended(start, end, tuple(map(self._refs.load_native, natives)))
        added = self._refs.load_value(values["added"]) if "added" in values else {}
        return Sent(values["round"], values["turns"], values["tokens"], mended, added)

    def _told(self, values: Values) -> Told:
        whole = {
            name: self._refs.load_value(value["body"]) if _is_body(value) else value
            for name, value in values.items()
        }
        return Told(event_from_dict(whole))


def _marks(values: Values) -> Mapping[int, str]:
    return dict(values.get("made", ()))


def _is_body(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"body"}


def _seen(values: Values) -> Seen:
    return Seen(values["start"], tuple((exact, shown) for exact, shown in values["marks"]))


def _answered(values: Values) -> Answered:
    usage = values["usage"]
    paused = values.get("paused", False)
    return Answered(values["round"], _made(Usage, usage) if usage else None, paused)


def receipt_of(values: Values) -> Receipt:
    """A receipt from its values."""
    return _made(Receipt, values, status=Status(values["status"]), notes=tuple(values["notes"]))


_T = TypeVar("_T")


def _made(kind: type[_T], values: Values, **instead: object) -> _T:
    """A dataclass from its values, some of them put into another form."""
    return kind(**{**known(kind, values), **instead})


def _frozen(values: Values) -> Values:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
