"""Entries as plain values. Turns, contents and large values are kept once and named by their key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Protocol

from redraft.context import Draft, Move, Refusal, Revision, Turn
from redraft.dialects import Content, Frame, Native
from redraft.events import Event
from redraft.store.base import (
    Account,
    Answered,
    Appended,
    Asked,
    Committed,
    Decided,
    Entry,
    Handed,
    Held,
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

__all__ = ["ASIDE", "References", "Values", "encode", "flat", "kind_of", "known"]

Values = dict[str, Any]

ASIDE = "aside"
"""Set in the values of a kind of entry that a redraft which does not know it may pass over: nothing of
what a session goes on from depends on it. Any other kind that is unknown stops a reader."""

_LONG = 200
"""Characters of an event's text from which on it is kept as a body, compressed and once."""

_KINDS: Mapping[type[Any], str] = {
    Account: "account",
    Answered: "answered",
    Appended: "appended",
    Asked: "asked",
    Committed: "committed",
    Decided: "decided",
    Handed: "handed",
    Held: "held",
    Opened: "opened",
    Output: "output",
    Pinned: "pinned",
    Refused: "refused",
    Rehomed: "rehomed",
    Released: "released",
    Seen: "seen",
    Sent: "sent",
    Started: "started",
    Stated: "stated",
    Told: "told",
}


class References(Protocol):
    """Where turns and large values are kept, each once: keys in, the same objects out."""

    def turn(self, turn: Turn) -> int:
        """The key under which `turn` is kept."""

    def content(self, content: Content) -> int:
        """The key under which `content` is kept."""

    def native(self, native: Native) -> int:
        """The key under which a carrier is kept."""

    def value(self, value: object) -> int:
        """The key under which a JSON value is kept."""

    def load_turn(self, key: int) -> Turn:
        """The turn kept under a key: the same object each time."""

    def load_content(self, key: int) -> Content:
        """The content kept under a key: the same object each time."""

    def load_native(self, key: int) -> Native:
        """The carrier kept under a key: the same object each time."""

    def load_value(self, key: int) -> Any:
        """The value kept under a key."""


_fields: dict[type[Any], tuple[tuple[str, Any], ...]] = {}


