"""The texts among the members of an item, and members written anew around another text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from redraft.dialects.base import Native
from redraft.dialects.block_texts import Piece, retexted
from redraft.dialects.responses_atoms import Atom, member_atoms
from redraft.dialects.responses_items import Kind, content_field, member_text

__all__ = ["Members", "text_of", "with_members", "written_body"]

_OF_TEXT = ("type", "text", "refusal", "logprobs", "parsed")
"""Fields of a text that do not go over to another text."""


def text_of(atoms: Sequence[Atom]) -> str:
    """What a reader sees: each text on lines of its own."""
    texts = (member_text(atom.native) for atom in atoms if atom.kind is Kind.TEXT)
    return "\n".join(text for text in texts if text is not None)


class Members:
    """A list of items and members, some of which are text, and another text put into it.

    Args:
        atoms: what stays, in order.
        kind: the type of a new text.

    Attributes:
        made: the new members, each with the old one in whose place it stands, if there was any.
    """

    def __init__(self, atoms: Sequence[Atom], kind: str) -> None:
        self._blocks = [atom.native for atom in atoms]
        self._texts = {id(atom.native) for atom in atoms if atom.kind is Kind.TEXT}
        self._kind = kind
        self.made: list[tuple[Native, Native | None]] = []

    def with_text(self, text: str, place: int) -> list[Native]:
        """All blocks with `text` for their texts; at `place`, where there are none."""
        return retexted(self._blocks, text, self._pieces, self._make, place)

    def _pieces(self, blocks: Sequence[Native]) -> list[Piece]:
        known = self._texts.union(id(new) for new, _ in self.made)
        pieces: list[Piece] = []
        for at, block in enumerate(blocks):
            text = member_text(block) if id(block) in known else None
            if text is not None:
                pieces.append(Piece(at, "\n" if pieces else "", text))
        return pieces

    def _make(self, text: str, olds: Sequence[Native]) -> Native:
        new = _new_text(text, olds, self._kind)
        self.made.append((new, olds[0] if olds else None))
        return new


def _new_text(text: str, olds: Sequence[Native], kind: str) -> Native:
    """A member of text in place of old ones.

    What quotes the old words (annotations, probabilities) goes; of the cache breakpoints, the last
    stays.
    """
    old = olds[0] if olds else {}
    if "text" in old:
        kind = str(old["type"])
    rest = {key: value for key, value in old.items() if key not in _OF_TEXT}
    new: dict[str, Any] = {"type": kind, "text": text, **rest}
    if kind == "output_text":
        new["annotations"] = []
    marks = [m["prompt_cache_breakpoint"] for m in olds if m.get("prompt_cache_breakpoint")]
    return {**new, "prompt_cache_breakpoint": marks[-1]} if marks else new


def written_body(item: Native, text: str, parts: Collection[int]) -> Native:
    """A message or a result with another text and these parts; members that stay are the same."""
    atoms = member_atoms(item)
    kept = [atom for atom in atoms if atom.kind is Kind.TEXT or atom.unit in parts]
    return with_members(item, Members(kept, "input_text").with_text(text, len(kept)))


def with_members(item: Native, members: Sequence[Native]) -> Native:
    """The same item with these members, in the form that it had: a list, or plain text."""
    field = content_field(item)
    plain = not isinstance(item.get(field), (list, tuple)) and all(map(_is_plain, members))
    body: object = "".join(str(member_text(m)) for m in members) if plain else list(members)
    return {**item, field: body or ""}


def _is_plain(member: Native) -> bool:
    return member.keys() <= {"type", "text", "annotations"}
