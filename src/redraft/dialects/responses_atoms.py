"""Turns of the model's, read as atoms: an item, or one member of a message's content.

Reading and writing go over the same atoms, so that they never disagree on what stands where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.dialects.base import Native, Part
from redraft.dialects.block_format import word
from redraft.dialects.chat_natives import dump
from redraft.dialects.media import describe_part
from redraft.dialects.responses_items import (
    Kind,
    call_id_of,
    kind_of,
    member_text,
    members_of,
    type_of,
)

__all__ = ["Atom", "atoms_of", "member_atoms", "parts_of", "thought_text"]

_SEALED_SHARE = 6
"""One character in six of sealed text stands for its tokens. The two compactions in the recordings of
pydantic-ai cost 269 and about 537 tokens of input for 2,808 and 4,772 characters, 0.10 and 0.11 a
character; o200k counts 0.68 for random base64. For reasoning, sealed the same way, it is assumed."""

_IMAGE_CHARS = 262_144
"""What is looked at of an image: its size stands near its start."""


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """The smallest piece of a turn that stays or goes by itself.

    Attributes:
        native: an item, or a member of a message.
        place: where its item stands among the turn's items.
        kind: what it is.
        unit: its place among the turn's calls or parts; a server's call and its result are one.
        member: whether it is a member of a message.
    """

    native: Native
    place: int
    kind: Kind
    unit: int = 0
    member: bool = False


def member_atoms(item: Native, place: int = 0, first: int = 0) -> list[Atom]:
    """The atoms of a message or a result.

    Args:
        item: the item.
        place: where it stands in its turn.
        first: how many parts come before it.
    """
    atoms: list[Atom] = []
    for member in members_of(item):
        if member_text(member) is not None:
            atoms.append(Atom(member, place, Kind.TEXT, member=True))
        else:
            atoms.append(Atom(member, place, Kind.PART, first, member=True))
            first += 1
    return atoms


def atoms_of(items: Sequence[Native], referenced: Mapping[str, str]) -> list[Atom]:
    """The atoms of the items of one turn of the model's, in order.

    Args:
        items: the items.
        referenced: for references to calls, the id of the reference and that of the call.
    """
    answered = {call_id_of(item) for item in items if kind_of(item) is Kind.RESULT}
    atoms: list[Atom] = []
    calls = parts = 0
    opened: dict[str, int] = {}
    for place, item in enumerate(items):
        kind = _kind_in_turn(item, answered, referenced)
        if kind is Kind.MESSAGE:
            atoms += (members := member_atoms(item, place, parts))
            parts += sum(atom.kind is Kind.PART for atom in members)
        elif kind is Kind.CALL:
            atoms.append(Atom(item, place, kind, calls))
            calls += 1
        elif kind is Kind.PART:
            unit = opened.get(call_id_of(item), parts)
            parts = max(parts, unit + 1)
            if call_id_of(item):
                opened[call_id_of(item)] = unit
            atoms.append(Atom(item, place, kind, unit))
        else:
            atoms.append(Atom(item, place, kind))
    return atoms


def _kind_in_turn(item: Native, answered: set[str], referenced: Mapping[str, str]) -> Kind:
    """A call whose result came with it was run by the server; the client has nothing to answer."""
    kind = kind_of(item)
    if kind is Kind.RESULT or (kind is Kind.CALL and call_id_of(item) in answered):
        return Kind.PART
    if type_of(item) == "item_reference" and str(item.get("id")) in referenced:
        return Kind.CALL
    return Kind.STATE if kind is Kind.LONE else kind


def parts_of(atoms: Sequence[Atom]) -> tuple[Part, ...]:
    """What is shown of the parts among atoms; of two atoms that are one part, the first."""
    firsts: dict[int, Native] = {}
    for atom in atoms:
        if atom.kind is Kind.PART:
            firsts.setdefault(atom.unit, atom.native)
    return tuple(_part(native, unit) for unit, native in firsts.items())


def _part(native: Native, index: int) -> Part:
    match str(native.get("type") or "item_reference"):
        case "image_generation_call" if isinstance(native.get("result"), str):
            form = word(native.get("output_format") or "png")
            url = f"data:image/{form};base64,{native['result'][:_IMAGE_CHARS]}"
            return describe_part({"type": "image_url", "image_url": url}, index)
        case "computer_screenshot":
            return describe_part({**native, "type": "image_url"}, index)
        case "mcp_call":
            part = describe_part({"type": "mcp_call"}, index)
            return Part(part.kind, f"{part.label} {word(native.get('name'))}", index=index)
        case kind:
            return describe_part({**native, "type": kind}, index)


def thought_text(item: Native) -> str:
    """The text that stands for the tokens of an item that is sent and never shown."""
    secret = item.get("encrypted_content")
    if isinstance(secret, str) and secret:
        return secret[: -(-len(secret) // _SEALED_SHARE)]
    if type_of(item) != "reasoning":
        data: dict[str, Any] = {k: v for k, v in item.items() if k not in ("type", "id", "status")}
        return dump(data) if data else ""
    members = [m for key in ("summary", "content") for m in _listed(item.get(key))]
    texts = (m.get("text") for m in members if isinstance(m, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
