"""The names that a model calls results by, and what each of them means in a live context.

- the id of the tool call, where the provider has such ids: `call_7f2`. Providers repeat ids; of those
  that are not unique each result is `<id>#<number of its turn>`.
- `r<round>.<i>` for the i-th result of a round, and `r<round>` for all of them, where a round's results
  share one message (`redraft.dialects.fenced`); there these are the ids of the calls.
- `m<8 hex digits>` for tool output of which no more is known than that it is one.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from redraft.context import Live, Origin, Turn, group_at, visible
from redraft.dialects.fenced_results import round_handle

__all__ = ["Item", "Names", "is_output", "is_stub", "pointer_line", "round_of"]

_WHOLE = re.compile(r"r\d+")
_MARKED = re.compile(r"m[0-9a-f]{8}")
_POINTER = "[result folded into the note at "
_STUBS = ("[overflow id=", _POINTER)


def is_output(turn: Turn) -> bool:
    """Whether a turn is a tool's output: a result, or one that lost its call and stands as text."""
    role = turn.content.role
    return role == "tool" or (role == "user" and turn.origin is Origin.TOOL)


def is_stub(turn: Turn) -> bool:
    """Whether a turn is a stub already: of the overflow store, or one that points at a note.

    Only what the harness wrote can be one; a tool that prints such a line, or a model that writes it, is
    quoted text.
    """
    return turn.origin is Origin.HARNESS and turn.content.text.startswith(_STUBS)


def pointer_line(handle: str) -> str:
    """What stands for a result whose stub is in a note elsewhere."""
    return f"{_POINTER}{' '.join(handle.split())}]"


def round_of(turn: Turn) -> str:
    """`r<round>` for a result that shares its round's message, else ""."""
    return round_handle(turn.content.answers)


@dataclass(frozen=True, slots=True)
class Item:
    """What one handle names.

    Attributes:
        handle: the handle, as lists show it.
        turns: the turns: one result, or the turns of one message.
        tool: the tool's name; "" where nobody knows.
    """

    handle: str
    turns: tuple[Turn, ...]
    tool: str = ""


class Names:
    """The handles of a live context. Look-ups are prepared at the first one that needs them.

    Args:
        live: the context. Only results in front of the round in progress have handles: a model
            cannot have read the others yet.

    Attributes:
        outputs: the turns that have handles, in order.
    """

    def __init__(self, live: Live) -> None:
        self.live = live
        # Spelled out, and not by `is_output`: a status walks a context of ten thousand results.
        self.outputs = [
            turn
            for turn in live.turns[: live.open_at]
            if turn.content.role == "tool"
            or (turn.origin is Origin.TOOL and turn.content.role == "user")
        ]

    @cached_property
    def _counts(self) -> Counter[str | None]:
        """How many results answer each id."""
        return Counter([turn.content.answers for turn in self.outputs])

    @cached_property
    def _answers(self) -> Mapping[str, Sequence[Turn]]:
        """The results that answer each id."""
        answers: dict[str, list[Turn]] = {}
        for turn in self.outputs:
            name = turn.content.answers
            if name:
                answers.setdefault(name, []).append(turn)
        return answers

    @cached_property
    def _rounds(self) -> Mapping[str, Sequence[Turn]]:
        """The results of each round that shares a message."""
        rounds: dict[str, list[Turn]] = {}
        for turn in self.outputs:
            shared = round_of(turn)
            if shared:
                rounds.setdefault(shared, []).append(turn)
        return rounds

    def handle(self, turn: Turn) -> str:
        """What a result is called."""
        answers = turn.content.answers
        if not answers or _WHOLE.fullmatch(answers):
            return _marked(turn)
        return answers if self._counts[answers] == 1 else f"{answers}#{turn.number}"

    def find(self, handle: str) -> tuple[Item, ...]:
        """The results that a handle names, in their order; none where it names none, or could name
        those of several calls."""
        turns = self._found(handle)
        return tuple(Item(self.handle(turn), (turn,), self.tool(turn)) for turn in turns)

    def _found(self, handle: str) -> Sequence[Turn]:
        """The numbered cases: (1) the id of one call, (2) one of several with that id, (3) a round,
        (4) output without an id."""
        same = self._answers.get(handle, ())
        if len(same) == 1:
            return same
        name, _, number = handle.rpartition("#")
        if name and len(self._answers.get(name, ())) > 1:
            return [turn for turn in self._answers[name] if str(turn.number) == number]
        if _WHOLE.fullmatch(handle):
            return self._rounds.get(handle, ())
        if _MARKED.fullmatch(handle):
            return [turn for turn in self.outputs if self.handle(turn) == handle]
        return ()

    def repeated(self, handle: str) -> tuple[str, ...]:
        """The handles that tell results apart which share the call id `handle`."""
        same = self._answers.get(handle, ())
        return tuple(map(self.handle, same)) if len(same) > 1 else ()

    def message(self, turn: Turn) -> tuple[Turn, ...]:
        """The turns that stand in one message with a result: its whole round on a fenced route."""
        shared = round_of(turn)
        return tuple(self._rounds[shared]) if shared else (turn,)

    def quoting(self, snippet: str) -> Sequence[Item]:
        """The messages that hold a text: system turns and the round in progress are not looked at."""
        found: dict[tuple[int, ...], Item] = {}
        for turn in self.live.turns[: self.live.open_at]:
            if turn.role != "system" and snippet in visible(turn.content.text):
                turns = self.message(turn) if is_output(turn) else (turn,)
                key = tuple(one.number for one in turns)
                found.setdefault(key, Item(self.called(turn), turns))
        return list(found.values())

    def called(self, turn: Turn) -> str:
        """How any turn is spoken of: its message's handle, or its number where it has none."""
        return (round_of(turn) or self.handle(turn)) if is_output(turn) else f"turn {turn.number}"

    def position(self, turn: Turn) -> int:
        """Where a turn of this context stands: turns are in the order of their places."""
        return bisect_left(self.live.turns, turn.place, key=_place)

    def tool(self, turn: Turn) -> str:
        """The name of the tool that gave a result; "" where nobody knows."""
        group = group_at(self.live.turns, self.position(turn))
        index = group.pairs.get(turn.number) if group.head.content.calls else None
        return group.head.content.calls[index].name if index is not None else ""


def _place(turn: Turn) -> tuple[int, ...]:
    return turn.place


def _marked(turn: Turn) -> str:
    """`m` and eight digits, of what is shown and of the number: equal texts have handles of their own."""
    seed = f"{turn.number}:{turn.digest}".encode()
    return f"m{hashlib.blake2b(seed, digest_size=4).hexdigest()}"
