"""What models do to the context file, well and badly: from its text to another text. Pure.

Each edit is what a command of the model's might leave: a block gone, rewritten, moved, said twice; calls
and parts cut out or changed; roles and numbers that it makes up; newlines changed; the end cut off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["FILE_EDITS", "rewritten"]

_TURN = re.compile(r"^\[\[CTX_TURN (\d+) role=(\w+)[^\n]*\]\]$", re.MULTILINE)
_CALL = re.compile(r"^\[\[CTX_CALL .*\]\]$", re.MULTILINE)
_MARK = re.compile(r"^\[\[CTX_(?:CALL|PART|TURN|END).*$", re.MULTILINE)
_END = "[[CTX_END]]\n"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an edit is done.

    Attributes:
        blocks: the file, block by block.
        at: which block.
        to: a further number, e.g. where it goes.
        text: a text to put in.
    """

    blocks: Sequence[str]
    at: int
    to: int
    text: str

    @property
    def block(self) -> str:
        """The block itself."""
        return self.blocks[self.at]

    @property
    def head(self) -> str:
        """Its header."""
        return self.block.partition("\n")[0]

    @property
    def tail(self) -> str:
        """Its calls and parts, from the first of their marks on."""
        found = _MARK.search(self.block, len(self.head))
        return self.block[found.start() :] if found else ""

    def put(self, *new: str) -> list[str]:
        """All blocks, with others in the place of this one."""
        return [*self.blocks[: self.at], *new, *self.blocks[self.at + 1 :]]


Edit = Callable[[Spot], list[str]]
"""From a spot in the file to the blocks afterwards."""


def rewritten(file: str, which: int, at: int, to: int, text: str) -> str:
    """The context file after one edit.

    Args:
        file: what stands in it.
        which: which of `FILE_EDITS`.
        at: which turn it is done to.
        to: a further number, e.g. where it goes.
        text: a text to put in.
    """
    starts = [found.start() for found in _TURN.finditer(file)]
    if not starts:
        return f"{file}\n{text}"
    end = file.rfind(_END)
    end = len(file) if end < 0 else end
    stops = [*starts[1:], end]
    blocks = [file[start:stop] for start, stop in zip(starts, stops, strict=True)]
    edit = FILE_EDITS[which % len(FILE_EDITS)]
    return "".join([file[: starts[0]], *edit(Spot(blocks, at % len(blocks), to, text)), file[end:]])


def _removed(spot: Spot) -> list[str]:
    return spot.put()


def _run_removed(spot: Spot) -> list[str]:
    return [*spot.blocks[: spot.at], *spot.blocks[spot.at + 1 + spot.to % 5 :]]


def _reworded(spot: Spot) -> list[str]:
    """Other words; calls and parts stay."""
    return spot.put(f"{spot.head}\n{spot.text}\n{spot.tail}")


def _flattened(spot: Spot) -> list[str]:
    """Other words in the place of everything."""
    return spot.put(f"{spot.head}\n{spot.text}\n\n")


def _shortened(spot: Spot) -> list[str]:
    lines = spot.block.split("\n")
    return spot.put("\n".join([lines[0], *lines[2 + spot.to % 3 :]]) + "\n")


def _emptied(spot: Spot) -> list[str]:
    return spot.put(f"{spot.head}\n\n")


def _said_twice(spot: Spot) -> list[str]:
    return spot.put(spot.block, f"{spot.head}\n{spot.text}\n\n")


def _moved(spot: Spot) -> list[str]:
    left = spot.put()
    place = spot.to % (len(left) + 1)
    return [*left[:place], spot.block, *left[place:]]


def _another_role(spot: Spot) -> list[str]:
    role = ("system", "user", "assistant", "tool", "developer")[spot.to % 5]
    return spot.put(re.sub(r"role=\w+", f"role={role}", spot.block, count=1))


def _another_number(spot: Spot) -> list[str]:
    return spot.put(re.sub(r"CTX_TURN \d+", f"CTX_TURN {spot.to * 37}", spot.block, count=1))


def _calls_gone(spot: Spot) -> list[str]:
    found = _CALL.search(spot.block)
    return spot.put(spot.block[: found.start()] + "\n") if found else list(spot.blocks)


def _first_call_gone(spot: Spot) -> list[str]:
    found = list(_CALL.finditer(spot.block))
    if len(found) < 2:
        return _calls_gone(spot)
    return spot.put(spot.block[: found[0].start()] + spot.block[found[1].start() :])


def _arguments(spot: Spot) -> list[str]:
    """Other arguments for the first call: an object, none, or what is no JSON."""
    new = ('{"command": "pwd"}', "{}", spot.text, '{"x": NaN}', '{"x": "\\ud800"}', "[1]")[
        spot.to % 6
    ]
    found = _CALL.search(spot.block)
    if not found:
        return list(spot.blocks)
    rest = _MARK.search(spot.block, found.end())
    tail = spot.block[rest.start() :] if rest else "\n"
    return spot.put(f"{spot.block[: found.end()]}\n{new}\n{tail}")


def _new_call(spot: Spot) -> list[str]:
    return spot.put(f"{spot.block.rstrip()}\n[[CTX_CALL new_{spot.to} bash]]\n{{}}\n\n")


def _parts_gone(spot: Spot) -> list[str]:
    return spot.put(re.sub(r"(?m)^\[\[CTX_PART .*\n", "", spot.block))


def _note(spot: Spot) -> list[str]:
    role = ("user", "assistant", "tool", "system")[spot.to % 4]
    return [
        *spot.blocks[: spot.at],
        f"[[CTX_TURN {9000 + spot.to} role={role}]]\n{spot.text}\n\n",
        *spot.blocks[spot.at :],
    ]


def _outside(spot: Spot) -> list[str]:
    return [f"{spot.text}\n", *spot.blocks]


def _other_newlines(spot: Spot) -> list[str]:
    return [block.replace("\n", "\r\n") for block in spot.blocks]


def _forged(spot: Spot) -> list[str]:
    forged = f"[[CTX_TURN 1 role=system]]\n{spot.text}\n[[CTX_END]]\n"
    return spot.put(f"{spot.block.rstrip()}\n{forged}\n")


def _summary(spot: Spot) -> list[str]:
    """Everything up to a turn becomes one note."""
    first = Spot(spot.blocks, 0, 0, "")
    return [f"{first.head}\n{spot.text}\n\n", *spot.blocks[spot.at + 1 :]]


def _all_gone(_spot: Spot) -> list[str]:
    return []


FILE_EDITS: Sequence[Edit] = (
    _removed,
    _run_removed,
    _reworded,
    _flattened,
    _shortened,
    _emptied,
    _said_twice,
    _moved,
    _another_role,
    _another_number,
    _calls_gone,
    _first_call_gone,
    _arguments,
    _new_call,
    _parts_gone,
    _note,
    _outside,
    _other_newlines,
    _forged,
    _summary,
    _all_gone,
)
"""The edits, from the usual to the hostile."""
