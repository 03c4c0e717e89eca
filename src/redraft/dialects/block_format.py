"""Messages that are lists of blocks: how one format spells them, and what a reader sees of them.

A message of the user's may hold the results of a whole round and words besides: each result is a turn,
and the rest is one. Messages of the model's that follow each other are one turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

from redraft.dialects.base import Call, Content, Native, Part, Role
from redraft.dialects.block_texts import Piece, joined

__all__ = ["Answering", "BlockFormat", "Kind", "word"]

Answering = Callable[[Native], str]
"""Tells, for the results behind a turn in their order, the id of the call that each answers."""


class Kind(Enum):
    """What a block is to a reader."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    THOUGHT = "thought"
    """Reasoning: sent as it came or not at all, never shown."""
    PART = "part"
    """Anything else: an image, a file, what a server's own tool did, a type that nobody knows yet."""


_FOREIGN = {
    "assistant": frozenset({Kind.RESULT}),
    "user": frozenset({Kind.CALL, Kind.THOUGHT}),
}
_INERT = frozenset({Kind.CALL, Kind.THOUGHT, Kind.RESULT})


class BlockFormat(ABC):
    """A format of this kind. What is abstract is how its blocks are spelled."""

    blocks_field: ClassVar[str]
    """A message's key that holds its blocks."""
    glue: ClassVar[str]
    """What is shown between two texts that end one message of the model's and begin its next."""

    @abstractmethod
    def _blocks(self, native: Native) -> Sequence[Native]:
        """The blocks of a message; plain text is one block."""

    @abstractmethod
    def _body(self, old: Native, blocks: list[Native]) -> object:
        """What stands under `blocks_field` for these blocks, in the form that `old` had."""

    @abstractmethod
    def _sort(self, block: Native) -> Kind:
        """What a block is, whoever sent it."""

    @abstractmethod
    def _text_block(self, text: str, olds: Sequence[Native]) -> Native:
        """A block of text in place of old ones; what else these carry and still holds goes along."""

    @abstractmethod
    def _hidden(self, block: Native) -> str:
        """The text that stands for a thought's tokens."""

    @abstractmethod
    def _pair(self, block: Native) -> tuple[str | None, str | None]:
        """(opens, closes): the server's own call that a block makes, and the one that it answers."""

    @abstractmethod
    def _part(self, block: Native, index: int) -> Part:
        """What is shown of a block that is not text."""

    @abstractmethod
    def _calls(self, blocks: Sequence[Native]) -> tuple[Call, ...]:
        """The calls that these blocks make."""

    @abstractmethod
    def _with_arguments(self, block: Native, arguments: Mapping[str, Any]) -> Native:
        """The same call with other arguments."""

    @abstractmethod
    def _inner(self, result: Native) -> Sequence[Native]:
        """What a result holds, as blocks."""

    @abstractmethod
    def _with_inner(self, result: Native, inner: list[Native]) -> Native:
        """The same result, holding these blocks."""

    # -- what a reader sees ----------------------------------------------------------------------

    def _turn(
        self,
        role: Role,
        natives: tuple[Native, ...],
        blocks: Sequence[Native] | None = None,
        seat: tuple[int, int] = (0, 1),
    ) -> Content:
        """One turn; its blocks are all of its messages' unless they are given."""
        starts: Collection[int] = ()
        if blocks is None:
            blocks, starts = self._gathered(natives)
        thoughts = self._of_kind(Kind.THOUGHT, blocks, role)
        return Content(
            role=role,
            text=joined(self._pieces(blocks, role, starts)),
            calls=self._calls(self._of_kind(Kind.CALL, blocks, role)),
            parts=self._parts(blocks, role),
            hidden="\n".join(filter(None, map(self._hidden, thoughts))),
            carriers=natives,
            seat=seat,
        )

    def _result_turn(
        self, block: Native, native: Native, seat: tuple[int, int], answers: str
    ) -> Content:
        inner = self._inner(block)
        return Content(
            role="tool",
            text=joined(self._pieces(inner, "tool")),
            parts=self._parts(inner, "tool"),
            answers=answers,
            carriers=(native,),
            seat=seat,
        )

    def _seats(self, native: Native, role: Role) -> list[list[Native]]:
        """Which blocks of a message that is not the model's are which turn's: results come first."""
        blocks = self._blocks(native)
        results = self._of_kind(Kind.RESULT, blocks, role)
        rest = [block for block in blocks if self._kind(block, role) is not Kind.RESULT]
        return [[block] for block in results] + ([rest] if rest or not results else [])

    def _own(self, content: Content) -> Sequence[Native]:
        """The blocks of one turn."""
        place, count = content.seat
        if count <= 1:
            return self._gathered(content.carriers)[0]
        return self._seats(content.carriers[0], "user")[place]

    def _gathered(self, natives: Sequence[Native]) -> tuple[list[Native], set[int]]:
        """The blocks of several messages, and where each of these begins."""
        blocks: list[Native] = []
        starts: set[int] = set()
        for native in natives:
            starts.add(len(blocks))
            blocks.extend(self._blocks(native))
        return blocks, starts

    def _kind(self, block: Native, role: Role) -> Kind:
        """What a block is where it stands: only the model calls and thinks, only the user answers."""
        kind = self._sort(block)
        return Kind.PART if kind in _FOREIGN.get(role, _INERT) else kind

    def _of_kind(self, kind: Kind, blocks: Sequence[Native], role: Role) -> list[Native]:
        return [block for block in blocks if self._kind(block, role) is kind]

    def _pieces(
        self, blocks: Sequence[Native], role: Role, starts: Collection[int] = ()
    ) -> list[Piece]:
        """The texts among blocks. The model's text comes in pieces that are one sentence (around
        citations, or streamed), so what touches is joined without a line break."""
        pieces: list[Piece] = []
        for at, block in enumerate(blocks):
            if self._kind(block, role) is not Kind.TEXT:
                continue
            touches = role == "assistant" and bool(pieces) and pieces[-1].at == at - 1
            between = (self.glue if at in starts else "") if touches else "\n"
            pieces.append(Piece(at, between if pieces else "", block["text"]))
        return pieces

    def _parts(self, blocks: Sequence[Native], role: Role) -> tuple[Part, ...]:
        firsts: dict[int, Native] = {}
        for block, unit in zip(blocks, self._units(blocks, role), strict=True):
            if self._kind(block, role) is Kind.PART:
                firsts.setdefault(unit, block)
        return tuple(self._part(block, unit) for unit, block in firsts.items())

    def _units(self, blocks: Sequence[Native], role: Role) -> list[int]:
        """The place of each block among those of its kind. A server's call and its result are one
        part: neither can stand without the other."""
        counts = dict.fromkeys(Kind, 0)
        opened: dict[str, int] = {}
        units: list[int] = []
        for block in blocks:
            kind = self._kind(block, role)
            opens, closes = self._pair(block) if kind is Kind.PART else (None, None)
            unit = None if closes is None else opened.get(closes)
            if unit is None:
                unit = counts[kind]
                counts[kind] += 1
            if opens is not None:
                opened[opens] = unit
            units.append(unit)
        return units


def word(text: object) -> str:
    """At most 32 letters, digits and joiners of a provider's word: nothing that passes for structure."""
    return "".join(c for c in str(text) if c.isascii() and (c.isalnum() or c in "-_+"))[:32]
