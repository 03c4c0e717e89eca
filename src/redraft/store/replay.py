"""From the record back to what was sent: the input of each model call, and every version of a turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from redraft.context import Commit, Turn
from redraft.dialects import Frame
from redraft.store.base import Appended, Committed, Entry, Sent, Started

__all__ = ["Input", "inputs", "versions"]


@dataclass(frozen=True, slots=True)
class Input:
    """What one model call was given.

    Attributes:
        sent: the entry that announced it.
        frame: tools and parameters.
        turns: the turns, in order; with the frame they join to the request.
    """

    sent: Sent
    frame: Frame
    turns: tuple[Turn, ...]


def inputs(entries: Iterable[Entry]) -> Iterator[Input]:
    """The exact input of every model call, from nothing but the record.

    Args:
        entries: a journal's entries, from the start.
    """
    frame = Frame()
    turns: tuple[Turn, ...] = ()
    for entry in entries:
        match entry:
            case Started():
                frame, turns = entry.frame, entry.turns
            case Appended():
                turns = (*turns, *entry.turns)
            case Committed():
                turns = _after(turns, entry.commit)
            case Sent():
                yield Input(entry, frame, turns)


def _after(turns: tuple[Turn, ...], commit: Commit) -> tuple[Turn, ...]:
    """The turns after a commit: its moves say which go and come, their places say where."""
    gone = {move.old.number for move in commit.moves if move.old is not None}
    kept = [turn for turn in turns if turn.number not in gone]
    kept.extend(move.new for move in commit.moves if move.new is not None)
    return tuple(sorted(kept, key=lambda turn: turn.place))


def versions(entries: Iterable[Entry]) -> dict[int, list[Turn]]:
    """Every version that each turn ever had, oldest first, by number."""
    found: dict[int, list[Turn]] = {}
    for entry in entries:
        match entry:
            case Started(turns=turns) | Appended(turns=turns):
                pass
            case Committed(commit=commit):
                turns = tuple(move.new for move in commit.moves if move.new is not None)
            case _:
                continue
        for turn in turns:
            known = found.setdefault(turn.number, [])
            if turn not in known:
                known.append(turn)
    return found
