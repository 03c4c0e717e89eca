"""Entries as plain values, and back. Turns and carriers are stored once and named by reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from redraft.context import (
    Change,
    Commit,
    Deltas,
    Gate,
    Insert,
    Live,
    Move,
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
from redraft.events import event_from_dict
from redraft.store.base import (
    Account,
    Answered,
    Appended,
    Committed,
    Entry,
    Output,
    Pinned,
    Refused,
    Sent,
    Started,
    Told,
)

__all__ = ["Decoder", "References", "encode", "kind_of"]

Values = dict[str, Any]

_KINDS: Mapping[type[Any], str] = {
    Account: "account",
    Answered: "answered",
    Appended: "appended",
    Committed: "committed",
    Output: "output",
    Pinned: "pinned",
    Refused: "refused",
    Sent: "sent",
    Started: "started",
    Told: "told",
}


class References(Protocol):
    """Where turns and large values are kept, each once."""

    def turn(self, turn: Turn) -> int:
        """The id under which `turn` is kept."""

    def value(self, value: object) -> str:
        """The name under which a JSON value is kept."""

    def load_turn(self, key: int) -> Turn:
        """The turn kept under an id: the same object each time."""

    def load_value(self, name: str) -> Any:
        """The value kept under a name."""


def kind_of(entry: Entry) -> str:
    """The word that the log calls this kind of entry by."""
    return _KINDS[type(entry)]


def encode(entry: Entry, refs: References) -> Values:
    """An entry as JSON values; turns and bodies go into `refs`."""
    match entry:
        case Started():
            return {**_frame(entry.frame, refs), **_turns(entry.turns, refs), "head": entry.head}
        case Appended():
            return _turns(entry.turns, refs)
        case Committed():
            return _committed(entry, refs)
        case Refused():
            return _refused(entry, refs)
        case Output():
            return {
                "round": entry.round,
                "answers": entry.answers,
                "text": refs.value(entry.text),
            }
        case Pinned():
            return {"numbers": sorted(entry.numbers)}
        case Sent():
            return asdict(entry)
        case Answered():
            return {"round": entry.round, "usage": asdict(entry.usage) if entry.usage else None}
        case Account():
            return asdict(entry.row)
        case Told():
            return entry.event.as_dict()


def _turns(turns: Sequence[Turn], refs: References) -> Values:
    return {"turns": [refs.turn(turn) for turn in turns]}


def _frame(frame: Frame, refs: References) -> Values:
    return {
        "fields": refs.value(dict(frame.fields)),
        "counted": [refs.value(text) for text in frame.counted],
        "frame_place": frame.place,
    }


def _committed(entry: Committed, refs: References) -> Values:
    commit = entry.commit
    return {
        "number": entry.number,
        "edit_calls": list(entry.edit_calls),
        "moves": [_move(move, refs) for move in commit.moves],
        "receipt": asdict(commit.receipt),
        "revision": _revision(commit.revision),
        "plans": sorted(commit.live.plans),
        "deltas": asdict(commit.deltas),
        "reach": asdict(commit.reach),
    }


def _move(move: Move, refs: References) -> list[int | None]:
    """[old, new, anchor]: ids of turns, None where there is none."""
    old = refs.turn(move.old) if move.old else None
    return [old, refs.turn(move.new) if move.new else None, move.anchor]


def _revision(revision: Revision) -> Values:
    """What was proposed, without the turns: the moves have those."""
    return {
        "author": revision.author,
        "source": revision.source,
        "gate": str(revision.gate),
        "plan_tokens": revision.plan_tokens,
        "marginal": revision.marginal,
        "notes": list(revision.notes),
    }


def _refused(entry: Refused, refs: References) -> Values:
    """A refusal keeps what it was about: who proposed it, why not, and the rejected bytes."""
    refusal = entry.refusal
    return {
        "rule": entry.rule,
        "receipt": asdict(refusal.receipt) if refusal else None,
        "revision": _revision(refusal.revision) if refusal else None,
        "data": refs.value(entry.data.decode("latin-1")) if entry.data else None,
    }


class Decoder:
    """Entries out of their values, in the order in which they were written.

    A commit holds the live context that it made, so the decoder keeps the live context as it goes.

    Args:
        refs: where turns and bodies are kept.
        empty: a live context without turns: it brings the dialect and the meter.

    Attributes:
        live: the live context after the entries so far; None before the first `Started`.
    """

    def __init__(self, refs: References, empty: Callable[[Frame], Live]) -> None:
        self._refs = refs
        self._empty = empty
        self.live: Live | None = None

    def decode(self, kind: str, values: Values) -> Entry:
        """One entry; raises `KeyError` or `ValueError` on values that `encode` never made."""
        match kind:
            case "started":
                return self._started(values)
            case "appended":
                turns = self._turns(values)
                self.live = with_appended(self._need(), turns)
                return Appended(turns)
            case "committed":
                return self._committed(values)
            case "pinned":
                numbers = frozenset(values["numbers"])
                self.live = replace(self._need(), pins=numbers)
                return Pinned(numbers)
            case "output":
                text = self._refs.load_value(values["text"])
                return Output(values["round"], values["answers"], text)
            case "refused":
                return self._refused(values)
            case "sent":
                return Sent(**values)
            case "answered":
                usage = values["usage"]
                return Answered(values["round"], Usage(**usage) if usage else None)
            case "account":
                return Account(Row(**values))
            case "told":
                return Told(event_from_dict(values))
        raise ValueError(f"an entry of the unknown kind {kind!r}")

    def _need(self) -> Live:
        if self.live is None:
            raise ValueError("the log does not begin with a start")
        return self.live

    def _turns(self, values: Values) -> tuple[Turn, ...]:
        return tuple(self._refs.load_turn(key) for key in values["turns"])

    def _started(self, values: Values) -> Started:
        frame = Frame(
            self._refs.load_value(values["fields"]),
            tuple(self._refs.load_value(name) for name in values["counted"]),
            values["frame_place"],
        )
        turns = self._turns(values)
        self.live = replace(with_appended(self._empty(frame), turns), head=values["head"])
        return Started(frame, turns, values["head"])

    def _committed(self, values: Values) -> Committed:
        moves = tuple(self._move(*move) for move in values["moves"])
        live = with_moves(self._need(), moves, frozenset(values["plans"]))
        self.live = live
        receipt, revision = _receipt(values["receipt"]), self._revision(values["revision"], moves)
        commit = Commit(
            live, receipt, revision, moves, Deltas(**values["deltas"]), Reach(**values["reach"])
        )
        return Committed(values["number"], commit, tuple(values["edit_calls"]))

    def _move(self, old: int | None, new: int | None, anchor: int) -> Move:
        load = self._refs.load_turn
        return Move(
            None if old is None else load(old), None if new is None else load(new), anchor
        )

    def _revision(self, values: Values, moves: Sequence[Move] = ()) -> Revision:
        changes = tuple(
            Change(move.old.number, move.old.digest, move.new) for move in moves if move.old
        )
        inserts = tuple(
            Insert(move.anchor, move.new) for move in moves if move.new and not move.old
        )
        return Revision(
            values["author"],
            values["source"],
            changes,
            inserts,
            Gate(values["gate"]),
            values["plan_tokens"],
            values["marginal"],
            tuple(values["notes"]),
        )

    def _refused(self, values: Values) -> Refused:
        refusal = None
        if values["receipt"] is not None:
            refusal = Refusal(_receipt(values["receipt"]), self._revision(values["revision"]))
        name = values["data"]
        data = self._refs.load_value(name).encode("latin-1") if name else b""
        return Refused(values["rule"], refusal, data)


def _receipt(values: Values) -> Receipt:
    return Receipt(**{**values, "status": Status(values["status"]), "notes": tuple(values["notes"])})
