"""The text of a list of blocks, as one text, and a new text put back with as little change as can be.

What stays is the very block it was: it may carry a cache marker, citations or a signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redraft.dialects.base import Native

__all__ = ["Piece", "joined", "retexted"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A block of text among others.

    Attributes:
        at: where the block stands.
        separator: what is shown between it and the piece before; "" for the first.
        text: its text.
    """

    at: int
    separator: str
    text: str


def joined(pieces: Sequence[Piece]) -> str:
    """The text that a reader sees."""
    return "".join(piece.separator + piece.text for piece in pieces)


def retexted(
    blocks: Sequence[Native],
    text: str,
    pieces_of: Callable[[Sequence[Native]], Sequence[Piece]],
    make: Callable[[str, Sequence[Native]], Native],
    place: int,
) -> list[Native]:
    """The blocks with `text` for their texts, exactly.

    Args:
        blocks: all blocks, in order.
        text: what `joined(pieces_of(...))` of the returned blocks will be.
        pieces_of: finds the pieces of a list of blocks.
        make: a new block of text in place of old ones.
        place: where the text goes if there is none yet.
    """
    pieces = pieces_of(blocks)
    if joined(pieces) == text:
        return list(blocks)
    if not pieces:
        return [*blocks[:place], make(text, ()), *blocks[place:]]
    kept = _ends_kept(blocks, pieces, text, make)
    if joined(pieces_of(kept)) == text:
        return kept
    # What stood between two texts is gone, and with it the line break that was shown for it.
    return _replaced(blocks, pieces, text, make)


def _ends_kept(
    blocks: Sequence[Native],
    pieces: Sequence[Piece],
    text: str,
    make: Callable[[str, Sequence[Native]], Native],
) -> list[Native]:
    """Pieces that begin or end `text` stay; those between become one."""
    front, back = 0, 0
    while front < len(pieces) - 1:
        start = pieces[front].text + pieces[front + 1].separator
        if not text.startswith(start):
            break
        text = text[len(start) :]
        front += 1
    while front + back < len(pieces) - 1:
        last = pieces[len(pieces) - 1 - back]
        if not text.endswith(last.separator + last.text):
            break
        text = text[: len(text) - len(last.separator + last.text)]
        back += 1
    return _replaced(blocks, pieces[front : len(pieces) - back], text, make)


def _replaced(
    blocks: Sequence[Native],
    pieces: Sequence[Piece],
    text: str,
    make: Callable[[str, Sequence[Native]], Native],
) -> list[Native]:
    """One block with `text` for these pieces, in the place of the first; none where it is empty."""
    same = next((piece.at for piece in pieces if piece.text == text), None)
    gone = {piece.at for piece in pieces}
    slot = pieces[0].at if same is None else same
    new = make(text, [blocks[piece.at] for piece in pieces]) if same is None else blocks[slot]
    return [
        new if at == slot else block
        for at, block in enumerate(blocks)
        if at not in gone or (at == slot and text)
    ]