def _names(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    """The fields of a dataclass with their defaults."""
    if kind not in _fields:
        _fields[kind] = tuple((field.name, field.default) for field in fields(kind))
    return _fields[kind]


def flat(item: Any) -> Values:
    """The fields of a dataclass that holds plain values. (`asdict` copies each of them, slowly.)"""
    return {name: getattr(item, name) for name, _ in _names(type(item))}


def known(kind: type[Any], values: Values) -> Values:
    """Those of `values` that a dataclass has a field for: a newer redraft may have written more."""
    names = {name for name, _ in _names(kind)}
    return {name: value for name, value in values.items() if name in names}


def _told_apart(state: Stated) -> Values:
    """What is not as it was at the beginning of a session: most of it is."""
    return {
        name: value
        for name, default in _names(Stated)
        if (value := getattr(state, name)) != default or default is MISSING
    }


def kind_of(entry: Entry) -> str:
    """The word that the log calls this kind of entry by."""
    return _KINDS[type(entry)]


def encode(entry: Entry, refs: References) -> Values:
    """An entry as JSON values; turns and bodies go into `refs`."""
    match entry:
        case Opened():
            return {"values": refs.value(dict(entry.values))}
        case Started():
            return {**_frame(entry.frame, entry.frame_tokens, refs), **_started(entry, refs)}
        case Appended():
            return {
                "turns": _turns(entry.turns, refs),
                "measured": entry.measured,
                "plan": entry.plan,
                "head": entry.head,
                **_marks(entry.made),
                **({"paused": True} if entry.paused else {}),
            }
        case Held():
            return {"contents": [refs.content(content) for content in entry.contents]}
        case Committed():
            return _committed(entry, refs)
        case Refused():
            return _refused(entry, refs)
        case Handed() | Output() | Decided():
            return {**flat(entry), "text": refs.value(entry.text)}
        case Asked():
            bodies = {
                "arguments": refs.value(dict(entry.arguments)),
                "text": refs.value(entry.text),
            }
            return {**flat(entry), **bodies}
        case Pinned():
            board = {} if entry.board is None else {"board": entry.board.as_values()}
            return {"numbers": sorted(entry.numbers), **board}
        case Rehomed():
            return _rehomed(entry, refs)
        case Released():
            return {}
        case Seen():
            return {"start": entry.start, "marks": [list(mark) for mark in entry.marks]}
        case Sent():
            return _sent(entry, refs)
        case Answered():
            values = {"round": entry.round, "usage": flat(entry.usage) if entry.usage else None}
            return {**values, "paused": True} if entry.paused else values
        case Stated():
            return _told_apart(entry)
        case Account():
            return flat(entry.row)
        case Told():
            return _event(entry.event, refs)


def _turns(turns: Sequence[Turn], refs: References) -> list[int]:
    return [refs.turn(turn) for turn in turns]


def _started(entry: Started, refs: References) -> Values:
    return {"turns": _turns(entry.turns, refs), "head": entry.head, **_marks(entry.made)}


def _marks(made: Mapping[int, str]) -> Values:
    """What bound reasoning was made under, as [number, mark]; nothing where there is none."""
    return {"made": [[number, mark] for number, mark in made.items()]} if made else {}


def _rehomed(entry: Rehomed, refs: References) -> Values:
    values = {"turns": _turns(entry.turns, refs), "path": entry.path}
    if entry.frame is None:
        return values
    return {**values, **_frame(entry.frame, entry.frame_tokens, refs)}


def _frame(frame: Frame, tokens: int, refs: References) -> Values:
    return {
        "fields": refs.value(dict(frame.fields)),
        "counted": [refs.value(text) for text in frame.counted],
        "frame_place": frame.place,
        "frame_tokens": tokens,
    }


def _sent(entry: Sent, refs: References) -> Values:
    mended = entry.mended
    return {
        "round": entry.round,
        "turns": entry.turns,
        "tokens": entry.tokens,
        "mended": [mended.start, mended.end, *map(refs.native, mended.natives)] if mended else None,
        **({"added": refs.value(dict(entry.added))} if entry.added else {}),
    }


def _committed(entry: Committed, refs: References) -> Values:
    commit = entry.commit
    return {
        "number": entry.number,
        "edit_calls": list(entry.edit_calls),
        "edit_spans": [[span.place, span.start, span.end] for span in entry.edit_spans],
        "moves": [_move(move, refs) for move in commit.moves],
        "receipt": flat(commit.receipt),
        "revision": _revision(commit.revision, refs),
        "plans": sorted(commit.live.plans),
        "deltas": flat(commit.deltas),
        "reach": flat(commit.reach),
        **({"queued": True} if entry.queued else {}),
    }


def _move(move: Move, refs: References) -> list[int | None]:
    """[old, new, anchor]: keys of turns, None where there is none."""
    old = refs.turn(move.old) if move.old else None
    return [old, refs.turn(move.new) if move.new else None, move.anchor]


def _revision(revision: Revision, refs: References) -> Values:
    """What was proposed: changes as [number, digest, new], inserts as [after, new, plan]."""
    return {
        "author": revision.author,
        "source": revision.source,
        "changes": [[c.number, c.digest, _new(c.new, refs)] for c in revision.changes],
        "inserts": [[i.after, _new(i.new, refs), i.plan] for i in revision.inserts],
        "gate": str(revision.gate),
        "plan_tokens": revision.plan_tokens,
        "marginal": revision.marginal,
        "notes": list(revision.notes),
    }


def _new(new: Draft | Turn | None, refs: References) -> Any:
    """A turn by its key, a draft as [content, origin, tokens, reasoning]."""
    if isinstance(new, Draft):
        return [refs.content(new.content), str(new.origin), new.tokens, new.reasoning]
    return None if new is None else refs.turn(new)


def _refused(entry: Refused, refs: References) -> Values:
    return {
        "rule": entry.rule,
        "refusal": _refusal(entry.refusal, refs) if entry.refusal else None,
        "data": refs.value(entry.data.decode("latin-1")) if entry.data else None,
    }


def _refusal(refusal: Refusal, refs: References) -> Values:
    violation = refusal.violation
    return {
        "receipt": flat(refusal.receipt),
        "revision": _revision(refusal.revision, refs),
        "violation": None if violation is None else str(violation),
    }


def _event(event: Event, refs: References) -> Values:
    """An event's values; a long text is kept as a body and stands as {"body": key}."""
    return {
        name: {"body": refs.value(value)}
        if isinstance(value, str) and len(value) > _LONG
        else value
        for name, value in {"type": event.type, **flat(event)}.items()
    }
